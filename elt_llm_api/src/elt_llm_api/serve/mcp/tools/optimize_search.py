"""`optimize_search`: profiles compared on queries of the caller's own."""

from collections.abc import Mapping
from typing import Annotated

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.optimizing import (
    LONGEST_QUERY,
    MOST_COMPARED,
    MOST_PROFILES,
    MOST_QUERIES,
    Compared,
    OptimizeRequest,
    Optimizing,
    ProfileFigures,
)
from elt_llm_api.serve.mcp.arguments import Collections
from elt_llm_api.serve.mcp.fencing import on_one_line
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import with_notes
from elt_llm_api.serve.mcp.tool_call import READS, declared, told

_Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
_Document = Annotated[str, Field(min_length=1, max_length=4000)]


class Comparison(Result):
    """Every profile that was compared, in the order asked for."""

    profiles: tuple[ProfileFigures, ...]


def tool(given: Given) -> Tool:
    """The tool `optimize_search`."""

    async def optimize_search(
        context: AnyContext,
        queries: Annotated[
            tuple[_Query, ...], Field(min_length=1, max_length=MOST_QUERIES, description="What people ask, 1 to 50.")
        ],
        labels: Annotated[
            dict[_Query, Annotated[tuple[_Document, ...], Field(max_length=1000)]] | None,
            Field(
                max_length=MOST_QUERIES,
                description="For queries, in the same words: their relevant documents, by id, path, name or title.",
            ),
        ] = None,
        collections: Collections = (),
        profiles: Annotated[
            tuple[Annotated[str, Field(max_length=200)], ...],
            Field(min_length=1, max_length=MOST_PROFILES, description="Ways of asking to compare, 1 to 5."),
        ] = ("default",),
        top_k: Annotated[int, Field(ge=1, le=MOST_COMPARED, description="How many passages count as the first.")] = 10,
    ) -> Annotated[CallToolResult, Comparison]:
        """Compare ways of searching on your queries: relevance, time, and what reranking changes.

        With labels also nDCG@10, recall@10 and MRR@10, as `elt-llm eval` computes them, with and without reranking.
        """
        request = OptimizeRequest(
            queries=queries, labels=labels or {}, collections=collections, profiles=profiles, top_k=top_k
        )
        found = await Optimizing(given.services).compare(given.caller(context), request)
        notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
        return told(with_notes("\n".join(map(_line, found)), notes), Comparison(profiles=tuple(found)))

    return declared(optimize_search, "Compare ways of searching", READS)


def _line(found: ProfileFigures) -> str:
    cosine = "" if found.cosine is None else f", cosine {found.cosine:.3f}"
    times = f"p50 {found.latency_p50_ms:.0f} ms, p95 {found.latency_p95_ms:.0f} ms"
    line = f"{on_one_line(found.profile)}: relevance {found.relevance:.3f}{cosine}, {times}"
    if found.figures:
        line += f"; {_measures(found.figures)} (without reranking {_measures(found.figures_before)})"
    return f"{line}; {_reranking(found.reranking)}"


def _measures(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())


def _reranking(compared: Compared | None) -> str:
    if compared is None:
        return "nothing reranks"
    return (
        f"reranking keeps {compared.overlap:.0%} of the first, moves them by {compared.moved:.1f} places"
        f" and changes the best of {compared.first_changed:.0%}"
    )

"""The tab Inspect: the trace of a question as tables."""

from collections.abc import Sequence
from typing import Any

import click
import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult, TraceStage
from elt_llm_query.retrieve.trace import REASONS, FuseDetails, RetrieveDetails, last_ranking, left_out_by_reason

from elt_llm_api.display.explain import (
    ChunkKey,
    ChunkNames,
    explanation_lines,
    fact_lines,
    near_miss_table,
    retriever_hits,
)
from elt_llm_api.display.text import TableColumn, figure_columns, format_figure
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, AskRequest, QuestionActions
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.lab import SearchLab
from elt_llm_api.serve.ui.markup import answer_markdown, failure_markdown, flatten_lines, html_table

MOST_ROWS = 400
"""Listed chunks; the trace as JSON has all of them."""
_UNLIMITED_WIDTH = 400  # columns: no line of facts is cut
_TEXT_WIDTH = 150  # columns of the trace as text
_TRACE_PARTS = (
    ("chunks", "All chunks with their ranks and scores", True),
    ("near", "Near misses", True),
    ("stages", "Stages and their results", True),
    ("text", "Everything as text", False),
)


def stage_table(stages: Sequence[TraceStage]) -> str:
    """Each stage in order: its duration, how much it kept and dropped, and its details."""
    rows = []
    for stage in stages:
        dropped = left_out_by_reason(stage).values()
        figures = [
            format_figure(stage.took_ms, 1),
            format_figure(stage.kept),
            format_figure(sum(map(len, dropped)) or None, missing=""),
        ]
        rows.append([stage.name, *figures, _stage_text(stage)])
    rows.append(["total", format_figure(sum(stage.took_ms for stage in stages), 1), "", "", ""])
    return html_table([TableColumn("stage"), *figure_columns("ms", "kept", "dropped"), TableColumn("details")], rows)


def _stage_text(stage: TraceStage) -> str:
    if stage.name == "explain":
        return ""
    details = {name: value for name, value in stage.details.items() if name not in REASONS}
    return "; ".join(flatten_lines(line) for line in fact_lines(details, _UNLIMITED_WIDTH)).replace(" in --json", "")


def chunk_table(stages: Sequence[TraceStage]) -> str:
    """All candidates by descending score: ranks and scores of both retrievers, and the outcome."""
    names, retrieve = ChunkNames(stages), RetrieveDetails.last(stages)
    dense = {key: (rank, score) for key, rank, score in retriever_hits(retrieve, "dense")}
    keyword = {key: (rank, score) for key, rank, score in retriever_hits(retrieve, "keyword")}
    fused: dict[ChunkKey, float] = {
        (collection, node_id): score
        for collection, chunks in FuseDetails.last(stages).collections.items()
        for node_id, score in chunks
    }
    final = _final_scores(stages)
    keys = dict.fromkeys([*final, *fused, *dense, *keyword])
    ordered = sorted(keys, key=lambda key: (-(final.get(key) or 0.0), -(fused.get(key) or 0.0), key))
    rows = []
    for key in ordered[:MOST_ROWS]:
        figures = [final.get(key), *dense.get(key, (None, None)), *keyword.get(key, (None, None))]
        rows.append(
            [
                names.place(*key).replace("-", ""),
                *(format_figure(value, missing="") for value in figures),
                format_figure(fused.get(key), 4, missing=""),
                str(names.details(*key).get("outcome", "")),
                names.words(*key),
                names.name(*key),
            ]
        )
    figures = figure_columns("read as", "score", "vector rank", "cosine", "keyword rank", "BM25", "fused")
    return html_table([*figures, *map(TableColumn, ("outcome", "matched words", "chunk"))], rows, tall=True)


def _final_scores(stages: Sequence[TraceStage]) -> dict[ChunkKey, float]:
    last = last_ranking(stages)
    return {
        (parts["collection"], node_id): score
        for (node_id, parts), (_, score) in zip(last.parts, last.ranking, strict=True)
    }


def trace_parts(result: QueryResult) -> tuple[str, str, str, str, str]:
    """Markdown of the answer, of its tables, and of the trace as a terminal shows it."""
    stages = result.trace.stages
    lines = click.unstyle("\n".join(explanation_lines(stages, _TEXT_WIDTH))).strip()
    text = "<br>".join(escape_html(line).replace(" ", "&nbsp;") for line in lines.splitlines())
    near = html_table(*near_miss_table(stages))
    return (
        answer_markdown(result),
        chunk_table(stages),
        near,
        stage_table(stages),
        f'<div class="trace-text">{text}</div>',
    )


def build(services: Services) -> None:
    """Lay out the tab and connect its controls."""
    with gr.Row():
        question = gr.Textbox(
            label="Question to inspect",
            placeholder="Type a question and press Enter.",
            max_length=LONGEST_QUESTION,
            scale=3,
            elem_id="inspected",
        )
        collections = controls.collection_picker("Collections to search", scale=2)
        profile = gr.Dropdown(["default"], value="default", label="Profile to ask with", scale=1)
    explain = gr.Button("Explain", variant="primary", elem_id="explain")
    outputs = [controls.html_area("explained")]
    for name, title, is_open in _TRACE_PARTS:
        with gr.Accordion(title, open=is_open, elem_id=f"trace-{name}"):
            outputs.append(controls.html_area(elem_classes="trace"))
    lab = SearchLab(services, question, collections)
    handlers = _Handlers(services)
    asked = [question, collections, profile]
    gr.on([question.submit, explain.click], handlers.explain, asked, outputs, **controls.TIMED_EVENT)
    gr.on(None, handlers.choices, None, [collections, profile, *lab.profiles], **controls.TIMED_EVENT)
    lab.wire()


class _Handlers:
    """The handlers of the tab."""

    def __init__(self, services: Services) -> None:
        self._services, self._questions = services, QuestionActions(services)

    def choices(self, request: gr.Request) -> list[Any]:
        """The choices of this caller, when the page is opened."""
        names = controls.collection_choices(self._services, controls.principal_of_event(request))
        return [gr.update(choices=names), *([gr.update(choices=controls.profile_choices(self._services))] * 3)]

    async def explain(
        self, question: str, collections: Sequence[str], profile: str, request: gr.Request
    ) -> tuple[str, str, str, str, str]:
        """The answer and its trace: chunks, near misses, stages, and everything as text."""
        if not question.strip():
            return "Type a question first.", "", "", "", ""
        asked = AskRequest(
            question=question.strip(), collections=tuple(collections or ()), profile=profile, explain=True
        )
        try:
            return trace_parts(await self._questions.ask(controls.principal_of_event(request), asked))
        except EltError as error:
            return failure_markdown(error), "", "", "", ""

"""Render the trace of a question as terminal tables: rankings, fusion, reranking, dropped chunks, timings."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal

import click
from elt_llm_core.results import TraceStage
from elt_llm_core.text.outline import page_label
from elt_llm_query.retrieve.trace import (
    CombineDetails,
    EmbedDetails,
    ExplainDetails,
    FilterDetails,
    FuseDetails,
    RerankDetails,
    RetrieveDetails,
    RouteDetails,
    UnderstandDetails,
)

from elt_llm_api.display.text import (
    TableColumn,
    count_noun,
    figure_columns,
    format_figure,
    one_line,
    shorten_middle,
    table_lines,
)

NARROWEST, WIDEST = 60, 120
_MOST_ENTRIES = 12  # entries of a list or a mapping; the JSON has all of them
_MOST_ROWS, _MOST_RANKED = 20, 10  # rows of a table, rows of a ranking; the JSON has all of them
_MOST_COLLECTIONS = 3  # number of collections that get their own columns
_FILE_NAME_WIDTH = 28  # characters
_COLLECTION_NAME_WIDTH = 16  # least number of characters shown of a collection's name
_FIGURES_WIDTH = 66  # most columns that the numbers beside a collection's name occupy
_CHUNK = TableColumn("chunk", "text")
_MATCHED = TableColumn("matched words", "words")
_READ_AS = TableColumn("read as", "figure")
_PAIR = (TableColumn(""), TableColumn("", "words"))
ChunkKey = tuple[str, str]
"""Collection and node id."""
Row = list[str]


def fact_lines(details: Mapping[str, Any], width: int) -> Iterator[str]:
    """Return the details of a stage as aligned lines such as `language  en`. Details without a value are left out."""
    rows = [(name, text) for name, value in details.items() if (text := _value_text(value))]
    if rows:
        yield from table_lines(_PAIR, rows, width)


def _value_text(value: Any) -> str:
    """Format a value as text; empty for an empty value."""
    if isinstance(value, Mapping):
        return _join_texts(
            [f"{name}{text}" for name, inner in value.items() if (text := _entry_text(inner))], len(value)
        )
    if isinstance(value, list | tuple):
        return _join_texts([text for inner in value if (text := _scalar_text(inner))], len(value))
    return _scalar_text(value)


def _entry_text(value: Any) -> str:
    """Format the value of a mapping's entry: `2` -> ` 2`, `"fee"` -> `: fee`, `["fee", "cost"]` -> `: fee or cost`."""
    if isinstance(value, list | tuple) and all(isinstance(inner, str) for inner in value):
        value = " or ".join(value)
    text = _scalar_text(value)
    return text and (f": {text}" if isinstance(value, str) else f" {text}")


def _join_texts(texts: list[str], total: int) -> str:
    if not texts:
        return f"{total} in --json" if total else ""
    more = total - len(texts[:_MOST_ENTRIES])
    return ", ".join([*texts[:_MOST_ENTRIES], *([f"{more} more in --json"] if more else [])])


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    return value if isinstance(value, str) else ""


class ChunkNames:
    """Names and details of the chunks of an explained trace, by collection and node id."""

    def __init__(self, stages: Sequence[TraceStage]) -> None:
        self._chunks = ExplainDetails.last(stages).chunks
        self.several = len(self._chunks) > 1

    def details(self, collection: str, node_id: str) -> Mapping[str, Any]:
        """Return the details of one chunk; empty if the trace has none."""
        return self._chunks.get(collection, {}).get(node_id, {})

    def name(self, collection: str, node_id: str) -> str:
        """Return document, page and first words of a chunk, with its collection if several were searched."""
        one = self.details(collection, node_id)
        if not one:
            return node_id
        # A document within a file is named by its title: `model.drawio#entity/3c51` means nothing to a reader.
        document = one["title"] if "#" in one["source"] else one["source"]
        page = f" p. {one['page']}" if page_label(one["source"], one["page"]) else ""
        name = f"{shorten_middle(document, _FILE_NAME_WIDTH)}{page}: {one['excerpt']}"
        return f"{shorten_middle(collection, _COLLECTION_NAME_WIDTH)}: {name}" if self.several else name

    def short(self, collection: str, node_id: str) -> str:
        """Return `#3` for the third chunk that the answer is made from, or the name of a chunk that was left out."""
        places = (chunks[node_id]["place"] for chunks in self._chunks.values() if node_id in chunks)
        read = next((place for place in places if place), None)
        return f"#{read}" if read else self.name(collection, node_id)

    def place(self, collection: str, node_id: str) -> str:
        """Return the chunk's rank (from 1) among those that the answer is made from, or `-` if it was left out."""
        return str(self.details(collection, node_id).get("place") or "-")

    def words(self, collection: str, node_id: str) -> str:
        """Return the question's words that the chunk contains; partial matches are marked with `~`."""
        one = self.details(collection, node_id)
        return " ".join([*one.get("matched", ()), *(f"~{word}" for word in one.get("matched in part", ()))]) or "-"


def retriever_hits(
    retrieve: RetrieveDetails, retriever: Literal["dense", "keyword"]
) -> list[tuple[ChunkKey, int, float]]:
    """Return the chunks of a retriever with rank (from 1) and score, sorted by rank, collection and node id."""
    hits = [
        ((name, node_id), rank, score)
        for name, results in retrieve.collections.items()
        for rank, (node_id, score) in enumerate(results[retriever], start=1)
    ]
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))


def near_miss_table(stages: Sequence[TraceStage]) -> tuple[list[TableColumn], list[Row]]:
    """Return a table of the best chunks that were left out, with the reason and by how much the score was too low."""
    names = ChunkNames(stages)
    rows = [
        [
            format_figure(one["score"]),
            format_figure(one["lacked"]),
            one["reason"],
            names.words(one["collection"], one["node_id"]),
            names.name(one["collection"], one["node_id"]),
        ]
        for one in ExplainDetails.last(stages).near_misses
    ]
    return [*figure_columns("score", "lacked"), TableColumn("reason"), _MATCHED, _CHUNK], rows


def explanation_lines(stages: Sequence[TraceStage], width: int | None = None) -> Iterator[str]:
    """Explain how each chunk was retrieved, ranked, kept or left out; `width` defaults to the terminal's."""
    terminal = shutil.get_terminal_size().columns  # 80 columns without a terminal
    return _Explanation(stages, width or max(NARROWEST, min(WIDEST, terminal))).lines()


class _Explanation:
    """Renders the trace of one question as terminal tables."""

    def __init__(self, stages: Sequence[TraceStage], width: int) -> None:
        self._stages, self._width = stages, width
        self._names = ChunkNames(stages)
        self._explain = ExplainDetails.last(stages)

    def lines(self) -> Iterator[str]:
        sections: list[tuple[str, Iterable[str]]] = []
        retrieve: TraceStage | None = None  # the last one before each stage
        for stage in self._stages:
            sections += self._of_stage(stage, retrieve)
            retrieve = stage if stage.name == RetrieveDetails.stage else retrieve
        near_misses = near_miss_table(self._stages)
        searches = sum(stage.name == "retrieve" for stage in self._stages)
        repeated = f": the last of {searches} searches; read from all of them"
        times = [[stage.name, f"{stage.took_ms:,.1f}", format_figure(stage.kept)] for stage in self._stages]
        times.append(["total", f"{sum(stage.took_ms for stage in self._stages):,.1f}", ""])
        sections += [
            ("Read and left out", self._outcomes()),
            ("Replaced by another chunk", self._duplicates()),
            ("Near misses", table_lines(*near_misses, self._width) if near_misses[1] else ["none"]),
            (f"Collections{repeated if searches > 1 else ''}", self._collections()),
            ("Caches", self._caches()),
            ("Times", table_lines([TableColumn("stage"), *figure_columns("ms", "kept")], times, self._width)),
        ]
        for heading, content in sections:
            if lines := list(content):
                yield ""
                yield click.style(heading, bold=True)
                yield from lines

    def _of_stage(self, stage: TraceStage, retrieve: TraceStage | None) -> Iterator[tuple[str, Iterable[str]]]:
        details = stage.details
        if stage.name == RetrieveDetails.stage:
            if retrieve is None:
                yield "Words of the question", self._terms()
            retrieved = RetrieveDetails.of(stage)
            dense, keyword = retriever_hits(retrieved, "dense"), retriever_hits(retrieved, "keyword")
            rows = [(key, [str(rank), format_figure(score)]) for key, rank, score in dense]
            yield f"By vectors: {count_noun(len(rows), 'chunk')}", self._ranking(figure_columns("rank", "cosine"), rows)
            rows = [(key, [str(rank), format_figure(it), self._names.words(*key)]) for key, rank, it in keyword]
            words = f"By words: {count_noun(len(rows), 'chunk')} for “{one_line(retrieved.keywords)}”"
            yield words, self._ranking([*figure_columns("rank", "BM25"), _MATCHED], rows)
        elif stage.name == FuseDetails.stage and retrieve is not None:
            fused = FuseDetails.of(stage)
            weights = fused.weights
            shares = f", vectors by {weights['dense']:g} and words by {weights['keyword']:g}" if weights else ""
            yield f"Fused: {fused.method}{shares}", self._fused(fused, RetrieveDetails.of(retrieve))
        elif "parts" in details:
            extra = self._extra_queries(CombineDetails.of(stage))
            yield _reranking_heading(stage), [*extra, *self._reranked(RerankDetails.of(stage))]
        elif stage.name == FilterDetails.stage:
            yield "Filtered", self._filtered(FilterDetails.of(stage))
        elif stage.name == RouteDetails.stage:
            collections = RouteDetails.of(stage).collections
            of = count_noun(len(collections), "collection")
            yield f"Asked: {stage.kept:,} of {of}", self._routed(collections)
        elif stage.name not in {"shape", "explain"}:
            hidden = {"understand": {"cache"}, "embed": {"cache", "question"}}.get(stage.name, set())
            headings = {"understand": "Understood", "embed": "Embedded as well", "answer": "Answered"}
            facts = {name: value for name, value in details.items() if name not in hidden}
            yield headings.get(stage.name, stage.name.capitalize()), fact_lines(facts, self._width)

    def _table(
        self, columns: Iterable[TableColumn], rows: Sequence[Sequence[str]], most: int = _MOST_ROWS
    ) -> Iterator[str]:
        yield from table_lines(list(columns), rows[:most], self._width)
        if len(rows) > most:
            yield f"and {len(rows) - most:,} more"

    def _ranking(self, columns: Iterable[TableColumn], rows: Iterable[tuple[ChunkKey, Row]]) -> Iterator[str]:
        named = [[self._names.place(*key), *cells, self._names.name(*key)] for key, cells in rows]
        return self._table([_READ_AS, *columns, _CHUNK], named, _MOST_RANKED) if named else iter(("none",))

    def _terms(self) -> Iterator[str]:
        """Show the weight of each word of the question, and how many chunks contain it, for a few collections."""
        terms = self._explain.terms
        shown = list(islice(terms, _MOST_COLLECTIONS))
        weights = {name: {term["written"]: term for term in terms[name]} for name in shown}
        words = dict.fromkeys(word for name in shown for word in weights[name])
        if not words:
            return
        columns = [TableColumn("word")]
        for name in shown:
            columns += figure_columns(f"weight in {name}" if len(terms) > 1 else "weight", "chunks")
        rows = []
        for word in words:
            found = [weights[name].get(word, {"weight": None, "nodes": None}) for name in shown]
            cells = ((format_figure(term["weight"], 2), format_figure(term["nodes"])) for term in found)
            rows.append([word, *chain.from_iterable(cells)])
        yield from table_lines(columns, rows, self._width)

    def _fused(self, fuse: FuseDetails, retrieve: RetrieveDetails) -> Iterator[str]:
        """Show the fused score of each chunk and the ranks it is computed from."""
        dense = {key: rank for key, rank, _ in retriever_hits(retrieve, "dense")}
        keyword = {key: rank for key, rank, _ in retriever_hits(retrieve, "keyword")}
        ranking = [(score, (name, node_id)) for name, one in fuse.collections.items() for node_id, score in one]
        rows = (
            (key, [format_figure(score, 4), format_figure(dense.get(key)), format_figure(keyword.get(key))])
            for score, key in sorted(ranking, key=lambda one: (-one[0], one[1]))
        )
        return self._ranking(figure_columns("fused", "by vectors", "by words"), rows)

    def _reranked(self, details: RerankDetails) -> Iterator[str]:
        """Show the reranking score of each chunk and the values it is computed from."""
        models = dict(details.model_scores or ())
        rows = []
        for (node_id, parts), (_, score) in zip(details.parts, details.ranking, strict=True):
            figures = [score, parts["cosine"], parts["keyword_score"], parts["coverage"], parts["order"]]
            figures += [models.get(node_id)] if models else []
            rows.append(((parts["collection"], node_id), [format_figure(value) for value in figures]))
        titles = ["score", "cosine", "BM25", "covered", "ordered", *(["model"] if models else [])]
        return self._ranking(figure_columns(*titles), rows)

    def _extra_queries(self, details: CombineDetails) -> Iterator[str]:
        """Show the queries that a strategy added to the original question."""
        questions = [*(details.variants or ()), *(one["question"] for one in details.follow_ups or ())]
        if questions:
            yield from table_lines(_PAIR, [("asked as well", question) for question in questions], self._width)

    def _filtered(self, details: FilterDetails) -> Iterator[str]:
        """Show the metadata conditions, and how many chunks of each collection meet them."""
        yield from fact_lines({"where": details.where}, self._width)
        rows = [
            [self._fit(name), format_figure(left), format_figure(details.of_all[name])]
            for name, left in details.left.items()
        ]
        yield from self._table([TableColumn("collection"), *figure_columns("left", "of")], rows)

    def _routed(self, collections: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        """Show the collections that were searched, then those that were not, best first, each with the reason."""
        best_first = sorted(collections.items(), key=lambda one: (not one[1]["asked"], -one[1]["score"], one[0]))
        rows = [
            [self._fit(name), format_figure(one["score"]), "yes" if one["asked"] else "-", one["why"]]
            for name, one in best_first
        ]
        columns = [*figure_columns("score"), TableColumn("asked"), TableColumn("reason", "words")]
        return self._table([TableColumn("collection"), *columns], rows)

    def _outcomes(self) -> Iterator[str]:
        """Show how many candidates were kept, and how many were left out for each reason."""
        counts = self._explain.outcomes
        rows = [[f"{count:,}", reason] for reason, count in counts.items()]
        rows.append([f"{sum(counts.values()):,}", "in all"])
        return table_lines([*figure_columns("chunks"), TableColumn("")], rows, self._width)

    def _duplicates(self) -> Iterator[str]:
        rows = [
            [one["outcome"], self._names.short(collection, one["instead"]), self._names.name(collection, node_id)]
            for collection, chunks in self._explain.chunks.items()
            for node_id, one in chunks.items()
            if one["instead"]
        ]
        columns = [TableColumn("left out as"), TableColumn("read instead"), _CHUNK]
        return self._table(columns, rows) if rows else iter(())

    def _collections(self) -> Iterator[str]:
        """Show how many chunks of each collection reached each stage, and the highest possible BM25 score."""
        retrieve = RetrieveDetails.last(self._stages)
        fused = FuseDetails.last(self._stages).collections
        reranked = RerankDetails.last(self._stages).collections
        read = Counter(name for name, chunks in self._explain.chunks.items() for one in chunks.values() if one["place"])
        rows = []
        for name, results in retrieve.collections.items():
            scale = reranked.get(name)
            counts = [len(results["dense"]), len(results["keyword"]), len(fused.get(name, ()))]
            counts += [scale["candidates"] if scale else 0, read[name]]
            budget = [format_figure(retrieve.budget[name]["of each retriever"])] if retrieve.budget else []
            attainable = format_figure(scale["attainable"] if scale else None, 2)
            cells = [*budget, *map(format_figure, counts), attainable]
            rows.append([self._fit(name), *cells])
        titles = [*(["budget"] if retrieve.budget else []), "vectors", "words", "fused", "ranked", "read", "attainable"]
        return self._table([TableColumn("collection"), *figure_columns(*titles)], rows)

    def _caches(self) -> Iterator[str]:
        """Show hits, misses and size of each cache."""
        results, vectors = UnderstandDetails.last(self._stages).cache, EmbedDetails.last(self._stages).cache
        rows = [
            [name, *(format_figure(cache[count]) for count in ("hits", "misses", "held"))]
            for name, cache in (("chunks of questions", results), ("vectors of questions", vectors))
            if cache
        ]
        yield from table_lines([TableColumn("cache"), *figure_columns("hits", "misses", "held")], rows, self._width)
        if results and results.get("hit"):
            yield "The chunks come from the cache: their stages took no time now."

    def _fit(self, collection: str) -> str:
        """Shorten a collection's name so that the numbers in the same row fit."""
        return shorten_middle(collection, max(_COLLECTION_NAME_WIDTH, self._width - _FIGURES_WIDTH))


def _reranking_heading(stage: TraceStage) -> str:
    if stage.name != RerankDetails.stage:
        return stage.name.capitalize()
    details = RerankDetails.of(stage)
    return "Not reranked" if details.method == "none" else f"Reranked: {details.method}, weight {details.weight:.3g}"

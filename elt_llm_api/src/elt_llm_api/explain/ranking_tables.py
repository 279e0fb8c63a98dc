"""One table for each way in which passages were ranked: by vectors, by words, fused, reranked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elt_llm_core.results import TraceStage

from elt_llm_api.explain.passages import NamedPassages
from elt_llm_api.explain.tables import Column, figure, table_lines
from elt_llm_api.render import counted, one_line

SHOWN = 10  # rows of a ranking; all of them are in the JSON
_READ, _PASSAGE = Column("read as"), Column("passage", "passage")
Key = tuple[str, str]


class RankingTables:
    """Renders the rankings of one trace; `width` is that of the terminal."""

    def __init__(self, names: NamedPassages, width: int) -> None:
        self._names = names
        self._width = width

    def by_vectors(self, retrieve: TraceStage) -> Iterator[str]:
        """Rank and cosine."""
        columns = [_READ, Column("rank"), Column("cosine"), _PASSAGE]
        rows = [[str(rank), figure(cosine)] for _, rank, cosine in _hits(retrieve, "dense")]
        yield from self._table(columns, [key for key, _, _ in _hits(retrieve, "dense")], rows)

    def by_words(self, retrieve: TraceStage) -> Iterator[str]:
        """Rank, BM25 score and the words of the question that the passage has."""
        columns = [_READ, Column("rank"), Column("BM25"), Column("its words", "words"), _PASSAGE]
        hits = _hits(retrieve, "keyword")
        rows = [[str(rank), figure(score), self._names.words(*key)] for key, rank, score in hits]
        yield from self._table(columns, [key for key, _, _ in hits], rows)

    def fused(self, fuse: TraceStage, retrieve: TraceStage) -> Iterator[str]:
        """The fused score and the ranks it is made of."""
        columns = [_READ, Column("fused", "figure"), Column("by vectors"), Column("by words"), _PASSAGE]
        dense = {key: rank for key, rank, _ in _hits(retrieve, "dense")}
        keyword = {key: rank for key, rank, _ in _hits(retrieve, "keyword")}
        collections: Mapping[str, Any] = fuse.details["collections"]
        ranking = sorted(
            ((score, (name, node_id)) for name, one in collections.items() for node_id, score in one),
            key=lambda found: (-found[0], found[1]),
        )
        rows = [[figure(score, 4), figure(dense.get(key)), figure(keyword.get(key))] for score, key in ranking]
        yield from self._table(columns, [key for _, key in ranking], rows)

    def reranked(self, rerank: TraceStage) -> Iterator[str]:
        """The score and what it is made of."""
        names = {"cosine": "cosine", "keyword_score": "BM25", "coverage": "covered", "order": "ordered"}
        models: dict[str, float | None] = dict(rerank.details.get("model scores", ()))
        columns = [_READ, Column("score"), *(Column(head) for head in names.values())]
        columns += [Column("model")] if models else []
        keys, rows = [], []
        for (node_id, parts), (_, score) in zip(rerank.details["parts"], rerank.details["ranking"], strict=True):
            keys.append((parts["collection"], node_id))
            figures = [score, *(parts[name] for name in names), *([models.get(node_id)] if models else [])]
            rows.append([figure(value) for value in figures])
        yield from self._table([*columns, _PASSAGE], keys, rows)

    def _table(self, columns: Sequence[Column], keys: Sequence[Key], rows: Sequence[Sequence[str]]) -> Iterator[str]:
        shown = [
            [self._names.place(*key), *row, self._names.name(*key)]
            for key, row in zip(keys[:SHOWN], rows[:SHOWN], strict=True)
        ]
        if not shown:
            yield "none"
            return
        yield from table_lines(columns, shown, self._width)
        if len(keys) > SHOWN:
            yield f"and {len(keys) - SHOWN:,} more"


def words_heading(stage: TraceStage) -> str:
    """What the keywords were asked for, and how many passages they brought."""
    return f"By words: {counted(len(_hits(stage, 'keyword')), 'passage')} for “{one_line(stage.details['keywords'])}”"


def vectors_heading(stage: TraceStage) -> str:
    """How many passages the vectors brought."""
    return f"By vectors: {counted(len(_hits(stage, 'dense')), 'passage')}"


def _hits(retrieve: TraceStage, leg: str) -> list[tuple[Key, int, float]]:
    """What a leg brought: by rank, where several collections have one by their names."""
    collections: Mapping[str, Any] = retrieve.details["collections"]
    hits = [
        ((name, node_id), rank, score)
        for name, legs in collections.items()
        for rank, (node_id, score) in enumerate(legs[leg], start=1)
    ]
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))

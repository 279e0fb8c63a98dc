"""Questions made from a collection's own headings, definitions and table rows: no language model, no labels by hand."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from elt_llm_core.errors import UsageError
from elt_llm_core.generation import Generation
from elt_llm_core.outline import Outline
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.store.records import StoredNode, sha256

from elt_llm_query.evaluate.own_wording import (
    Wording,
    cells_of,
    definitions,
    heading_question,
    is_header,
    is_rule,
    row_questions,
    wording_of,
)
from elt_llm_query.evaluate.runner import Asked

HEADING, DEFINITION, ROW = "heading", "definition", "table row"
KINDS = (HEADING, DEFINITION, ROW)
DEFAULT_NUMBER, MOST_QUESTIONS = 200, 5000
MOST_PLACES = 5  # what more places answer, such as "Introduction", tells one ranking from another no more
SHORTEST_SECTION = 80  # characters; below, a heading stands above headings
_AT_ONCE = 1000  # passages read together


@dataclass(frozen=True, order=True)
class Place:
    """A span of a document's text that answers a question."""

    document_id: str
    start: int
    end: int

    def is_in(self, document_id: str, start: int, end: int) -> bool:
        """Whether a passage there holds most of this place, or lies for the most part within it."""
        shared = min(self.end, end) - max(self.start, start)
        return document_id == self.document_id and 2 * shared > min(self.end - self.start, end - start)


@dataclass(frozen=True)
class OwnQuestion:
    """A question with the places that answer it; `kind` is what it was made of."""

    text: str
    kind: str
    places: tuple[Place, ...]


def own_questions(generation: Generation, number: int = DEFAULT_NUMBER, seed: int = 1) -> list[OwnQuestion]:
    """At most `number` questions, as many of each kind as there are, up to an equal share.

    The same documents and the same seed give the same questions, and a document more changes few of them. Raises
    UsageError if nothing can be asked about the documents.
    """
    found: dict[str, dict[str, set[Place]]] = {kind: defaultdict(set) for kind in KINDS}
    wording = wording_of(generation.passport.language)
    ends: dict[str, int] = {}
    for node in _nodes(generation):
        ends[node.document_id] = max(node.end, ends.get(node.document_id, 0))
        for kind, text, place in _of_passage(node, wording):
            found[kind][text].add(place)
    for document_id, outline in generation.outlines(sorted(ends)).items():
        for text, place in _of_headings(document_id, outline, ends[document_id], wording):
            found[HEADING][text].add(place)
    chosen = _chosen({kind: _askable(kind, texts) for kind, texts in found.items()}, number, seed)
    if not chosen:
        raise UsageError(
            f"'{generation.collection}' has no headings, definitions or tables to make questions from.",
            hint="Label some questions by hand and use: elt-llm eval --answers FILE -c NAME",
        )
    return chosen


def asked_of(questions: Sequence[OwnQuestion]) -> list[Asked]:
    """The questions as the runner asks them: each place a key, found where the first passage that holds it stands."""
    return [
        Asked(
            identity=f"{question.kind.replace(' ', '-')}-{number:04}",
            text=question.text,
            grades=dict.fromkeys(map(_key, question.places), 1),
            rank=partial(rank_places, places=question.places),
            kind=question.kind,
        )
        for number, question in enumerate(questions, 1)
    ]


def rank_places(chunks: Sequence[RetrievedChunk], places: Sequence[Place]) -> list[str]:
    """The keys of the places that passages hold, and the ids of those that hold none, in the passages' order."""
    ranked: dict[str, None] = {}
    for chunk in chunks:
        spans = [(chunk.source_id, *chunk.span)]
        spans += [(other["source_id"], *other["span"]) for other in chunk.metadata.get("alternates", ())]
        held = [_key(place) for place in places if any(place.is_in(*span) for span in spans)]
        ranked.update(dict.fromkeys(held or [chunk.node_id]))
    return list(ranked)


def _key(place: Place) -> str:
    return f"{place.document_id}[{place.start}:{place.end}]"


def _nodes(generation: Generation) -> Iterator[StoredNode]:
    for start in range(0, len(generation.ids), _AT_ONCE):
        yield from generation.nodes(generation.ids[start : start + _AT_ONCE])


def _of_passage(node: StoredNode, wording: Wording) -> Iterator[tuple[str, str, Place]]:
    for text, start, end in _rows(node, wording):
        yield ROW, text, Place(node.document_id, node.start + start, node.start + end)
    if node.metadata.get("kind") != "table":
        for text, start, end in definitions(node.text, wording):
            yield DEFINITION, text, Place(node.document_id, node.start + start, node.start + end)


def _rows(node: StoredNode, wording: Wording) -> Iterator[tuple[str, int, int]]:
    """Questions for the rows of a passage, wherever in it they stand.

    A table's header is its first row; of one that was cut it stands last in the context.
    """
    header: list[str] | None = cells_of(node.context.rsplit("\n", 1)[-1])
    offset = 0
    for line in node.text.splitlines(keepends=True):
        start, offset = offset, offset + len(line)
        if not line.strip() or is_rule(line):
            continue
        cells = cells_of(line)
        if len(cells) == 1:
            header = None
        elif header is None or len(header) != len(cells):
            header = cells
        elif is_header(header):
            for text in row_questions(header, cells, wording):
                yield text, start, start + len(line.rstrip())


def _of_headings(document_id: str, outline: Outline, end: int, wording: Wording) -> Iterator[tuple[str, Place]]:
    """Questions for the headings that have a text of their own right below them."""
    stops = [*(section.start for section in outline.sections[1:]), end]
    for section, stop in zip(outline.sections, stops, strict=False):
        text = heading_question(section.title, wording)
        if text is not None and stop - section.start - len(section.title) >= SHORTEST_SECTION:
            yield text, Place(document_id, section.start, stop)


def _askable(kind: str, texts: Mapping[str, Iterable[Place]]) -> list[OwnQuestion]:
    questions = (OwnQuestion(text, kind, tuple(sorted(places))) for text, places in texts.items())
    return [question for question in questions if len(question.places) <= MOST_PLACES]


def _chosen(by_kind: Mapping[str, Sequence[OwnQuestion]], number: int, seed: int) -> list[OwnQuestion]:
    """An equal share of each kind; what a kind cannot fill the others may."""
    chosen: list[OwnQuestion] = []
    left = sorted(by_kind.values(), key=len)
    for position, questions in enumerate(left):
        share = (number - len(chosen)) // (len(left) - position)
        chosen += sorted(questions, key=lambda one: sha256(str(seed), one.kind, one.text))[:share]
    return sorted(chosen, key=lambda one: (KINDS.index(one.kind), one.places))

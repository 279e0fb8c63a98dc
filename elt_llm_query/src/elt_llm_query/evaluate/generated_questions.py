"""Generate questions from a collection's headings, definitions and table rows, by rules alone."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import islice
from pathlib import Path

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import CorruptIndex, UsageError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.store.records import StoredNode, sha256
from elt_llm_core.store.store import Store
from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.evaluate.runner import EvaluationQuestion
from elt_llm_query.understanding.patterns import PatternFile

MOST_TERM_WORDS = 6
MOST_CHARACTERS = 160


@dataclass(frozen=True)
class QuestionTemplates:
    """A language's question templates. `{0}` is the heading, term or column name, `{1}` the first cell of the row."""

    about: str
    meaning: str
    cell: str
    asking: str


_WORDS = tomllib.loads(Path(__file__).with_name("question_words.toml").read_text(encoding="utf-8"))
_TEMPLATES = {language: QuestionTemplates(**texts) for language, texts in _WORDS["templates"].items()}
_NOT_FIRST, _NOT_WITHIN = (frozenset(words.split()) for words in _WORDS["terms"].values())
_PATTERNS = PatternFile(__file__)
_FRAME = word_pattern(r"^(?:(?:@definite_articles@|@indefinite_articles@|term|expression)\s{1,2}){0,2}", re.IGNORECASE)
_MARKS = re.compile(r"^[\s#*_>-]{1,12}")
_QUOTES = re.compile(r"[\"“”„«»]")
_BRACKETS = re.compile(r"\s?\([^()]{0,80}\)")


def templates_for(language: str) -> QuestionTemplates:
    """Return the templates of a language. For a language without any, the templates only add a question mark."""
    return _TEMPLATES.get(language, _TEMPLATES["any"])


def heading_question(title: str, templates: QuestionTemplates) -> str | None:
    """Turn a heading, without its number, into a question; None if no words are left. A question stays as it is."""
    words = _FRAME.sub("", _unnumbered(title)).strip(" .:;-")
    if not _is_usable(words):
        return None
    if words.isupper():
        words = words.lower()
    if words.endswith("?"):
        return words
    if words.split()[0].lower() in templates.asking.split():
        return f"{words}?"
    return templates.about.format(words)


def definitions(text: str, templates: QuestionTemplates) -> Iterator[tuple[str, int, int]]:
    """Yield a question for each sentence that defines a term, with the sentence's span in the text."""
    for start, end in sentence_spans(text):
        term = _defined_term(text[start:end])
        if term is not None:
            yield templates.meaning.format(term), start, end


def row_questions(header: list[str], cells: list[str], templates: QuestionTemplates) -> Iterator[str]:
    """For each filled cell after the first, yield a question that names its column and the row's first cell."""
    key = cells[0]
    if len(cells) != len(header) or not _is_usable(key) or len(key.split()) > MOST_TERM_WORDS + 2:
        return
    for column, cell in zip(header[1:], cells[1:], strict=True):
        if cell and cell != column:
            yield templates.cell.format(column if column.isupper() else column.lower(), key)


def is_header(cells: list[str]) -> bool:
    """Return whether the cells are column names: at least two short, distinct cells that all contain letters."""
    named = all(_is_usable(cell) and len(cell.split()) <= MOST_TERM_WORDS for cell in cells)
    return len(cells) > 1 and named and len(set(cells)) == len(cells)


def cells_of(line: str) -> list[str]:
    """Split a table row with bars between its cells, such as a Markdown row. A line without bars is one cell."""
    text = line.strip()
    inner = text[1:-1] if len(text) > 1 and text.startswith("|") and text.endswith("|") else text
    return [cell.strip() for cell in f" {inner} ".split(" | ")]


def is_table_rule(line: str) -> bool:
    """Return whether the line is the rule `|---|---|` below the header of a Markdown table."""
    return "-" in line and not line.strip("|:- \t\r\n")


def _defined_term(sentence: str) -> str | None:
    """Return the term that a sentence defines, which precedes a defining verb; None if the sentence defines nothing."""
    if sentence.rstrip().endswith("?"):
        return None
    head = _unnumbered(sentence[:MOST_CHARACTERS])
    verb = _PATTERNS["verb"].search(head)
    if verb is None:
        return None
    term = _FRAME.sub("", _QUOTES.sub("", _BRACKETS.sub("", head[: verb.start()]))).strip(" ;:")
    words = term.lower().split()
    if not 0 < len(words) <= MOST_TERM_WORDS or "," in term or "|" in term or words[0] in _NOT_FIRST:
        return None
    return term if _NOT_WITHIN.isdisjoint(words) and _is_usable(term) else None


def _unnumbered(title: str) -> str:
    return _PATTERNS["number"].sub("", _MARKS.sub("", " ".join(title.split())), count=1)


def _is_usable(words: str) -> bool:
    """Return whether a heading or term can become a question: it has at least two letters and is not too long."""
    return sum(character.isalpha() for character in words) > 1 and len(words) <= MOST_CHARACTERS


HEADING, DEFINITION, ROW = "heading", "definition", "table row"
KINDS = (HEADING, DEFINITION, ROW)
DEFAULT_NUMBER, MOST_QUESTIONS = 200, 5000
MOST_SPANS = 5  # questions with more answers, such as "Introduction", do not separate rankings
SHORTEST_SECTION = 80  # characters; a shorter section contains only headings
_AT_ONCE = 1000  # nodes that are read together
_MOST_OTHERS, _MOST_FROM_OTHERS = 10, 60  # other collections that are opened, and questions from all of them


@dataclass(frozen=True, order=True)
class AnswerSpan:
    """A span of a document's text that answers a question."""

    document_id: str
    start: int
    end: int

    def is_in(self, document_id: str, start: int, end: int) -> bool:
        """Return whether a chunk contains most of this answer span, or lies mostly within it."""
        shared = min(self.end, end) - max(self.start, start)
        return document_id == self.document_id and 2 * shared > min(self.end - self.start, end - start)


@dataclass(frozen=True)
class GeneratedQuestion:
    """A question, and the spans that answer it. `kind` is heading, definition or table row: its source."""

    text: str
    kind: str
    spans: tuple[AnswerSpan, ...]


def generate_questions(generation: Searchable, number: int = DEFAULT_NUMBER, seed: int = 1) -> list[GeneratedQuestion]:
    """Generate at most `number` questions from a collection, equally many of each kind.

    Equal seeds give equal questions. Raises UsageError if the collection contains nothing to make questions from.
    """
    spans_of: dict[str, dict[str, set[AnswerSpan]]] = {kind: defaultdict(set) for kind in KINDS}
    templates = templates_for(generation.passport.language)
    ends: dict[str, int] = {}
    every_id = generation.every_id()
    while node_ids := list(islice(every_id, _AT_ONCE)):
        for node in generation.nodes(node_ids):
            ends[node.document_id] = max(node.end, ends.get(node.document_id, 0))
            found = [(ROW, *one) for one in _row_questions(node, templates)]
            if node.metadata.get("kind") != "table":
                found += [(DEFINITION, *one) for one in definitions(node.text, templates)]
            for kind, text, first, last in found:
                spans_of[kind][text].add(AnswerSpan(node.document_id, node.start + first, node.start + last))
    for document_id, outline in generation.outlines(sorted(ends)).items():
        for text, span in _heading_questions(document_id, outline, ends[document_id], templates):
            spans_of[HEADING][text].add(span)
    by_kind = [
        [GeneratedQuestion(text, kind, tuple(sorted(own))) for text, own in texts.items() if len(own) <= MOST_SPANS]
        for kind, texts in spans_of.items()
    ]
    chosen = _choose_questions(by_kind, number, seed)
    if not chosen:
        raise UsageError(
            f"'{generation.collection}' has no headings, definitions or tables to make questions from.",
            hint="Label some questions by hand and use: elt-llm eval --answers FILE -c NAME",
        )
    return chosen


def evaluation_questions(questions: Sequence[GeneratedQuestion]) -> list[EvaluationQuestion]:
    """Convert generated questions for `measure_profiles`. The answer spans of a question are what a search should find.

    If several chunks contain an answer span, only the best of them counts for its rank.
    """
    return [
        EvaluationQuestion(
            identity=f"{question.kind.replace(' ', '-')}-{number:04}",
            text=question.text,
            grades=dict.fromkeys(map(_key, question.spans), 1),
            rank=partial(rank_answer_spans, answers=question.spans),
            kind=question.kind,
        )
        for number, question in enumerate(questions, 1)
    ]


def rank_answer_spans(chunks: Sequence[RetrievedChunk], answers: Sequence[AnswerSpan]) -> list[str]:
    """Return the keys of the answer spans in each chunk, in the chunks' order; for a chunk without any, its node id."""
    ranked: dict[str, None] = {}
    for chunk in chunks:
        spans = [(chunk.source_id, *chunk.span)]
        spans += [(other["source_id"], *other["span"]) for other in chunk.metadata.get("alternates", ())]
        held = [_key(answer) for answer in answers if any(answer.is_in(*span) for span in spans)]
        ranked.update(dict.fromkeys(held or [chunk.node_id]))
    return list(ranked)


def _key(span: AnswerSpan) -> str:
    return f"{span.document_id}[{span.start}:{span.end}]"


def _row_questions(node: StoredNode, templates: QuestionTemplates) -> Iterator[tuple[str, int, int]]:
    """Yield questions about a chunk's table rows, with the rows' spans. The header may be in the chunk's context."""
    header: list[str] | None = cells_of(node.context.rsplit("\n", 1)[-1])
    offset = 0
    for line in node.text.splitlines(keepends=True):
        start, offset = offset, offset + len(line)
        if not line.strip() or is_table_rule(line):
            continue
        cells = cells_of(line)
        if len(cells) == 1:
            header = None
        elif header is None or len(header) != len(cells):
            header = cells
        elif is_header(header):
            for text in row_questions(header, cells, templates):
                yield text, start, start + len(line.rstrip())


def _heading_questions(
    document_id: str, outline: Outline, end: int, templates: QuestionTemplates
) -> Iterator[tuple[str, AnswerSpan]]:
    """Yield a question for each heading that has text directly below it."""
    stops = [*(section.start for section in outline.sections[1:]), end]
    for section, stop in zip(outline.sections, stops, strict=False):
        text = heading_question(section.title, templates)
        if text is not None and stop - section.start - len(section.title) >= SHORTEST_SECTION:
            yield text, AnswerSpan(document_id, section.start, stop)


def _choose_questions(
    by_kind: Sequence[Sequence[GeneratedQuestion]], number: int, seed: int
) -> list[GeneratedQuestion]:
    """Choose equally many questions of each kind. If a kind has too few, the other kinds get more."""
    chosen: list[GeneratedQuestion] = []
    for position, questions in enumerate(sorted(by_kind, key=len)):
        share = (number - len(chosen)) // (len(by_kind) - position)
        chosen += sorted(questions, key=lambda one: sha256(str(seed), one.kind, one.text))[:share]
    return sorted(chosen, key=lambda one: (KINDS.index(one.kind), one.spans))


def foreign_questions(language: str) -> list[str]:
    """Return the shipped questions about other subjects: German ones for `de`, English ones for other languages."""
    path = files(__package__).joinpath(f"foreign_questions/{'de' if language == 'de' else 'en'}.txt")
    return path.read_text(encoding="utf-8").splitlines()


def questions_of_other_collections(
    store: Store, generation: Searchable, own: Sequence[GeneratedQuestion], seed: int
) -> list[str]:
    """Generate questions from other collections, at most 60 in total.

    A collection that shares a document or a question with this one is about the same subject and is left out.
    Unreadable collections are left out too.
    """
    names = [record.name for record in store.collections.all() if record.name != generation.collection][:_MOST_OTHERS]
    hashes = {document.document_hash for document in generation.documents()}
    texts = {question.text for question in own}
    questions: list[str] = []
    for name in names:
        try:
            with open_generation(store, name) as other:
                if hashes.isdisjoint(document.document_hash for document in other.documents()):
                    foreign = {one.text for one in generate_questions(other, _MOST_FROM_OTHERS // len(names), seed)}
                    questions += sorted(foreign) if foreign.isdisjoint(texts) else []
        except (CorruptIndex, UsageError):  # damaged, empty, or without questions
            continue
    return questions

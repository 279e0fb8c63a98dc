"""Find gaps: entities that the texts never name, defined terms that match no entity, and rules that name no entity."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from elt_llm_core.enterprise import Entity
from elt_llm_core.text.languages import alternatives
from elt_llm_core.text.normalise import words
from elt_llm_query.grounding.sentences import TextPiece, embed_truncated

from elt_llm_consumer.definitions.definition import Definition, grouped
from elt_llm_consumer.definitions.subject import skip_labels
from elt_llm_consumer.definitions.vocabulary import FINITE
from elt_llm_consumer.evidence import (
    Cell,
    Evidence,
    Row,
    Table,
    absent_cell,
    found_cell,
    group_by_domain,
    inferred_cell,
)
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import CorpusDocument, ModelSource, quote_hash
from elt_llm_consumer.names.joins import JoinPair, JoinResult
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import is_contents_row
from elt_llm_consumer.sentences.words import CueMatcher, has_verb_with_object

# The number in "12 clubs" is a count; those in "§ 4 Abs. 2" and "3. May 2026" belong to a reference and to a date.
_LABEL = re.compile(
    r"\s{0,4}(?P<series>(?:§\s?|[A-Z]{1,3}[-.]?)(?:\d{1,3}\.){0,4}|(?:\d{1,3}\.){1,4}|(?=\d{1,3}[.)]))"
    r"(?P<last>\d{1,3})(?P<letter>[a-z]?)[.)]?\s+(?!\w+\.?\s\d)"
)
_OPENING, _CLOSING = "\"'“„«(", "\"'”“»)"


class RuleNumbers:
    """The numbers at the start of a document's paragraphs and headings."""

    def __init__(self, document: CorpusDocument) -> None:
        pieces = (one for one in document.pieces if one.kind != "row" and not is_contents_row(one.text))
        found = [(piece, match) for piece in pieces if (match := _LABEL.match(piece.text))]
        self._uses = Counter(_label(match) for _, match in found)
        self._paragraphs = {_place(match) for piece, match in found if piece.new_paragraph}

    def of(self, piece: TextPiece) -> str:
        """Return the number of a piece, such as "A3.1"; empty if it has none, or if another piece has the same."""
        found = _LABEL.match(piece.text)
        return _label(found) if found and self._uses[_label(found)] == 1 else ""

    def is_numbered_rule(self, piece: TextPiece) -> bool:
        """Return whether a piece is a numbered paragraph: a sentence whose own number continues a series of paragraphs.

        The items of ordinary lists are shorter, follow each other without blank lines, or have the numbers of another
        list in the document.
        """
        found = _LABEL.match(piece.text)
        if not found or not piece.new_paragraph or not self.of(piece):
            return False
        series, last = _place(found)
        in_series = not self._paragraphs.isdisjoint({(series, last - 1), (series, last + 1)})
        return in_series and _is_sentence(piece.text[found.end() :])


def _is_sentence(text: str) -> bool:
    """Return whether a text is a whole sentence: a capital letter, a later word in lower case, and an end."""
    is_ended = text.rstrip().rstrip(_CLOSING).endswith((".", "!", ";"))
    return is_ended and text.lstrip(_OPENING)[:1].isupper() and any(word[0].islower() for word in text.split()[3:])


def _place(found: "re.Match[str]") -> tuple[str, int]:
    """Return the place of a number in its series: ("A3.", 1) for "A3.1"."""
    return found["series"].strip(), int(found["last"])


def _label(found: "re.Match[str]") -> str:
    return f"{found['series'].replace(' ', '')}{found['last']}{found['letter']}"


# Paragraphs with such a number ("A1.3", "2.1.") are rules, whatever their verb and the other numbers in the document.
_NUMBERED = re.compile(r"\s{0,4}(?:§\s?)?(?:[A-Z]{1,3}[-.]?)?\d{1,3}(?:\.\d{1,3}){1,4}[.)]?\s")


class RuleWords:
    """Recognises rules among statements by words such as "must"."""

    def __init__(self, rule_words: Sequence[str], openings: Sequence[str] = ()) -> None:
        self._within = CueMatcher(word.casefold() for word in rule_words)
        self._first = _any_word_pattern(openings)
        self._numbers: dict[tuple[str, str], RuleNumbers] = {}

    def is_rule(self, document: CorpusDocument, piece: TextPiece) -> bool:
        """Return whether a statement demands, allows or forbids something, or is a numbered paragraph."""
        return self.is_numbered(document, piece) or self.demands(piece.text)

    def is_numbered(self, document: CorpusDocument, piece: TextPiece) -> bool:
        """Return whether a statement is a numbered paragraph: its number has levels, or continues a series."""
        return bool(_NUMBERED.match(piece.text)) or self.numbers(document).is_numbered_rule(piece)

    def numbers(self, document: CorpusDocument) -> RuleNumbers:
        """Return the numbers of a document's rules."""
        key = (document.collection, document.document_id)
        return self._numbers.get(key) or self._numbers.setdefault(key, RuleNumbers(document))

    def demands(self, text: str) -> bool:
        """Return whether a text has one of the rule words, or starts with one of the openings."""
        if self._first and self._first.match(text.lstrip()):
            return True
        # A capitalised rule word within a statement is a name or a month, as in "in May".
        return any(text[start].islower() or not text[:start].strip() for start, _ in self._within.spans(text))


def _any_word_pattern(words: Sequence[str]) -> "re.Pattern[str] | None":
    either = alternatives(word.casefold() for word in words if word.strip())
    return re.compile(rf"\b(?:{either})\b", re.IGNORECASE) if either else None


GAP_COLUMNS = ("gap", "in_model", "in_handbook", "joined_by")
MATCHED, MODEL_ONLY, HANDBOOK_ONLY = "MATCHED", "MODEL_ONLY", "HANDBOOK_ONLY"


def gap_table(
    model: ModelSource,
    entities: Sequence[Entity],
    joined: JoinResult,
    defined: Mapping[str, Sequence[Definition]],
    classes: Mapping[str, Cell],
) -> Table:
    """Build a table with one row for each entity, and one for each term that matches no entity.

    `classes` maps the id of each entity to the cell with its coverage class.
    """
    rows = [_entity_row(model, one, joined.of_left(one.id), defined, classes[one.id]) for one in entities]
    rows += [_term_row(key, defined[key]) for key in joined.right_alone]
    return Table(name="gaps", columns=GAP_COLUMNS, rows=group_by_domain(rows))


def _entity_row(
    model: ModelSource,
    entity: Entity,
    join: JoinPair | None,
    defined: Mapping[str, Sequence[Definition]],
    coverage: Cell,
) -> Row:
    in_model = model.of_entity(entity)
    at = tuple(one.evidence for one in defined[join.right]) if join else coverage.evidence
    gap, name = MATCHED if at else MODEL_ONLY, defined[join.right][0].term if join else entity.name
    joined_by = inferred_cell("named", coverage.note) if at else absent_cell()
    if join:
        joined_by = inferred_cell(join.by, join.reason, confidence=round(join.score, 4))
    cells = {
        "gap": _gap_cell(gap, (*in_model, *at), coverage.note if gap == MODEL_ONLY else ""),
        "in_model": found_cell(entity.name, in_model) if in_model else absent_cell(),
        "in_handbook": found_cell(name, at) if at else absent_cell(coverage.note),
        "joined_by": joined_by,
    }
    group = tuple(filter(None, (entity.domain, entity.subgroup)))
    return Row(key=f"entity/{entity.id}", name=entity.name, group=group, cells=cells)


def _term_row(key: str, definitions: Sequence[Definition]) -> Row:
    at = tuple(one.evidence for one in definitions)
    term, note = definitions[0].term, "No entity in the model has this term as its name or alias."
    cells = {
        "gap": _gap_cell(HANDBOOK_ONLY, at, note),
        "in_model": absent_cell(note),
        "in_handbook": found_cell(term, at),
    }
    return Row(key=f"term/{key}", name=term, cells=cells)


def _gap_cell(gap: str, evidence: Sequence[Evidence], note: str) -> Cell:
    return found_cell(gap, evidence, confidence=1.0, note=note) if evidence else inferred_cell(gap, note)


RULE_COLUMNS = ("rule", "section", "terms", "nearest_entity")


def rules_table(
    context: JobContext,
    entities: Sequence[Entity],
    names: Names,
    terms: Names,
    rules: RuleWords,
    definitions: Sequence[Definition],
) -> Table:
    """Build a table of the rules that name no entity: the rule, its defined terms, and the most similar entity."""
    defining = grouped(definitions, lambda one: (one.evidence.collection, one.evidence.document_id))
    least, found_rules = context.file.spec.coverage.least_rule_words, []
    for document in context.corpus.documents:
        defined = defining.get((document.collection, document.document_id), ())
        for piece in document.pieces:
            states = piece.kind not in {"heading", "rule", "question", "row"} and not is_contents_row(piece.text)
            if not states or len(words(piece.text)) < least or names.mentions(piece.text):
                continue
            if rules.is_rule(document, piece) and not _only_defines(document, piece, defined, rules):
                found_rules.append((document, piece))
    nearest = _nearest(context, [piece.text for _, piece in found_rules], entities)
    rows, uses = [], Counter[str]()
    for (document, piece), near in zip(found_rules, nearest, strict=True):
        key = _rule_key(document, piece, rules.numbers(document).of(piece))
        uses[key] += 1
        rows.append(_row(f"{key} ({uses[key]})" if uses[key] > 1 else key, document, piece, terms, near))
    return Table(name="rules_without_entity", columns=RULE_COLUMNS, rows=tuple(rows))


def _only_defines(
    document: CorpusDocument, piece: TextPiece, definitions: Sequence[Definition], rules: RuleWords
) -> bool:
    """Return whether a statement only gives the meaning of a word: it demands nothing besides.

    A numbered statement only defines if it also has no verb outside the definition: "A3.1 The Annual General Meeting
    (AGM) is held in May." is a rule.
    """
    rest = _without(piece, [one.evidence.span for one in definitions])
    if rest == piece.text:
        return False
    if not any(map(str.isalnum, rest[skip_labels(rest, 0, len(rest)) :])):
        return True
    spans = [one.term_span if one.pattern == "brackets" else one.evidence.span for one in definitions]
    rest = _without(piece, spans)
    states = rules.is_numbered(document, piece) and (FINITE.search(rest) or has_verb_with_object(rest.split()))
    return not states and not rules.demands(rest)


def _without(piece: TextPiece, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text of a piece with blanks in place of the spans, which are spans of its document."""
    blank = {at for first, last in spans for at in range(max(first, piece.start), min(last, piece.end))}
    return "".join(" " if at in blank else sign for at, sign in enumerate(piece.text, piece.start))


_KEY_WORDS, _KEY_DIGITS = 6, 8  # of the text of a rule without a number


def _rule_key(document: CorpusDocument, piece: TextPiece, number: str) -> str:
    """Return a key that stays if the text around a rule changes: its number, or else its first words and a hash."""
    text = piece.text.split()
    label = number or f"{' '.join(text[:_KEY_WORDS])} {quote_hash(' '.join(text))[:_KEY_DIGITS]}"
    return f"{document.collection}/{document.source}/{label}"


def _row(key: str, document: CorpusDocument, piece: TextPiece, terms: Names, near: tuple[str, float] | None) -> Row:
    evidence = document.evidence(piece.start, piece.end, 1.0)
    named = tuple(dict.fromkeys(mention.name for mention in terms.mentions(evidence.quote) if mention.certain))
    cells = {
        "rule": found_cell(" ".join(evidence.quote.split()), [evidence]),
        "section": found_cell(evidence.section, [evidence]) if evidence.section else absent_cell(),
        "terms": found_cell(named, [evidence]) if named else absent_cell("The rule contains no defined term."),
        "nearest_entity": inferred_cell(near[0], confidence=near[1]) if near else absent_cell(),
    }
    path = document.outline.section_path(piece.start)
    return Row(key=key, name=path[-1] if path else document.title or document.source, cells=cells)


def _nearest(context: JobContext, texts: Sequence[str], entities: Sequence[Entity]) -> list[tuple[str, float] | None]:
    """Return, for each text, the most similar entity's name and cosine similarity; None if no entity is near enough."""
    if not texts or not entities:
        return [None] * len(texts)
    questions = np.stack([context.embedding.embed_question(entity.name) for entity in entities])
    # A long rule may be truncated for embedding, because its first words show what it is about.
    similar = embed_truncated(texts, context.embedding) @ questions.T
    best = similar.argmax(axis=1)
    scores = np.clip(similar[np.arange(len(texts)), best], 0, 1)
    return [
        (entities[int(number)].name, round(float(score), 4))
        if score >= context.file.spec.coverage.least_nearness
        else None
        for number, score in zip(best, scores, strict=True)
    ]

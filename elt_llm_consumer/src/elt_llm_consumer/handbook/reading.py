"""The texts of a job as sentences that were taken apart; what only names pages and contents is left out."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.corpus import Corpus, CorpusDocument
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.handbook.clauses import Clause, Clauses
from elt_llm_consumer.handbook.grammar import ADVERBS, BE, DETERMINERS, JOINING, MODALS, NEGATIONS, PREPOSITIONS
from elt_llm_consumer.handbook.phrases import Phrase
from elt_llm_consumer.handbook.tokens import Word, words_of
from elt_llm_consumer.handbook.verbs import Verbs
from elt_llm_consumer.mention_index import is_contents_row
from elt_llm_consumer.rows import Evidence
from elt_llm_consumer.sections.glossary import GlossarySection

_LEARNED_FROM = 2
_LONGEST = 400  # words of a sentence; a longer one is no sentence
_LONGEST_NAME = 6
_CELL_ENDS = re.compile(r"[|\t]")
_STATING = frozenset({"prose", "item"})


@dataclass(frozen=True)
class Sentence:
    """The words text[start:end] of a document, read. `before` is the sentence before it in the same paragraph."""

    document: CorpusDocument = field(repr=False)
    start: int
    end: int
    words: tuple[Word, ...] = field(repr=False)
    phrases: tuple[Phrase, ...]
    clauses: tuple[Clause, ...]
    before: "Sentence | None" = field(default=None, repr=False)
    item: bool = False

    @property
    def text(self) -> str:
        """The sentence on one line."""
        return " ".join(self.document.text[self.start : self.end].split())

    @property
    def section(self) -> str:
        """Headings above it, joined by ' > '; empty above the first."""
        return self.document.outline.section_at(self.start) or ""

    def evidence(self, score: float, about: str = "") -> Evidence:
        """The whole sentence as evidence."""
        return self.document.evidence(self.start, self.end, score, about)

    def with_before(self, score: float) -> Evidence:
        """The sentence before it and itself: what "it" stands for is said in the first."""
        start = self.before.start if self.before else self.start
        return self.document.evidence(start, self.end, score)

    def subjects_of(self, clause: Clause) -> tuple[Phrase, ...]:
        """Who acts in one of its clauses; of "it" the only subject of the sentence before, if that has one."""
        if not clause.again:
            return clause.subjects
        first = self.before.clauses[:1] if self.before else ()
        known = first[0].subjects if first else ()
        return known if len(known) == 1 else ()


def read_sentences(corpus: Corpus, glossary: GlossarySection) -> list[Sentence]:
    """Every sentence and list item of the texts in order, read with the verbs that the texts themselves show."""
    cut = [(document, list(_stating(document, glossary))) for document in corpus.documents]
    texts = [(document, piece, _words(document, piece)) for document, pieces in cut for piece in pieces]
    reader = Clauses(Verbs(_learned([words for _, _, words in texts])))
    found: list[Sentence] = []
    for document, piece, words in texts:
        if not words or len(words) > _LONGEST:
            continue
        last = found[-1] if found else None
        near = last is not None and last.document is document and not piece.new_paragraph and piece.kind == "prose"
        found.append(
            Sentence(
                document,
                piece.start,
                piece.end,
                tuple(words),
                tuple(reader.phrases(words)),
                tuple(reader.read(words)),
                last if near else None,
                piece.kind == "item",
            )
        )
    return found


def names_in_tables(corpus: Corpus, glossary: GlossarySection) -> list[Phrase]:
    """What table cells name in capitals and say nothing else of: "Case File" in a row of what is kept for how long."""
    reader = Clauses(Verbs())
    found: list[Phrase] = []
    for document in corpus.documents:
        for piece in Layout(document, glossary).pieces:
            if piece.kind == "row" and not is_contents_row(piece.text):
                found += [phrase for cell in _CELL_ENDS.split(piece.text) if (phrase := _name(cell, reader))]
    return found


def _name(cell: str, reader: Clauses) -> Phrase | None:
    words = words_of(cell)
    phrases = list(reader.phrases(words)) if 1 < len(words) <= _LONGEST_NAME else []
    whole = len(phrases) == 1 and len(phrases[0].words) == len(words) and not any(word.stop for word in words[1:])
    return phrases[0] if whole and all(word.capital for word in words if word.low not in JOINING) else None


def _stating(document: CorpusDocument, glossary: GlossarySection) -> Iterator[Piece]:
    for piece in Layout(document, glossary).pieces:
        if piece.kind in _STATING and not is_contents_row(piece.text):
            yield piece


def _words(document: CorpusDocument, piece: Piece) -> list[Word]:
    text = document.text[piece.start : piece.end]
    return words_of(text, after_labels(text, 0, len(text)))


def _learned(sentences: Sequence[Sequence[Word]]) -> list[str]:
    """Words that stand behind "must" and its like with an object behind them: verbs, whatever they mean."""
    counted: Counter[str] = Counter()
    for words in sentences:
        for number in range(1, len(words) - 1):
            low = words[number].low
            if words[number - 1].low in MODALS and not words[number].stop and _may_be_verb(low):
                counted[low] += words[number + 1].low in DETERMINERS
    return [word for word, times in counted.items() if times >= _LEARNED_FROM]


def _may_be_verb(low: str) -> bool:
    return low.isalpha() and low not in BE | ADVERBS | NEGATIONS | DETERMINERS | PREPOSITIONS and not low.endswith("ly")

"""Parse the sentences of a handbook, or only the sentences about the topics that the job file lists."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from elt_llm_core.text.outline import Span
from elt_llm_query.engine import Engine
from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.definitions.layout import DocumentLayout
from elt_llm_consumer.definitions.subject import skip_labels
from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.sentences.reader import NounPhrase, SentenceClause, SentenceReader
from elt_llm_consumer.sentences.statements import is_contents_row
from elt_llm_consumer.sentences.words import NAME_PREPOSITIONS, SentenceWord, VerbLexicon, listed_verbs, sentence_words

_MAX_SENTENCE_WORDS, _MAX_NAME_WORDS = 400, 6
_CELL_ENDS = re.compile(r"[|\t]")


@dataclass(frozen=True)
class ParsedSentence:
    """A parsed sentence: text[start:end] of a document. `before` is the previous sentence of the paragraph."""

    document: CorpusDocument = field(repr=False)
    start: int
    end: int
    words: tuple[SentenceWord, ...] = field(repr=False)
    phrases: tuple[NounPhrase, ...]
    clauses: tuple[SentenceClause, ...]
    before: "ParsedSentence | None" = field(default=None, repr=False)
    item: bool = False

    @property
    def text(self) -> str:
        """The text of the sentence on one line."""
        return " ".join(self.document.text[self.start : self.end].split())

    @property
    def section(self) -> str:
        """The headings above the sentence, joined by ' > '; empty before the first heading."""
        return self.document.outline.section_at(self.start) or ""

    def evidence(self, score: float) -> Evidence:
        """Return the whole sentence as evidence."""
        return self.document.evidence(self.start, self.end, score)

    def with_before(self, score: float) -> Evidence:
        """Return this sentence together with the previous one, to which its "it" refers, as evidence."""
        start = self.before.start if self.before else self.start
        return self.document.evidence(start, self.end, score)

    def subjects_of(self, clause: SentenceClause) -> tuple[NounPhrase, ...]:
        """Return the subjects of a clause. For "it", return the subject of the previous sentence if it has only one."""
        if not clause.again:
            return clause.subjects
        first = self.before.clauses[:1] if self.before else ()
        known = first[0].subjects if first else ()
        return known if len(known) == 1 else ()


def read_sentences(corpus: Corpus, glossary: GlossarySection) -> list[ParsedSentence]:
    """Parse every sentence and list item in order, with the shipped verbs and verbs learned from the texts."""
    texts = []
    for document, piece in _pieces(corpus, glossary):
        if piece.kind in {"prose", "item"}:
            text = document.text[piece.start : piece.end]
            texts.append((document, piece, sentence_words(text, skip_labels(text, 0, len(text)))))
    reader = SentenceReader(VerbLexicon([words for _, _, words in texts]))
    found: list[ParsedSentence] = []
    for document, piece, words in texts:
        if not words or len(words) > _MAX_SENTENCE_WORDS:
            continue
        last = found[-1] if found else None
        near = last is not None and last.document is document and not piece.new_paragraph and piece.kind == "prose"
        found.append(
            ParsedSentence(
                *(document, piece.start, piece.end, tuple(words), tuple(reader.phrases(words))),
                tuple(reader.clauses(words)),
                last if near else None,
                piece.kind == "item",
            )
        )
    return found


def names_in_tables(corpus: Corpus, glossary: GlossarySection) -> list[NounPhrase]:
    """Return the capitalized names that are alone in a table cell: "Case File" in a row of a retention schedule."""
    return [
        phrase
        for _, piece in _pieces(corpus, glossary)
        if piece.kind == "row"
        for cell in _CELL_ENDS.split(piece.text)
        if (phrase := _name_in_cell(cell)) is not None
    ]


def _name_in_cell(cell: str) -> NounPhrase | None:
    words = sentence_words(cell)
    phrases = list(SentenceReader(listed_verbs()).phrases(words)) if 1 < len(words) <= _MAX_NAME_WORDS else []
    whole = len(phrases) == 1 and len(phrases[0].words) == len(words) and not any(word.separator for word in words[1:])
    return phrases[0] if whole and all(word.capital for word in words if word.low not in NAME_PREPOSITIONS) else None


def _pieces(corpus: Corpus, glossary: GlossarySection) -> Iterator[tuple[CorpusDocument, TextPiece]]:
    """Yield each document with each of its pieces, without page headers and tables of contents."""
    for document in corpus.documents:
        pieces = DocumentLayout(document, glossary).pieces
        yield from ((document, piece) for piece in pieces if not is_contents_row(piece.text))


def sentences_on_topics(
    sentences: Sequence[ParsedSentence], topics: Sequence[str], engine: Engine | None, chunks: int
) -> Sequence[ParsedSentence]:
    """Return the sentences about the topics, in order; all sentences if there are no topics.

    A sentence is about a topic if the sentence or its heading names the topic, or if a search for the topic, which
    retrieves at most `chunks` chunks, returns the chunk that contains the sentence. Raises RetrievalError.
    """
    topics = [topic.strip() for topic in topics if topic.strip()]
    if not topics:
        return sentences
    stems = [re.escape(topic.removesuffix("s")) for topic in topics]
    named = re.compile(rf"(?<!\w)(?:{'|'.join(stems)})(?:s|es|en)?(?!\w)", re.IGNORECASE)
    found = [engine.search(topic, top_k=chunks).chunks for topic in topics] if engine is not None and chunks else []
    spans: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for chunk in chain.from_iterable(found):
        spans[chunk.collection, chunk.source_id].append(chunk.span)

    def is_about(one: ParsedSentence) -> bool:
        around = spans[one.document.collection, one.document.document_id]
        within = any(start <= one.start and one.end <= end for start, end in around)
        return within or named.search(one.text) is not None or named.search(one.section) is not None

    return [one for one in sentences if is_about(one)]

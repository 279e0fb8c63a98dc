"""The texts that a job reads, as they stood when it began: every word of them can be pointed at."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elt_llm_core.generation import Generation
from elt_llm_core.marked_terms import ARTEFACT, MarkedTerms
from elt_llm_core.outline import Outline
from elt_llm_query.answer.pieces import Piece, pieces

from elt_llm_consumer.rows import Evidence


@dataclass(frozen=True)
class CorpusDocument:
    """One document with its whole text."""

    collection: str
    document_id: str
    source: str
    title: str
    document_hash: str
    text: str = field(repr=False)
    outline: Outline = field(repr=False)
    marked: MarkedTerms = field(default_factory=MarkedTerms, repr=False)
    """Terms that the markup of the file names."""

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Its sentences, list items, table rows and headings in order, as spans of `text`."""
        return tuple(pieces(self.text, [section.title for section in self.outline.sections]))

    def evidence(self, start: int, end: int, score: float, about: str = "") -> Evidence:
        """The words text[start:end] as evidence, white space around them left out. Raises ValueError if none are left.

        `score`, 0 to 1, is how well they support what they stand for.
        """
        quote = self.text[start:end]
        start += len(quote) - len(quote.lstrip())
        quote = quote.strip()
        if not quote:
            raise ValueError(f"nothing is written at {start}:{end} of {self.source}")
        return Evidence(
            collection=self.collection,
            source=self.source,
            document_id=self.document_id,
            document_hash=self.document_hash,
            page=self.outline.page_at(start),
            section=self.outline.section_at(start),
            span=(start, start + len(quote)),
            quote=quote,
            quote_hash=quote_hash(quote),
            score=round(score, 4),
            about=about,
        )


class Corpus:
    """Documents of some collections, in order of collection and source."""

    def __init__(self, documents: Sequence[CorpusDocument]) -> None:
        self.documents = tuple(sorted(documents, key=lambda one: (one.collection, one.source, one.document_id)))
        self._by_id = {(one.collection, one.document_id): one for one in self.documents}

    def document(self, collection: str, document_id: str) -> CorpusDocument | None:
        """The document, or None if it is not there (any more)."""
        return self._by_id.get((collection, document_id))

    @cached_property
    def parts(self) -> Mapping[str, CorpusDocument]:
        """Documents within files, such as fact sheets, by what names them in the file: `#entity/1f0c`."""
        return {one.source[one.source.find("#") :]: one for one in self.documents if "#" in one.source}

    def holds(self, evidence: Evidence) -> bool:
        """Whether the quote can be read where the evidence says, in the document as it is now."""
        document = self.document(evidence.collection, evidence.document_id)
        start, end = evidence.span
        return (
            document is not None
            and document.text[start:end] == evidence.quote
            and quote_hash(evidence.quote) == evidence.quote_hash
            and document.outline.page_at(start) == evidence.page
        )


def read_corpus(generations: Sequence[Generation]) -> Corpus:
    """Every document of these generations with its text; parts of files, such as fact sheets, as documents."""
    return Corpus([document for generation in generations for document in _documents(generation)])


def quote_hash(quote: str) -> str:
    """SHA-256 of a quote, 64 hex digits."""
    return hashlib.sha256(quote.encode("utf-8", "surrogatepass")).hexdigest()


def _documents(generation: Generation) -> list[CorpusDocument]:
    listed = generation.documents()
    identities = [document.document_id for document in listed]
    texts, outlines = generation.texts(identities), generation.outlines(identities)
    marked = generation.artefacts(ARTEFACT)
    return [
        CorpusDocument(
            generation.collection,
            one.document_id,
            one.source,
            one.title,
            one.document_hash,
            text,
            outlines.get(one.document_id, Outline()),
            MarkedTerms.from_json(marked.get(one.document_id), len(text)),
        )
        for one, text in ((one, texts.get(one.document_id, "")) for one in listed)
    ]

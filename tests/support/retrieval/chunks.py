"""Hand-made chunks, and an answerer on the fake embedding."""

from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.answerer import ExtractiveAnswerer
from elt_llm_query.extractive.confidence import SHIPPED_THRESHOLDS, OutcomeThresholds


def make_chunk(
    text: str,
    document: str = "rules",
    start: int = 0,
    context: str = "",
    score: float = 1.0,
    page: int | None = None,
) -> RetrievedChunk:
    """A chunk of a document; `start` is its position in the document's text."""
    return RetrievedChunk(
        node_id=f"{document}-{start}",
        collection="handbook",
        source_id=document,
        source_title=document.title(),
        source=f"{document}.md",
        document_hash="0" * 64,
        text=text,
        context=context,
        span=(start, start + len(text)),
        page=page,
        section=context or None,
        score=score,
    )


def make_answerer(*, abstain: bool, cite: bool = True) -> ExtractiveAnswerer:
    """Return an answerer that needs no model files; `abstain=False` shows the sentences that it would choose."""
    thresholds = SHIPPED_THRESHOLDS if abstain else OutcomeThresholds(0.0, 0.0)
    return ExtractiveAnswerer(FakeEmbedding(256), KeywordTokeniser(), thresholds=thresholds, cite=cite)

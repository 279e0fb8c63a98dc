"""What comes back from a question: the shapes every interface renders and none invents anew."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    """Immutable and closed, so that what is printed as JSON is what is documented here."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Citation(Result):
    """One place in one document. `excerpt` equals the document's text[span[0]:span[1]], always."""

    reference: str = Field(description="How the answer names it, such as [1].")
    collection: str = Field(description="Collection the document belongs to.")
    source_id: str = Field(description="Document id; `elt-llm show` takes it.")
    source_title: str = Field(description="Title of the document.")
    source: str = Field(description="Path of the document within its root.")
    document_hash: str = Field(description="sha256 of the file's bytes, in hex.")
    excerpt: str = Field(description="The cited words, unchanged.")
    span: tuple[int, int] = Field(description="Character offsets of the excerpt in the parsed text.")
    page: int | None = Field(description="Page the excerpt begins on, from 1; none where files have no pages.")
    section: str | None = Field(description="Headings above the excerpt, joined by ' > '.")
    relevance_score: float = Field(description="Score of the passage in the final ranking, 0 to 1.")


class RetrievedChunk(Result):
    """A passage with its place in the text and its way through the ranking."""

    node_id: str
    collection: str
    source_id: str
    source_title: str
    source: str
    document_hash: str
    text: str = Field(description="The document's text[span[0]:span[1]].")
    context: str = Field(description="Helps to find and read the passage (headings, table header); never cited.")
    span: tuple[int, int]
    page: int | None
    section: str | None
    score: float = Field(description="Score in the final ranking.")
    dense_rank: int | None = Field(None, description="Place in the vector leg, from 1.")
    cosine: float | None = Field(None, description="Cosine to the question, -1 to 1.")
    keyword_rank: int | None = Field(None, description="Place in the keyword leg, from 1.")
    keyword_score: float | None = Field(None, description="BM25 score, 0 or more.")
    coverage: float | None = Field(None, description="Share of the question's words that it has, 0 to 1.")
    order: float | None = Field(None, description="Share of the question's neighbouring words in order, 0 to 1.")
    fused_score: float | None = Field(None, description="Score after fusion.")
    metadata: dict[str, Any] = Field(default_factory=dict)


class CheckedSentence(Result):
    """One sentence of a written answer, held against the passages by code."""

    text: str = Field(description="The sentence, without its numbers.")
    verdict: Literal["supported", "partly", "unsupported", "no claim"]
    score: float = Field(ge=0.0, le=1.0, description="The chance that the passages say it.")
    references: tuple[str, ...] = Field((), description="The citations that bear it out.")
    places: tuple[tuple[str, int, int], ...] = Field(
        (), description="Document id and character offsets of the words that say it."
    )
    reasons: tuple[str, ...] = Field((), description="What differs, in sentences.")


class TraceStage(Result):
    """One stage of the pipeline: what it took, what it kept, what it dropped and why."""

    name: str
    took_ms: float
    kept: int = 0
    details: dict[str, Any] = Field(default_factory=dict)


class Trace(Result):
    """Every stage of one question, in order; each view of the pipeline is a rendering of this."""

    stages: tuple[TraceStage, ...] = ()


class QueryResult(Result):
    """An answer and everything needed to check it."""

    question: str
    answer: str
    answered: bool = Field(description="False when the documents do not hold the answer and it says so.")
    contexts: tuple[RetrievedChunk, ...] = ()
    citations: tuple[Citation, ...] = ()
    reasoning_steps: tuple[str, ...] = ()
    checked: tuple[CheckedSentence, ...] = Field(
        (), description="Each sentence of an answer that a model wrote, with what bears it out."
    )
    parts: tuple[tuple[str, str], ...] = Field(
        (), description="Answers of single collections that the answer was made of, by collection."
    )
    complete: bool = Field(True, description="False if the answer was stopped before its end.")
    confidence: float = Field(0.0, ge=0.0, le=1.0)
    tokens_used: int = Field(0, ge=0, description="Tokens a language model was paid for; 0 for extractive answers.")
    latency_ms: float = 0.0
    metadata: dict[str, Any] = Field(default_factory=dict, description="Profile, model, generations asked.")
    trace: Trace = Field(default_factory=Trace)
    notes: tuple[str, ...] = Field((), description="Whatever was degraded, cut or left out, in sentences.")

"""Pydantic models for the result of a question, which all interfaces display."""

from typing import Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

AnswerOutcome = Literal["answered", "uncertain", "not found"]
"""`uncertain` means that an answer was found, but that it may well be wrong, so that the reader must decide."""
UNCERTAIN_TEXT = "Uncertain: this may not be the answer to the question."


class ResultModel(BaseModel):
    """The base class of immutable models without extra fields: JSON output has exactly the documented fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Citation(ResultModel):
    """A quoted span of one document. `excerpt` always equals the document's text[span[0]:span[1]]."""

    reference: str = Field(description="How the answer refers to this citation, such as [1].")
    collection: str = Field(description="Collection of the document.")
    source_id: str = Field(description="Document id; `elt-llm show` accepts it.")
    source_title: str = Field(description="Title of the document.")
    source: str = Field(description="Path of the document within its root.")
    document_hash: str = Field(description="sha256 of the file's bytes, in hex.")
    excerpt: str = Field(description="The quoted text, unchanged.")
    span: tuple[int, int] = Field(description="Character offsets of the excerpt in the parsed text.")
    page: int | None = Field(description="Page on which the excerpt starts, from 1; null for files without pages.")
    section: str | None = Field(description="Headings above the excerpt, joined by ' > '.")
    relevance_score: float = Field(description="Score of its chunk in the final ranking, 0 to 1.")


class RetrievedChunk(ResultModel):
    """A chunk with its span in the text and its ranks and scores in each stage."""

    node_id: str
    collection: str
    source_id: str
    source_title: str
    source: str
    document_hash: str
    text: str = Field(description="The document's text[span[0]:span[1]].")
    context: str = Field(description="Headings or table header, for searching and reading the chunk; never cited.")
    span: tuple[int, int]
    page: int | None
    section: str | None
    score: float = Field(description="Score in the final ranking.")
    dense_rank: int | None = Field(None, description="Rank in the dense retriever, from 1.")
    cosine: float | None = Field(None, description="Cosine similarity to the question, -1 to 1.")
    keyword_rank: int | None = Field(None, description="Rank in the keyword retriever, from 1.")
    keyword_score: float | None = Field(None, description="BM25 score, 0 or more.")
    coverage: float | None = Field(None, description="Share of the question's words in the chunk, 0 to 1.")
    order: float | None = Field(None, description="Share of the question's neighbouring words in order, 0 to 1.")
    fused_score: float | None = Field(None, description="Score after fusion.")
    metadata: dict[str, Any] = Field(default_factory=dict)


class CheckedSentence(ResultModel):
    """One sentence of a written answer, checked against the chunks by code."""

    text: str = Field(description="The sentence, without its citation numbers.")
    verdict: Literal["supported", "partly", "unsupported", "no claim"]
    score: float = Field(ge=0.0, le=1.0, description="Probability that the chunks support it.")
    references: tuple[str, ...] = Field((), description="The citations that support it.")
    places: tuple[tuple[str, int, int], ...] = Field(
        (), description="Document id and character offsets of the supporting text."
    )
    reasons: tuple[str, ...] = Field((), description="What differs from the chunks, in sentences.")


class TraceStage(ResultModel):
    """One stage of the search: its name, duration, number of results and details."""

    name: str
    took_ms: float
    kept: int = 0
    details: dict[str, Any] = Field(default_factory=dict)


class Trace(ResultModel):
    """The trace of one question: all stages of its search and answer, in order."""

    stages: tuple[TraceStage, ...] = ()


class QueryResult(ResultModel):
    """An answer with the chunks, citations and checks behind it."""

    model_config = ConfigDict(validate_by_name=True)

    question: str
    answer: str
    answered: bool = Field(description="False if the answer states that the documents do not hold one.")
    outcome: AnswerOutcome = Field(
        "answered",
        description="`answered`; `uncertain`, if the answer may well be wrong; or `not found`.",
    )
    chunks: tuple[RetrievedChunk, ...] = Field(
        (),
        description="The chunks that the answer is based on.",
        validation_alias=AliasChoices("chunks", "contexts"),  # the former name, used in older stored conversations
    )
    citations: tuple[Citation, ...] = ()
    reasoning_steps: tuple[str, ...] = ()
    checked: tuple[CheckedSentence, ...] = Field(
        (), description="Each sentence of an answer written by a model, with its support."
    )
    parts: tuple[tuple[str, str], ...] = Field(
        (), description="If each collection was answered alone: pairs of a collection's name and its answer."
    )
    complete: bool = Field(True, description="False if the answer was stopped before its end.")
    confidence: float = Field(0.0, ge=0.0, le=1.0)
    tokens_used: int = Field(0, ge=0, description="Tokens used by a language model; 0 for extractive answers.")
    latency_ms: float = 0.0
    metadata: dict[str, Any] = Field(default_factory=dict, description="Profile, model and generations searched.")
    trace: Trace = Field(default_factory=Trace)
    notes: tuple[str, ...] = Field((), description="Everything that was degraded, cut or left out, in sentences.")

    @model_validator(mode="before")
    @classmethod
    def _derive_outcome(cls, data: Any) -> Any:
        """Add the outcome to results that were stored by program versions that had no outcomes."""
        if isinstance(data, dict) and "outcome" not in data and not data.get("answered", True):
            return {**data, "outcome": "not found"}
        return data

    @model_validator(mode="after")
    def _check_outcome(self) -> Self:
        if self.answered != (self.outcome != "not found"):
            raise ValueError(f"answered is {self.answered}, but the outcome is '{self.outcome}'")
        return self

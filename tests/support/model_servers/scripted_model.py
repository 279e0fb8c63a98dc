"""Numbered sources, a scripted model, and a checker that knows which sentences are false."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from elt_llm_core.results import RetrievedChunk
from elt_llm_query.synthesis.calls import ModelCalls, PromptSource
from elt_llm_query.synthesis.drafting import DraftCheck

QUESTION = "How long may a book be kept?"
LIES = ("for ten years", "by the king")


@dataclass
class CollectedText:
    """Collects the pieces that a model writes."""

    pieces: list[str] = field(default_factory=list)

    def __call__(self, piece: str) -> None:
        self.pieces.append(piece)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def chunk(text: str, score: float, collection: str = "library", title: str = "Library rules") -> RetrievedChunk:
    return RetrievedChunk(
        node_id=f"node {text[:20]}",
        collection=collection,
        source_id="rules",
        source_title=title,
        source="rules.md",
        document_hash="0" * 64,
        text=text,
        context="",
        span=(0, len(text)),
        page=3,
        section="Loans",
        score=score,
    )


def check(text: str, _: Sequence[PromptSource]) -> DraftCheck:
    """Return a problem for each sentence with a known false statement."""
    sentences = [one.strip() for one in text.split(".") if one.strip()]
    lies = [one for one in sentences if any(lie in one for lie in LIES)]
    share = 1.0 - len(lies) / len(sentences) if sentences else 0.0
    return DraftCheck(share, tuple((one, "no source says so") for one in lies))


CHUNKS = (
    chunk("A loan is renewed twice at most.", 0.4),
    chunk("Books may be borrowed for four weeks.", 0.9),
    chunk("The reading room opens at nine.", 0.2, collection="house", title="House rules"),
)
MakeCalls = Callable[..., ModelCalls]

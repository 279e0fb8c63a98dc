"""The contract of a model that judges passages, and where such models come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from elt_llm_core.settings import Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True)
class Judged:
    """One score for each passage, in order, on the model's own scale; None where it gave none. Greater is better."""

    scores: tuple[float | None, ...]
    notes: tuple[str, ...] = ()


Cancelled = Callable[[], bool]
"""Whether nobody waits any more."""


class PassageScorer(Protocol):
    """Reads a question with passages and says how well each answers it."""

    @property
    def name(self) -> str:
        """What the trace calls it."""

    @property
    def description(self) -> str:
        """Which model, for someone who looks whether all is well."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of any result should know."""

    def judge(self, question: str, passages: Sequence[str], cancelled: Cancelled | None = None) -> Judged:
        """As many scores as passages. Raises ModelError if the model cannot be asked.

        One that asks for long looks at `cancelled` meanwhile, and gives no more scores then.
        """


@dataclass(frozen=True)
class ModelSources:
    """What a reranker that needs a model may take it from."""

    llm: "LLM | None" = None
    models_dir: Path | None = None
    allow_remote: bool = False

    @classmethod
    def of(cls, settings: Settings, llm: "LLM | None" = None) -> Self:
        """As the settings say, with the language model that is in use."""
        return cls(llm, settings.storage.models_dir, settings.network.allow_remote_models)


NO_MODELS = ModelSources()

"""Who answers for a model: what messages about it name, and what they advise."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

ANSWER_TIMEOUT = 1800.0


@dataclass(frozen=True)
class ModelServer:
    """A model where it is asked: over a connection, or in this process."""

    name: str
    """What runs it, such as Ollama."""
    address: str
    model: str
    section: str
    """The section of the settings that holds its address, window and timeouts."""
    start: str
    """What to do when it does not answer."""
    fetch: str
    """What to do when it lacks the model."""
    answer_timeout: float = ANSWER_TIMEOUT
    """Seconds that writing one answer may take altogether."""
    context_window: int | None = None
    """Tokens it reads and writes together, where that is set."""

    @property
    def in_a_sentence(self) -> str:
        """Its name where it does not begin a sentence."""
        return f"the {rest}" if (rest := self.name.removeprefix("The ")) != self.name else self.name

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.name} at {self.address}"


@runtime_checkable
class HasServer(Protocol):
    """A language model that tells who answers for it."""

    @property
    def server(self) -> ModelServer:
        """Who answers."""

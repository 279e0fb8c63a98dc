"""Who answers for a model: what messages about it name, and what they advise."""

import json
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from urllib.parse import quote

ANSWER_TIMEOUT = 1800.0
_SHORTEST_KEY = 6  # shorter ones guard nothing, and stand in any word
MASKED = "***"


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
    key: str = field(default="", repr=False)
    """The secret that it is sent, where it wants one: no message may repeat it."""

    @property
    def in_a_sentence(self) -> str:
        """Its name where it does not begin a sentence."""
        return f"the {rest}" if (rest := self.name.removeprefix("The ")) != self.name else self.name

    def masked(self, said: str) -> str:
        """What the server says, with `***` where it repeats the key: as it is, or as JSON or an address writes it."""
        if len(self.key) < _SHORTEST_KEY:
            return said
        forms = {self.key, json.dumps(self.key)[1:-1], quote(self.key), quote(self.key, safe="")}
        for form in sorted(forms, key=len, reverse=True):
            said = said.replace(form, MASKED)
        return said

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.name} at {self.address}"


@runtime_checkable
class HasServer(Protocol):
    """A language model that tells who answers for it."""

    @property
    def server(self) -> ModelServer:
        """Who answers."""

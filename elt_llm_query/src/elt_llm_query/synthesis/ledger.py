"""The account of every call to a model: tokens planned, tokens the server counted, tokens written."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class LedgerEntry:
    """One call. `planned` is an upper estimate of its prompt, `fewest` the least that a tokeniser could make of it.

    `counted` is what the server says that it read and `written` what it wrote, None where it says nothing. A server
    that read less than `fewest` cut the prompt: `elt_llm_core.models.writing` raises PromptTooLong for that.
    """

    purpose: str
    planned: int
    fewest: int
    counted: int | None
    written: int | None
    finish: str

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return asdict(self)

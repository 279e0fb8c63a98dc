"""How a job fails that went to its end, and of which nothing succeeded."""

from collections.abc import Mapping
from typing import Any

from elt_llm_core.errors import EltError


class NothingDone(EltError):
    """Every part of a job failed. `result` tells of each, as that of a job that is done: it is kept."""

    def __init__(self, message: str, result: Mapping[str, Any], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.result = result

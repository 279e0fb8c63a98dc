"""What can be followed while a question is answered."""

from collections.abc import Callable
from dataclasses import dataclass

from elt_llm_core.results import RetrievedChunk


@dataclass(frozen=True)
class SourcesFound:
    """The passages that the answer is made from, in the order of the numbers they are cited by."""

    chunks: tuple[RetrievedChunk, ...]


@dataclass(frozen=True)
class AnswerBegins:
    """An answer is about to be written; `again`: what was written so far was not good enough and does not count."""

    again: bool = False


@dataclass(frozen=True)
class Piece:
    """The next words of the answer."""

    text: str


Event = SourcesFound | AnswerBegins | Piece
Listener = Callable[[Event], None]


def unheard(_event: Event) -> None:
    """For who waits for the whole answer."""

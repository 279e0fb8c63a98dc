"""One way to put a question: what is embedded of it, and what its words are looked for by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LegChoice:
    """The legs that are asked: vectors, keywords or both."""

    dense: bool
    keyword: bool


BOTH = LegChoice(dense=True, keyword=True)


@dataclass(frozen=True)
class Wording:
    """`text` is embedded as a question and its words are looked for.

    `passages` are embedded as passages; the vector asked for is then the mean of theirs and the question's. The words
    of `also` are looked for beside those of the text, and not embedded.
    """

    text: str
    passages: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def keywords(self) -> str:
        """What the keyword leg is asked."""
        return " ".join((self.text, *self.also))

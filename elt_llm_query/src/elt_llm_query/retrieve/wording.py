"""One way to put a question: what is embedded of it, and what its words are looked for by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LegChoice:
    """The legs that are asked: vectors, keywords or both."""

    dense: bool
    keyword: bool


BOTH = LegChoice(dense=True, keyword=True)


@dataclass(frozen=True)
class OtherNames:
    """A name that a question holds, and others that mean the same: a passage with one of them has the name."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Wording:
    """`text` is embedded as a question and its words are looked for.

    `passages` are embedded as passages; the vector asked for is then the mean of theirs and the question's. The words
    of `also` are looked for beside those of the text, and not embedded. `names` are looked for instead of those that
    the text has, and add no weight. `likeness`, 0 to 1, is how far the text is keywords rather than a question.
    """

    text: str
    passages: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: tuple[OtherNames, ...] = ()
    likeness: float = 0.0

    @property
    def keywords(self) -> str:
        """What the keyword leg is asked."""
        return " ".join((self.text, *self.also))

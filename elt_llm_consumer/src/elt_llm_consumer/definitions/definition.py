"""A definition as it stands in a document."""

from dataclasses import dataclass, field

from elt_llm_consumer.rows import Evidence


@dataclass(frozen=True)
class Definition:
    """What a document says that a term means.

    `text` is the definition on one line, without marks of emphasis and without what only names the page; the
    document's own words are document.text[definition_span[0] : definition_span[1]]. `evidence` covers the term and its
    definition.
    """

    term: str
    text: str
    pattern: str
    """How it was found: table, list, sentence, is, brackets, abbreviation, reference."""
    evidence: Evidence = field(repr=False)
    term_span: tuple[int, int]
    definition_span: tuple[int, int]
    abbreviation: str = ""
    """The short form of the term, if the same place gives it; of the pattern `abbreviation` the term itself."""
    refers_to: str = ""
    """Where the definition is, if this is only the way to it: such as `Rule A3`, or another term after "see"."""
    aliases: tuple[str, ...] = ()
    """Other names of the term that the same place gives."""


@dataclass(frozen=True)
class Draft:
    """A definition by its places alone; `score` 0 to 1 is how sure its pattern is."""

    term: tuple[int, int]
    body: tuple[int, int]
    pattern: str
    score: float
    abbreviation: str = ""
    refers_to: str = ""
    aliases: tuple[str, ...] = ()

"""A definition as it stands in a document."""

from dataclasses import dataclass, field

from elt_llm_consumer.rows import Evidence


@dataclass(frozen=True)
class Definition:
    """What a document says that a term means.

    `text` is the definition on one line, without marks of lists and emphasis; the document's own words are
    document.text[definition_span[0] : definition_span[1]]. `evidence` covers the term and its definition.
    """

    term: str
    text: str
    pattern: str
    """The pattern that found it, such as `table` or `means`."""
    evidence: Evidence = field(repr=False)
    term_span: tuple[int, int]
    definition_span: tuple[int, int]
    abbreviation: str = ""
    """The short form of the term, if the same place gives it."""
    refers_to: str = ""
    """Where the definition is, if this is only the way to it: such as `Rule A3`, or another term after "see"."""

"""Terms that the markup of a file names, gathered while its text is written: definition lists, emphasis, instances."""

from typing import Any

from elt_llm_core.marked_terms import ARTEFACT, MarkedTerms, Pair, Span

LONGEST_TERM = 100


class TermMarks:
    """Gathers spans of a text that grows."""

    def __init__(self) -> None:
        self._definitions: list[Pair] = []
        self._terms: list[Span] = []
        self._leading: list[Span] = []

    def define(self, term: Span, body: Span) -> None:
        """A term of a definition list, and what it means."""
        self._definitions.append((*term, *body))

    def name(self, start: int, end: int) -> None:
        """A term that is marked as the one its sentence defines; none if it is endless."""
        if 0 < end - start <= LONGEST_TERM:
            self._terms.append((start, end))

    def lead(self, start: int, end: int) -> None:
        """Emphasised words at the beginning of a paragraph; none if they are endless."""
        if 0 < end - start <= LONGEST_TERM:
            self._leading.append((start, end))

    def lead_after(self, span: Span, text: str, label: str, term: str) -> None:
        """The same of the block `text` at `span`, which is `label`, `term` and more; nothing where it is not."""
        term = " ".join(term.split())
        place = len(label) + 1 if label else 0
        if term and len(text) == span[1] - span[0] and text.startswith(term, place):
            self.lead(span[0] + place, span[0] + place + len(term))

    def artefacts(self) -> dict[str, Any]:
        """The artefact of a document; no entry if nothing is marked."""
        # Elements of a kind may lie within one another, around the same words.
        marked = MarkedTerms(
            tuple(sorted(set(self._definitions))), tuple(sorted(set(self._terms))), tuple(sorted(set(self._leading)))
        )
        return {ARTEFACT: marked.to_json()} if marked else {}


class DefinitionList:
    """One definition list: several terms may share what they mean, and that may have several parts."""

    def __init__(self, marks: TermMarks) -> None:
        self._marks = marks
        self._terms: list[Span] = []
        self._bodies: list[Span] = []

    def term(self, span: Span | None) -> None:
        """The next term, where it stands; None if it has no words."""
        if self._bodies:
            self.end()
        if span:
            self._terms.append(span)

    def body(self, span: Span | None) -> None:
        """What the terms before it mean, or more of that; None if it has no words."""
        if span:
            self._bodies.append(span)

    def styled(self, style: str, span: Span | None) -> None:
        """A paragraph by what its style makes of it: `term`, `body`, or anything else, which ends the list."""
        match style:
            case "term":
                self.term(span)
            case "body":
                self.body(span)
            case _:
                self.end()

    def end(self) -> None:
        """No more is said of the terms so far."""
        for term in self._terms:
            # Markup that is wrongly nested may put a term into its own body.
            if self._bodies and term[1] <= self._bodies[0][0]:
                self._marks.define(term, (self._bodies[0][0], self._bodies[-1][1]))
        self._terms, self._bodies = [], []

"""Note in cells that a sentence amends the paragraph that they quote: "In paragraph 6.4, ... are replaced by ..."."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.definitions.vocabulary import pattern, patterns
from elt_llm_consumer.evidence import Cell, Evidence, with_note
from elt_llm_consumer.sentences.statements import TextStatement

_CHANGES_WORDS: Final = patterns("amending_words_of_rules")
_CHANGES_WHOLE: Final = patterns("amending_rules")
_QUOTED: Final = pattern("amended_term")


@dataclass(frozen=True)
class _AmendedRule:
    """A sentence of a paragraph, and the sentence that amends it."""

    statement: TextStatement
    number: str
    amending: TextStatement

    @property
    def evidence(self) -> Evidence:
        return self.amending.document.evidence(self.amending.start, self.amending.end, 1.0)

    def __str__(self) -> str:
        return f"{self.evidence.place} changes {self.number}: “{one_line(self.amending.text)}”"


class AmendedRules:
    """The sentences that another sentence of their document amends by the number of their paragraph.

    If several paragraphs have the number, none counts. The program does not carry out the changes.
    """

    def __init__(self, statements: Sequence[TextStatement]) -> None:
        self._rules: dict[tuple[str, str], list[_AmendedRule]] = defaultdict(list)
        numbered: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for one in statements:
            if number := one.text[: one.offset].split(" ")[0].strip(".:()"):
                numbered[(*_key(one), number)].append(one.number)
        for one in statements:
            if change := _change(one):
                number, words = change
                places = numbered.get((*_key(one), number), ())
                if len(places) == 1:
                    amended = _paragraph(statements, places[0])
                    rules = (_AmendedRule(it, number, one) for it in amended if words in fold(it.content))
                    self._rules[_key(one)] += rules

    def checked(self, cell: Cell) -> Cell:
        """Return the cell, `inferred` at most and with a note for each quote of an amended sentence."""
        changes = [
            rule
            for quote in cell.evidence
            for rule in self._rules.get((quote.collection, quote.document_id), ())
            if quote.span[0] < rule.statement.end and rule.statement.start < quote.span[1]
        ]
        if not changes:
            return cell
        for note in dict.fromkeys(map(str, changes)):
            cell = with_note(cell, f"{note}.")
        evidence = tuple(dict.fromkeys((*cell.evidence, *(rule.evidence for rule in changes))))
        verdict = "inferred" if cell.verdict == "found" else cell.verdict
        return cell.model_copy(update={"verdict": verdict, "evidence": evidence})


def _key(statement: TextStatement) -> tuple[str, str]:
    return statement.document.collection, statement.document.document_id


def _change(statement: TextStatement) -> tuple[str, str] | None:
    """Return the number of the paragraph that a statement amends, and the words that it changes; "" for all words."""
    text, start = statement.text, statement.offset
    for one in _CHANGES_WORDS:
        if (found := one.match(text, start)) and (quoted := _QUOTED.search(found["words"])):
            return found["number"], fold(quoted["quoted"].strip())
    whole = next(filter(None, (one.match(text, start) for one in _CHANGES_WHOLE)), None)
    return (whole["number"], "") if whole else None


def _paragraph(statements: Sequence[TextStatement], first: int) -> Iterator[TextStatement]:
    yield statements[first]
    for one in statements[first + 1 :]:
        if not one.same_paragraph:
            return
        yield one

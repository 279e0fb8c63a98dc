"""How much the texts say of an entity, and the class that follows from it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_consumer.mention_index import Statement
from elt_llm_consumer.sections.coverage import Thresholds

Class = Literal["STRONG", "MODERATE", "THIN", "ABSENT"]
CLASSES: tuple[Class, ...] = ("STRONG", "MODERATE", "THIN", "ABSENT")

# "A1.3", "12.", "(b)", "§ 4": numbered paragraphs of a book of rules are rules, whatever their verbs.
_NUMBERED = re.compile(r"\s{0,4}(?:§\s?)?(?:[A-Z]{1,3}[-.]?)?\d{1,3}(?:\.\d{1,3}){1,4}[.)]?\s")


@dataclass(frozen=True)
class Measure:
    """What was counted. `rules` and `statements` weigh uncertain ones by half; `sections` are those that state it."""

    defined: bool
    statements: float
    rules: float
    sections: int
    headings: int

    @property
    def reason(self) -> str:
        """The counts in words."""
        parts = [
            "defined" if self.defined else "not defined",
            f"{_counted(self.rules, 'rule')} and {_counted(self.statements, 'statement')}"
            f" in {_counted(self.sections, 'section')}",
        ]
        if self.headings:
            parts.append(_counted(self.headings, "heading"))
        return ", ".join(parts).capitalize() + "."


def _counted(number: float, one: str) -> str:
    return f"{number:g} {one}{'' if number == 1 else 's'}"


class RuleWords:
    """Tells rules from other statements."""

    def __init__(self, rule_words: Sequence[str], openings: Sequence[str] = ()) -> None:
        self._within = _any_of(rule_words)
        self._first = _any_of(openings)

    def is_rule(self, text: str) -> bool:
        """Whether a statement demands, allows or forbids something, or is a numbered paragraph."""
        if _NUMBERED.match(text) or (self._first and self._first.match(text.lstrip())):
            return True
        return self._within is not None and any(map(_is_meant, self._within.finditer(text)))


def _any_of(words: Sequence[str]) -> "re.Pattern[str] | None":
    longest_first = sorted({word.casefold() for word in words if word.strip()}, key=len, reverse=True)
    if not longest_first:
        return None
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\b", re.IGNORECASE)


def _is_meant(match: "re.Match[str]") -> bool:
    """A word with a capital within a statement is a name or a month: "in May"."""
    return match.group()[0].islower() or not match.string[: match.start()].strip()


def measure(statements: Sequence[Statement], headings: int, rules: RuleWords, *, defined: bool) -> Measure:
    """The counts over the statements that speak of one entity."""
    return Measure(
        defined=defined,
        statements=sum(it.weight for it in statements),
        rules=sum(it.weight for it in statements if rules.is_rule(it.piece.text)),
        sections=len({(it.document.collection, it.document.document_id, it.section) for it in statements}),
        headings=headings,
    )


def class_of(measured: Measure, bounds: Thresholds) -> Class:
    """The class; ABSENT only if no text has the name or another name of it, not even in a heading."""
    if measured.statements == 0 and measured.headings == 0 and not measured.defined:
        return "ABSENT"
    enough = bounds.strong_sections_if_defined if measured.defined else bounds.strong_sections
    if measured.rules >= bounds.strong_rules and measured.sections >= enough:
        return "STRONG"
    if measured.defined or measured.rules >= bounds.moderate_rules:
        return "MODERATE"
    return "THIN"

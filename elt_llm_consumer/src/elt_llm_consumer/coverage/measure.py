"""Count the statements and rules about an entity, and classify its coverage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_consumer.jobs.sections import CoverageThresholds
from elt_llm_consumer.names.mention_index import MentionStatement

CoverageClass = Literal["STRONG", "MODERATE", "THIN", "ABSENT"]
COVERAGE_CLASSES: tuple[CoverageClass, ...] = ("STRONG", "MODERATE", "THIN", "ABSENT")

# Numbered paragraphs of a rule book ("A1.3", "12.", "§ 4") are rules, whatever their verb.
_NUMBERED = re.compile(r"\s{0,4}(?:§\s?)?(?:[A-Z]{1,3}[-.]?)?\d{1,3}(?:\.\d{1,3}){1,4}[.)]?\s")


@dataclass(frozen=True)
class CoverageMeasure:
    """Counts for one entity. An uncertain statement or rule counts as one half."""

    defined: bool
    statements: float
    rules: float
    sections: int
    headings: int

    @property
    def reason(self) -> str:
        """Return the numbers of statements and rules in words."""
        parts = [
            "defined" if self.defined else "not defined",
            f"{_count_text(self.rules, 'rule')} and {_count_text(self.statements, 'statement')}"
            f" in {_count_text(self.sections, 'section')}",
        ]
        if self.headings:
            parts.append(_count_text(self.headings, "heading"))
        return ", ".join(parts).capitalize() + "."


def _count_text(number: float, one: str) -> str:
    return f"{number:g} {one}{'' if number == 1 else 's'}"


class RuleWords:
    """Recognise the statements that are rules, by words such as "must"."""

    def __init__(self, rule_words: Sequence[str], openings: Sequence[str] = ()) -> None:
        self._within = _any_word_pattern(rule_words)
        self._first = _any_word_pattern(openings)

    def is_rule(self, text: str) -> bool:
        """Whether a statement demands, allows or forbids something, or is a numbered paragraph."""
        if _NUMBERED.match(text) or (self._first and self._first.match(text.lstrip())):
            return True
        return self._within is not None and any(map(_is_rule_word, self._within.finditer(text)))


def _any_word_pattern(words: Sequence[str]) -> "re.Pattern[str] | None":
    longest_first = sorted({word.casefold() for word in words if word.strip()}, key=len, reverse=True)
    if not longest_first:
        return None
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\b", re.IGNORECASE)


def _is_rule_word(match: "re.Match[str]") -> bool:
    """Whether a word is a rule word. A capitalised word within a statement is a name or a month: "in May"."""
    return match.group()[0].islower() or not match.string[: match.start()].strip()


def measure_statements(
    statements: Sequence[MentionStatement], headings: int, rules: RuleWords, *, defined: bool
) -> CoverageMeasure:
    """Count the statements about one entity."""
    return CoverageMeasure(
        defined=defined,
        statements=sum(it.weight for it in statements),
        rules=sum(it.weight for it in statements if rules.is_rule(it.piece.text)),
        sections=len({(it.document.collection, it.document.document_id, it.section) for it in statements}),
        headings=headings,
    )


def coverage_class(measured: CoverageMeasure, bounds: CoverageThresholds) -> CoverageClass:
    """Return the coverage class; ABSENT only if no text or heading has the name or an alias."""
    if measured.statements == 0 and measured.headings == 0 and not measured.defined:
        return "ABSENT"
    enough = bounds.strong_sections_if_defined if measured.defined else bounds.strong_sections
    if measured.rules >= bounds.strong_rules and measured.sections >= enough:
        return "STRONG"
    if measured.defined or measured.rules >= bounds.moderate_rules:
        return "MODERATE"
    return "THIN"

"""What the texts say that an entity means, as far as they define it."""

from collections.abc import Sequence

from rapidfuzz import fuzz

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.joining.join import Join
from elt_llm_consumer.rows import Cell, absent, found

_VARIANT = 85
"""Percent of shared words from which two definitions are two wordings of one."""


def definition_field(definitions: Sequence[Definition], join: Join | None) -> Cell:
    """The definition of the term that an entity was joined to; of several that differ a conflict.

    Those that only spell out an abbreviation or point elsewhere define nothing.
    """
    told = [one for one in definitions if not one.refers_to and one.pattern != "abbreviation" and " " in one.text]
    if not told:
        return absent("The texts do not define it.")
    different = _different(told)
    note = join.reason if join is not None and join.by in {"alias", "fuzzy"} else ""
    if len(different) > 1:
        return Cell(
            value=tuple(one.text for one in different),
            verdict="conflict",
            evidence=tuple(one.evidence.model_copy(update={"about": one.text}) for one in different),
            confidence=min(one.evidence.score for one in different),
            note=" ".join(filter(None, ["The texts define it differently.", note])),
        )
    score = join.score if join is not None else 1.0
    sure = round(min(score, max(one.evidence.score for one in told)), 4)
    return found(different[0].text, [one.evidence for one in told], confidence=sure, note=note)


def _different(definitions: Sequence[Definition]) -> list[Definition]:
    kept: list[Definition] = []
    for one in definitions:
        if all(fuzz.token_set_ratio(one.text.casefold(), other.text.casefold()) < _VARIANT for other in kept):
            kept.append(one)
    return kept

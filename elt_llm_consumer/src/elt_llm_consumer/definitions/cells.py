"""Make the cell with the definition of a term from all its definitions."""

from collections.abc import Mapping, Sequence

from elt_llm_core.text.normalise import words

from elt_llm_consumer.definitions.comparison import DefinitionComparer, DefinitionText, describe_difference
from elt_llm_consumer.definitions.definition import Definition, grouped
from elt_llm_consumer.definitions.find import Amendment
from elt_llm_consumer.evidence import Cell, found_cell, with_note

_MAX_COMPARED = 20  # maximum different definitions of a term that are compared
_MAX_QUOTED = 5  # maximum other wordings that a note quotes


def definition_cell(definitions: Sequence[Definition], agreements: DefinitionComparer) -> Cell:
    """Return the cell with the best definition of a term; with all definitions and verdict `conflict` if they disagree.

    There is at least one definition, and each gives a meaning. Raises ModelError if embedding fails.
    """
    # Definitions that differ only in case and punctuation are merged under the text of the first.
    ordered = sorted(definitions, key=lambda one: one.order)
    same_words = grouped(ordered, lambda one: tuple(words(one.text))).values()
    texts = {found[0].text: found for found in same_words}
    values = list(texts)
    compared = {text: texts[text] for text in values[:_MAX_COMPARED]}
    differing = [other for other in compared if other != values[0] and not agreements.agree(values[0], other)]
    if not differing:
        best = best_definition([one for ones in compared.values() for one in ones])
        places = (one.evidence for ones in texts.values() for one in ones)
        return found_cell(best.text, places, note=_other_wordings(compared, best) + _not_compared(texts))
    return Cell(
        value=tuple(values),
        verdict="conflict",
        evidence=tuple(one.evidence.supporting(value) for value, ones in texts.items() for one in ones),
        confidence=max(one.evidence.score for one in definitions),
        note=f"The definitions differ. {_note(texts, values[0], differing)}{_not_compared(texts)}",
    )


def checked_cell(cell: Cell, definitions: Sequence[Definition], amendments: Sequence[Amendment]) -> Cell:
    """Return the cell of definitions with notes: where a meaning may start elsewhere, and which sentences change it.

    A changed definition is `inferred` at most, with the changing sentences as evidence: the change is not carried out.
    """
    for one in definitions:
        if one.unsure:
            cell = with_note(cell, f"In {one.evidence.place}, the meaning may start elsewhere in the sentence.")
    for amendment in amendments:
        cell = with_note(cell, f"{amendment}.")
    verdict = "inferred" if amendments and cell.verdict == "found" else cell.verdict
    evidence = (*cell.evidence, *(one.evidence for one in amendments))
    return cell.model_copy(update={"verdict": verdict, "evidence": evidence})


def best_definition(definitions: Sequence[Definition]) -> Definition:
    """Return the definition with the highest score; of several, the first."""
    return max(definitions, key=lambda one: one.evidence.score)


def _other_wordings(texts: Mapping[str, Sequence[Definition]], shown: Definition) -> str:
    """Return a note with the other wordings of the definition shown, and their places."""
    others = [f'"{text}" ({ones[0].evidence.place})' for text, ones in texts.items() if shown not in ones]
    more = [f"{len(others) - _MAX_QUOTED} more"] if len(others) > _MAX_QUOTED else []
    return f"Also worded: {'; '.join((*others[:_MAX_QUOTED], *more))}." if others else ""


def _not_compared(texts: Mapping[str, Sequence[Definition]]) -> str:
    """Return the end of a note: the number of texts that were not compared, and may mean something else."""
    return f" {len(texts) - _MAX_COMPARED} more were not compared." if len(texts) > _MAX_COMPARED else ""


def _note(texts: Mapping[str, Sequence[Definition]], first: str, differing: Sequence[str]) -> str:
    """Describe how each text differs from the first text, in one sentence per text."""
    compared = {
        text: DefinitionText(text, tuple(one.evidence.place for one in texts[text])) for text in (first, *differing)
    }
    return " ".join(dict.fromkeys(describe_difference(compared[first], compared[other]) for other in differing))

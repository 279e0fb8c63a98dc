"""The cells of a candidate's row."""

from collections.abc import Mapping, Sequence

from elt_llm_consumer.handbook.candidates import Candidate, Why
from elt_llm_consumer.handbook.drawn import Drawn
from elt_llm_consumer.mention_index import Statement
from elt_llm_consumer.rows import Cell, Evidence, absent, found

COLUMNS = (
    "kind",
    "definition",
    "other_names",
    "mentions",
    "sections",
    "terms_of_reference",
    "in_model",
    "description",
)
_ACTORS = frozenset({"role", "organisation"})
_WHY: Mapping[Why, str] = {
    "defined": "Defined.",
    "named": "Written with a capital.",
    "acting": "Acts, or is acted on, in rules.",
    "used": "Often spoken of.",
}


def cells_of(drawn: Drawn, candidate: Candidate) -> dict[str, Cell]:
    """What the texts say of a candidate; `in_model` only where the job has a model, `description` never."""
    statements = drawn.statements(candidate)
    kind = drawn.kinds[candidate.key]
    cells = {
        "kind": kind,
        "definition": _definition(candidate),
        "other_names": _other_names(candidate, statements),
        "mentions": _mentions(candidate, statements, drawn.section.evidence),
        "sections": _sections(statements, drawn.section.evidence),
        "terms_of_reference": _terms_of_reference(drawn, candidate, kind),
    }
    if drawn.context.model is not None:
        cells["in_model"] = _in_model(drawn, candidate)
    return cells


def _definition(candidate: Candidate) -> Cell:
    told = [one for one in candidate.definitions if not one.refers_to and one.pattern != "abbreviation"]
    if not told:
        return absent("The texts do not define it.")
    texts = tuple(dict.fromkeys(one.text for one in told))
    places = [one.evidence.model_copy(update={"about": one.text if len(texts) > 1 else ""}) for one in told]
    return found(texts if len(texts) > 1 else texts[0], places, method="extractive")


def _other_names(candidate: Candidate, statements: Sequence[Statement]) -> Cell:
    others = candidate.names[1:]
    if not others:
        return absent("No other name of it is known.")
    defined = [one.evidence for one in candidate.definitions if one.abbreviation or one.aliases]
    met = [one for one in statements if any(mention.form in others for mention in one.mentions)]
    places = defined or [one.evidence(one.weight) for one in met[:1]]
    if places:
        return found(others, places)
    return Cell(value=others, verdict="inferred", confidence=0.9, note="From the list of other names.")


def _mentions(candidate: Candidate, statements: Sequence[Statement], most: int) -> Cell:
    note = _WHY[candidate.why] + f" Acts {candidate.acting} times and is acted on {candidate.acted_on} times."
    if not statements:
        return Cell(value=0, verdict="inferred", confidence=1.0, note=note)
    surest = sorted(statements, key=lambda one: not one.certain)[:most]
    return found(len(statements), [one.evidence(one.weight) for one in surest], confidence=1.0, note=note)


def _sections(statements: Sequence[Statement], most: int) -> Cell:
    """The sections that name it, in order, with the first place in each."""
    by_section: dict[str, Evidence] = {}
    for one in statements:
        if one.section:
            by_section.setdefault(one.section, one.evidence(one.weight, one.section))
    if not by_section:
        return absent("No section names it.")
    first = list(by_section)[:most]
    note = f"The first {most} of {len(by_section)}." if len(by_section) > most else ""
    return found(tuple(first), [by_section[name] for name in first], confidence=1.0, note=note)


def _terms_of_reference(drawn: Drawn, candidate: Candidate, kind: Cell) -> Cell:
    if kind.value not in _ACTORS:
        return absent("Only roles and organisations have duties and powers.")
    duties = drawn.duties.get(candidate.key, ())
    if not duties:
        return absent("No rule says what it has to do.")
    shown = duties[: drawn.section.most_statements]
    note = f"The first {len(shown)} of {len(duties)}." if len(shown) < len(duties) else ""
    places = [one.evidence.model_copy(update={"about": one.text}) for one in shown]
    return found(tuple(one.text for one in shown), places, method="extractive", note=note)


def _in_model(drawn: Drawn, candidate: Candidate) -> Cell:
    joined, model = drawn.entity_of(candidate), drawn.context.model
    if joined is None or model is None:
        return absent("No entity of the model has this name or another name of it.")
    entity = next(one for one in model.model.entities if one.id == joined.right)
    told = model.of_entity(entity)
    if joined.by == "fuzzy" or not told:
        return Cell(
            value=entity.name, verdict="inferred", evidence=told, confidence=round(joined.score, 4), note=joined.reason
        )
    return found(entity.name, told, confidence=1.0, note=joined.reason)

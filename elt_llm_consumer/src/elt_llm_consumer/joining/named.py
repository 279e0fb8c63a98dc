"""Entities, fact sheets and defined terms as things to be joined, and all their other names together."""

from collections.abc import Iterable, Mapping, Sequence

from elt_llm_core.enterprise_model import Entity, FactSheet
from elt_llm_core.text.normalise import words
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.joining.join import Named

_BETWEEN = ";"
_INITIALS = (2, 8)


def named_entities(entities: Iterable[Entity]) -> list[Named]:
    """Entities of a model by their ids."""
    return [Named(one.id, one.name, tuple(filter(None, (one.fact_sheet_id,))), (), one.type) for one in entities]


def named_fact_sheets(sheets: Iterable[FactSheet], alias_columns: Sequence[str]) -> list[Named]:
    """Fact sheets of an inventory by their ids; `alias_columns` are the labels of columns with other names."""
    return [
        Named(one.id, one.name, tuple(filter(None, (one.fact_sheet_id,))), _others(one, alias_columns), one.type)
        for one in sheets
    ]


def named_terms(definitions: Iterable[Definition]) -> list[Named]:
    """Defined terms, each once, by their folded names; a short form in a list of them is its long form's."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for definition in definitions:
        term, *others = names_of(definition)
        key = term_key(term)
        name, known = found.get(key, (term, ()))
        found[key] = name, tuple(dict.fromkeys([*known, *others]))
    return [Named(key, name, (), others) for key, (name, others) in found.items() if key]


def term_key(term: str) -> str:
    """What a term is called by in a join: its folded words."""
    return " ".join(words(term))


def names_of(definition: Definition) -> tuple[str, ...]:
    """The term, its abbreviation and its other names; of "AGM: Annual General Meeting" the long form comes first."""
    initials = "".join(word[0] for word in words(definition.text))
    short, folded = definition.term, "".join(words(definition.term))
    likely = short.isupper() and _INITIALS[0] <= len(short) <= _INITIALS[1] and folded in _likely(initials)
    spelt_out = likely or definition.pattern == "abbreviation"
    names = (definition.text.rstrip(" ."), short) if spelt_out else (short, definition.abbreviation)
    return tuple(name for name in dict.fromkeys((*names, *definition.aliases)) if words(name))


def other_names(
    aliases: Aliases, sheets: Iterable[FactSheet], alias_columns: Sequence[str], definitions: Iterable[Definition]
) -> Aliases:
    """The aliases that are configured, those in columns of the inventory, and the abbreviations in the texts."""
    groups: dict[tuple[str, ...], None] = dict.fromkeys(aliases.groups)
    for sheet in sheets:
        if others := _others(sheet, alias_columns):
            groups[sheet.name, *others] = None
    for definition in definitions:
        if len(names := names_of(definition)) > 1:
            groups[names] = None
    return Aliases(tuple(groups))


def _others(sheet: FactSheet, columns: Sequence[str]) -> tuple[str, ...]:
    fields: Mapping[str, str] = {label.casefold(): value for label, value in sheet.fields.items()}
    given = [name.strip() for column in columns for name in fields.get(column.casefold(), "").split(_BETWEEN)]
    return tuple(name for name in dict.fromkeys(given) if words(name))


def _likely(initials: str) -> set[str]:
    """Initials with and without those of small words cannot be told apart: "FPD" leaves out an "and"."""
    return {initials, *(initials[:place] + initials[place + 1 :] for place in range(1, len(initials)))}

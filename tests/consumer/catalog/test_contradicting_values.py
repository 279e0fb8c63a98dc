"""Statements that give an entity two owners or two classes are a conflict, or a note if both can be true."""

import pytest
from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.text_fields import TextField
from elt_llm_consumer.evidence import Cell
from elt_llm_consumer.jobs.sections import CatalogSection
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_query.understanding.aliases import NO_ALIASES
from row_jobs.contexts import corpus_of

_OWNED = "The Head of Stores is the Data Owner of the Pump."
_CLASSIFIED = "The Pump is classified as Restricted."
_ROW = "| Set | Owner | Class |\n|---|---|---|\n| Pump | Ms O'Hara | Internal |\n"


def _cell(field: str, *texts: str, at_most: int = 1) -> Cell:
    corpus = corpus_of({f"{number}.md": text for number, text in enumerate(texts)})
    section = CatalogSection()
    settings = section.all_fields()[field].model_copy(update={"at_most": at_most})
    statements = StatementIndex(read_statements(corpus), Names(["Pump", "Valve"], NO_ALIASES))
    cell = TextField(settings, section, statements, None, frozenset()).facts("Pump").cell
    assert all(corpus.holds(place) for place in cell.evidence)
    return cell


@pytest.mark.parametrize("at_most", [1, 4])
@pytest.mark.parametrize(
    ("field", "one", "other", "value"),
    [
        ("data_owner", _OWNED, "Ms Fox is the Data Owner of the Pump.", ("Head of Stores", "Ms Fox")),
        ("data_owner", _ROW, _OWNED, ("Ms O'Hara", "Head of Stores")),
        ("data_classification", _ROW, _CLASSIFIED, ("Internal", _CLASSIFIED)),
        (
            "data_classification",
            _CLASSIFIED,
            "The Pump must be classified as public.",
            (_CLASSIFIED, "The Pump must be classified as public."),
        ),
    ],
)
def test_two_values_of_which_only_one_can_be_true_are_a_conflict_with_both(
    field: str, one: str, other: str, value: tuple[str, ...], at_most: int
) -> None:
    cell = _cell(field, one, other, at_most=at_most)
    assert (cell.verdict, cell.value) == ("conflict", value)
    assert cell.note == "The texts give different values."
    assert [place.source for place in cell.evidence] == ["0.md", "1.md"]


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("data_owner", _OWNED, "Ms Fox is the Data Owner of the Pump in Wales."),
        ("data_owner", _OWNED, "In Wales, the Clerk is the Data Owner of the Pump."),
        ("data_owner", _OWNED, "Ms Fox is responsible for the Pump."),
        ("data_owner", _OWNED, "From 1 July 2026 Ms Fox is the Data Owner of the Pump."),
        ("data_classification", _CLASSIFIED, "Photographs of the Pump are classified as Public."),
        ("data_classification", _CLASSIFIED, "The Pump is classified as Public after it is sold."),
    ],
)
def test_a_value_for_a_part_or_under_a_condition_is_noted_with_its_sentence_and_place(
    field: str, one: str, other: str
) -> None:
    cell = _cell(field, one, other)
    assert cell.verdict == "found"
    assert cell.note == f'Also stated: "{other}" (1.md).'


def test_an_owner_until_a_date_is_shown_with_the_date_if_another_owner_follows() -> None:
    until = "Ms Fox is the Data Owner of the Pump until 30 June 2026."
    after = "From 1 July 2026 the Clerk is the Data Owner of the Pump."
    cell = _cell("data_owner", until, after)
    assert (cell.verdict, cell.value) == ("found", "Ms Fox")
    assert cell.note == f'Also stated: "{until}" (0.md); "{after}" (1.md).'


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("data_owner", _OWNED, "The Head of Stores is the Data Owner of the Pump and the Valve."),
        ("data_owner", _OWNED, "Ms Fox is the Data Owner of the Valve."),
        ("data_classification", _CLASSIFIED, 'The Pump must always be classified as "Restricted".'),
        ("data_classification", _CLASSIFIED, "Restricted information about the Pump must be encrypted."),
        ("data_classification", _ROW, "The Pump is classified as Internal."),
    ],
)
def test_statements_of_the_same_value_or_about_another_entity_are_neither_a_conflict_nor_noted(
    field: str, one: str, other: str
) -> None:
    cell = _cell(field, one, other)
    assert (cell.verdict, cell.note) == ("found", "")

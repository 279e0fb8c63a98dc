"""Statements that give an entity two owners or two classes are a conflict, or a note if both can be true."""

import pytest
from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.text_fields import TextField
from elt_llm_consumer.evidence import Cell
from elt_llm_consumer.jobs.sections import CatalogSection
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_query.understanding.aliases import aliases_from
from row_jobs.contexts import corpus_of

_OWNED = "The Head of Stores is the Data Owner of the Pump."
_CLASSIFIED = "The Pump is classified as Restricted."
_ALIASES = aliases_from({"Chief Financial Officer": ["CFO"]})
_INTERNAL = "The Pump is classified as Internal."
_PUBLIC = "The Pump is classified as Public."
_GERMAN = "Die Pump wird als Intern eingestuft."
_GERMAN_DEMAND = "Die Pump muss immer als „streng vertraulich“ klassifiziert werden."
_BOTH = "The Clerk and the Treasurer are the Data Owners of the Pump."
_ROW = "| Set | Owner | Class |\n|---|---|---|\n| Pump | Ms O'Hara | Internal |\n"


def _cell(field: str, *texts: str, at_most: int = 1) -> Cell:
    corpus = corpus_of({f"{number}.md": text for number, text in enumerate(texts)})
    section = CatalogSection()
    shipped = section.all_fields()[field]
    settings = shipped.model_copy(update={"at_most": at_most})
    statements = StatementIndex(read_statements(corpus), Names(["Pump", "Valve"], _ALIASES))
    facts = TextField(settings, section, statements, None, frozenset()).facts("Pump")
    cell = facts.cell
    assert facts.also == "".join(cell.note.partition("Also stated: ")[1:])
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
        (
            "data_classification",
            "The Pump is classified as A.",
            "The Pump is classified as B.",
            ("The Pump is classified as A.", "The Pump is classified as B."),
        ),
        ("data_classification", _GERMAN, _PUBLIC, (_GERMAN, _PUBLIC)),
        ("data_classification", _GERMAN, _GERMAN_DEMAND, (_GERMAN, _GERMAN_DEMAND)),
        ("data_owner", _BOTH, _OWNED, ("Clerk and the Treasurer", "Head of Stores")),
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
        ("data_classification", _CLASSIFIED, "The Pump in Wales is classified as Public."),
        ("data_classification", _CLASSIFIED, "The Pump is classified as such."),
        ("data_classification", _CLASSIFIED, "Die Pump ist in Wales als Vertraulich eingestuft."),
        ("data_classification", _CLASSIFIED, "Die Pump wird als Intern oder Vertraulich eingestuft."),
        ("data_classification", _CLASSIFIED, "Die Pump ist als Intern eingestuft, sobald sie verkauft ist."),
        ("data_owner", _OWNED, "In Wales, the Clerk and the Treasurer are the Data Owners of the Pump."),
        ("data_owner", _OWNED, "Either the Treasurer or the Clerk is the Data Owner of the Pump."),
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
        ("data_classification", _ROW, _INTERNAL),
        ("data_classification", _INTERNAL, _GERMAN),
        ("data_owner", _BOTH, "The Treasurer and the Clerk are the Data Owners of the Pump."),
        (
            "data_owner",
            "The CFO is the Data Owner of the Pump.",
            "The Chief Financial Officer is the Data Owner of the Pump.",
        ),
    ],
)
def test_statements_of_the_same_value_or_about_another_entity_are_neither_a_conflict_nor_noted(
    field: str, one: str, other: str
) -> None:
    cell = _cell(field, one, other)
    assert (cell.verdict, cell.note) == ("found", "")


def test_a_longer_form_of_a_name_does_not_hide_that_another_name_differs_from_both() -> None:
    names = ("Clerk", "Town Clerk", "Ms Fox")
    cell = _cell("data_owner", *(f"{name} is the Data Owner of the Pump." for name in names))
    assert (cell.verdict, cell.value) == ("conflict", names)
    assert _cell("data_owner", *(f"{name} is the Data Owner of the Pump." for name in names[:2])).verdict == "found"


@pytest.mark.parametrize(
    "verb",
    [
        "is not",
        "isn't",
        "is no longer",
        "is never",
        "must not be",
        "may be",
        "could be",
        "may in some cases be",
        "was",
        "had been",
        "was previously",
    ],
)
def test_a_class_that_is_negated_past_or_only_possible_is_neither_a_conflict_nor_noted(verb: str) -> None:
    other = f"The Pump {verb} classified as Restricted."
    for texts in ((_INTERNAL, other), (other, _INTERNAL)):
        cell = _cell("data_classification", *texts)
        assert (cell.verdict, cell.value, cell.note) == ("found", _INTERNAL, "")


@pytest.mark.parametrize(
    "other",
    [
        *(f"Die Pump {verb} eingestuft als Vertraulich." for verb in ("ist nicht", "war", "wurde früher", "kann")),
        *(f"Die Pump {verb} als Vertraulich eingestuft." for verb in ("wird nicht", "war", "wurde früher")),
        *(f"Die Pump {verb} als Vertraulich eingestuft werden." for verb in ("kann", "darf", "muss nicht")),
        "Die Pump wird als nicht vertraulich eingestuft.",
        "Früher war die Pump als Vertraulich eingestuft.",
        "Die Pump, die als Vertraulich eingestuft werden kann, ist rot.",
        "Es ist bekannt, dass die Pump als Vertraulich klassifiziert war.",
    ],
)
def test_a_german_class_that_is_negated_past_or_only_possible_is_not_noted(other: str) -> None:
    for texts in ((_GERMAN, other), (other, _GERMAN)):
        cell = _cell("data_classification", *texts)
        assert (cell.verdict, cell.value, cell.note) == ("found", _GERMAN, "")


@pytest.mark.parametrize("verb", ["is", "has been", "must always be", "was bought in 2020 and is"])
def test_a_class_that_holds_now_is_compared(verb: str) -> None:
    cell = _cell("data_classification", _INTERNAL, f"The Pump {verb} classified as Restricted.")
    assert cell.verdict == "conflict" or cell.note.startswith("Also stated: ")


@pytest.mark.parametrize("text", ["n/a", "to be decided", "TBC", "see section 4", "-"])
def test_a_cell_that_gives_no_value_is_used_only_if_nothing_else_gives_one(text: str) -> None:
    table = f"| Set | Class |\n|---|---|\n| Pump | {text} |\n"
    assert _cell("data_classification", table, _INTERNAL).value == _INTERNAL
    cell = _cell("data_classification", table, _ROW)
    assert (cell.verdict, cell.value) == ("found", "Internal")
    if text != "-":
        assert _cell("data_classification", table).value == text

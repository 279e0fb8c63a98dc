"""A field is filled only from sentences and rows that are about the entity."""

import pytest
from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.text_fields import TextField
from elt_llm_consumer.evidence import Cell
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.jobs.sections import CatalogField, CatalogSection
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_query.understanding.aliases import aliases_from
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.contexts import corpus_of

_HANDBOOK = """# Part A: Books

A1.1 A Loan lasts four weeks and may be renewed twice. The Registrar grants every Loan in writing.

A1.2 The Case File is opened by the Clerk. The file must be closed within ten days.

A1.3 Readers who hold a Loan Card may appeal to the board. It concerns nobody else.

## A2 Transfers

The old branch may object within four days.

## A3 The register

| Information set | Owner | Class | Kept for |
|---|---|---|---|
| Loan Record | Librarian | Confidential | 3 years |
| Case File | Clerk | Restricted | 7 years |

| Office | Looks after |
|---|---|
| Treasurer | Fines, fees and transfers |

| Class | What it covers |
|---|---|
| Public | Opening hours, fines |
"""
_NAMES = ["Loan", "Case File", "Transfer", "Fine", "Appeal", "Concern", "Vetting Certificate"]


def _fields(corpus: Corpus, field: CatalogField) -> TextField:
    section = CatalogSection()
    records = {name: [f"{name} {word}" for word in section.record_words] for name in _NAMES}
    subjects = StatementIndex(read_statements(corpus), Names(_NAMES, aliases_from(records)))
    return TextField(field, section, subjects, None, frozenset())


def _cell(name: str, field: str, text: str = _HANDBOOK, *, deeper: bool = False) -> Cell:
    corpus = corpus_of({"handbook.md": text})
    cell = _fields(corpus, CatalogSection().all_fields()[field]).facts(name, deeper=deeper).cell
    assert all(corpus.holds(place) for place in cell.evidence)
    return cell


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("Loan", "data_classification", "Confidential"),
        ("Loan", "data_owner", "Librarian"),
        ("Case File", "data_classification", "Restricted"),
        ("Case File", "data_owner", "Clerk"),
        ("Fine", "data_classification", "Public"),
    ],
)
def test_a_table_gives_field_values_by_its_column_headers(name: str, field: str, value: str) -> None:
    cell = _cell(name, field)
    assert (cell.value, cell.verdict, cell.method) == (value, "found", "rule")
    assert all(value in place.quote for place in cell.evidence)


@pytest.mark.parametrize(
    ("name", "field", "sentence"),
    [
        ("Loan", "governance_rules", "The Registrar grants every Loan in writing."),
        ("Loan", "lifecycle_states", "A Loan lasts four weeks and may be renewed twice."),
        ("Case File", "business_rules", "The file must be closed within ten days."),
        ("Transfer", "business_rules", "The old branch may object within four days."),
        ("Transfer", "governance_rules", "Treasurer: Looks after: Fines, fees and transfers"),
    ],
)
def test_a_field_quotes_sentences_about_the_entity(name: str, field: str, sentence: str) -> None:
    cell = _cell(name, field)
    assert isinstance(cell.value, tuple)
    assert sentence in cell.value
    assert {place.about for place in cell.evidence} <= {"", *cell.value}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Appeal", _HANDBOOK),
        ("Concern", _HANDBOOK),
        ("Vetting Certificate", "A person without a Vetting Certificate sits down. Another may not be signed for."),
        ("Loan", "The Loan Office must be closed on Monday."),
        ("Fine", "It is a fine day on which nobody must hurry."),
    ],
)
def test_a_field_is_absent_if_the_text_contains_the_entity_name_only_as_a_verb_or_in_another_name(
    name: str, text: str
) -> None:
    cell = _cell(name, "associated_agreements", text)
    assert (cell.verdict, cell.value) == ("absent", None)
    assert cell.note


def test_a_cue_word_within_the_entity_name_is_ignored() -> None:
    field = CatalogField(cues=("certificate*",))
    corpus = corpus_of({"one.md": "A Vetting Certificate is renewed every three years."})
    assert _fields(corpus, field).facts("Vetting Certificate").cell.verdict == "absent"


def test_a_second_header_row_names_the_column_of_a_field_if_no_other_column_has_this_name() -> None:
    table = "Set | Duty | Duty | Retention | Retention\nSet | Owner | Deputy | From | Period\n"
    row = "Case File | Clerk | Registrar | Closure | 7 years\n"
    assert _cell("Case File", "data_owner", table + row).value == "Clerk"
    assert _cell("Case File", "retention", table + row).value == "7 years"
    assert _cell("Case File", "data_owner", (table + row).replace("Deputy", "Owner")).verdict == "absent"


def test_a_row_below_the_cell_of_its_group_is_about_its_second_cell() -> None:
    table = "Division | System | Data Owner\nMoney | Ledger | Clerk\nMoney | Tills | Treasurer\nStaff | Clerk | Fox\n"
    assert [_cell(name, "data_owner", table).value for name in ("Ledger", "Tills")] == ["Clerk", "Treasurer"]
    elements = "Element | System | Data Owner\nNumber | Ledger | Clerk\nName | Tills | Fox\n"
    assert _cell("Ledger", "data_owner", elements).verdict == "absent"


_SCHEDULE = """# Keeping records

| Ref | Record | Data Owner | Period |
|---|---|---|---|
| B1 | Case File | Clerk | 8 years[2] |
| B2 | Loan (3) | as B1 | As above |
| B3 | Appeal minutes and agendas | as above | see row 9 |
| B4 | Transfers (closed) | Fine | Permanent |
"""


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("Case File", "retention", "8 years"),
        ("Loan", "retention", "8 years"),
        ("Loan", "data_owner", "Clerk"),
        ("Appeal", "retention", None),
        ("Transfer", "retention", ("Transfers (closed): Permanent",)),
        ("Fine", "retention", None),
    ],
)
def test_a_schedule_is_read_with_short_headers_references_and_footnotes(
    name: str, field: str, value: str | tuple[str, ...] | None
) -> None:
    cell = _cell(name, field, _SCHEDULE)
    assert cell.value == value
    assert _cell("Case File", "retention", _SCHEDULE.replace("Keeping records", "Loans")).verdict == "absent"


def test_a_cell_that_refers_to_another_row_is_quoted_with_that_row() -> None:
    cell = _cell("Loan", "data_owner", _SCHEDULE)
    assert [place.quote.split(" | ")[1] for place in cell.evidence] == ["Loan (3)", "Case File"]


@pytest.mark.parametrize("name", ["Vetting Certificate", "Case File"])
def test_items_of_a_list_share_their_first_or_last_words(name: str) -> None:
    row = "| Vetting forms & certificates / Case and Loan Files, including copies | 2 years |"
    assert _cell(name, "retention", f"| Record | Kept for |\n|---|---|\n{row}\n").value == "2 years"


def test_a_period_without_an_end_contradicts_a_number_of_years() -> None:
    table = "| Record | Kept for |\n|---|---|\n| Case File | Permanent |\n\n"
    assert _cell("Case File", "retention", f"{table}Each Case File is kept for six years.").verdict == "conflict"
    assert _cell("Case File", "retention", f"{table}Each Case File is kept permanently.").verdict == "found"
    assert _cell("Case File", "retention", f"{table}A Case File is then permanently deleted.").verdict == "found"


_LISTS = """# Retention of records

## Documents to keep for 10 years

- Case Files and Loan Cards
- Fines (16 years from payment)

## Other documents

The following are retained for 7 years:

1. Appeals: letters, replies
2. Tax return

For others, it depends:

- Loans. The card of the reader. Retain for 3 years.
- **Fee lists** (board and members): retain **at least 5 years**.
- Certificates: at least 2 years from the date of issue
- Transfer: the Clerk must answer the reader within 5 days

The board keeps a list of every Badge.
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Case File", "Documents to keep for 10 years"),
        ("Loan Card", "Documents to keep for 10 years"),
        ("Fine", "16 years from payment"),
        ("Appeal", "The following are retained for 7 years"),
        ("Reply", "The following are retained for 7 years"),
        ("Certificate", "at least 2 years from the date of issue"),
        ("Fee List", "retain at least 5 years"),
        ("Loan", "Retain for 3 years"),
        ("Transfer", None),
        ("Badge", None),
    ],
)
def test_the_items_of_a_list_have_the_period_that_they_or_the_opening_of_the_list_state(
    name: str, value: str | None
) -> None:
    cell = _cell(name, "retention", _LISTS)
    values = cell.value if isinstance(cell.value, tuple) else (cell.value,)
    assert values[0] == value
    assert value is None or any(value in place.quote.replace("**", "") for place in cell.evidence)


def test_a_list_below_an_opening_about_something_else_gives_no_period() -> None:
    text = "# Retention of records\n\nThe Clerk must return within 10 days:\n\n- Case Files\n- Loans\n"
    assert _cell("Case File", "retention", text).verdict == "absent"


def test_a_column_of_responsibility_names_owners_only_beside_records() -> None:
    records = "| Record | Responsibility |\n|---|---|\n| Case File | Head of Stores |\n"
    assert _cell("Case File", "data_owner", records).value == "Head of Stores"
    roles = "| Role | Responsibility |\n|---|---|\n| Clerk | Case Files |\n"
    assert _cell("Clerk", "data_owner", roles).verdict == "absent"


def test_contradicting_table_rows_are_reported_as_a_conflict() -> None:
    second = "\n\nAnd:\n\n| Set | Class |\n|---|---|\n| Case File | Internal |\n"
    cell = _cell("Case File", "data_classification", _HANDBOOK + second)
    assert (cell.verdict, cell.value) == ("conflict", ("Restricted", "Internal"))


def test_a_lower_case_name_counts_as_a_mention_if_the_document_writes_names_in_lower_case() -> None:
    small = "A loan must be returned. Each loan must be paid."
    insists = "A Loan must be returned. No Loan and no other Loan may wait. The Loan is a loan that must be paid."
    assert len(_value(_cell("Loan", "business_rules", small))) == 2
    assert not any(
        "Each loan" in one for one in _value(_cell("Loan", "business_rules", insists + " Each loan must go."))
    )


def test_a_field_may_have_twice_as_many_values_if_the_deeper_search_is_requested() -> None:
    text = " ".join(f"A Loan of {number} books must be returned." for number in range(20))
    assert len(_value(_cell("Loan", "business_rules", text))) == 5
    assert len(_value(_cell("Loan", "business_rules", text, deeper=True))) == 10


def _value(cell: Cell) -> tuple[str, ...]:
    assert isinstance(cell.value, tuple)
    return cell.value


def test_a_text_without_a_full_stop_is_not_used_as_evidence() -> None:
    cell = _cell("Loan", "business_rules", "a Loan must be returned and " * 30_000)
    assert cell.verdict == "absent"


@given(
    st.lists(st.sampled_from([*_HANDBOOK.splitlines(keepends=True), "\f", "\u00e9\u0301 | ", "Loan | "]), max_size=40)
)
def test_quotes_match_their_spans_in_any_text(lines: list[str]) -> None:
    text = "".join(lines)
    for field in ("business_rules", "data_classification", "retention", "governance_rules"):
        for name in ("Loan", "Case File", "Fine"):
            cell = _cell(name, field, text or "Nothing.")
            assert cell.verdict != "found" or cell.evidence


_GERMAN = """# Zuständigkeiten

Die Leitung des Vertriebs ist Datenverantwortliche für Kundendaten und Verträge.

Für Messwerte ist die Leitung des Zählerwesens verantwortlich.

Die Personalabteilung ist für die Personalakten verantwortlich.

Der Netzbetrieb ist für Zähler, Öfen und den Netzplan verantwortlich. Für Pumpen und die Ventile ist die Technik
verantwortlich. Die Technik ist für die Rohre und deren Prüfung verantwortlich.

Sie ist verantwortlich für Bescheide. Der Kundenservice ist für den Bericht über Bescheide verantwortlich. Für Bescheide
ist die Rechtsabteilung nicht zuständig. Im Netz ist verantwortlich für Bescheide: Frau Fox. Die Stelle für
Bescheide ist Kunden gegenüber verantwortlich.

## Fristen

Kundendaten sind zehn Jahre nach Vertragsende zu löschen.

Messwerte dürfen nur drei Jahre im Archiv gespeichert werden. Messwerte werden in der Datenbank gespeichert.

| Datenobjekt | Aufbewahrungsfrist | Dateneigentümer | Schutzklasse |
|---|---|---|---|
| Beleg | 6 Jahre | Buchhaltung | intern |
"""


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("Kundendaten", "data_owner", "Leitung des Vertriebs"),
        ("Vertrag", "data_owner", "Leitung des Vertriebs"),
        ("Messwert", "data_owner", "Leitung des Zählerwesens"),
        ("Personalakte", "data_owner", "Personalabteilung"),
        ("Zähler", "data_owner", "Netzbetrieb"),
        ("Ofen", "data_owner", "Netzbetrieb"),
        ("Netzplan", "data_owner", "Netzbetrieb"),
        ("Pumpe", "data_owner", "Technik"),
        ("Ventil", "data_owner", "Technik"),
        ("Rohr", "data_owner", None),
        ("Bescheid", "data_owner", None),
        ("Beleg", "data_owner", "Buchhaltung"),
        ("Beleg", "data_classification", "intern"),
        ("Beleg", "retention", "6 Jahre"),
        ("Kundendaten", "retention", ("Kundendaten sind zehn Jahre nach Vertragsende zu löschen.",)),
        ("Messwert", "retention", ("Messwerte dürfen nur drei Jahre im Archiv gespeichert werden.",)),
        ("Kundendaten", "business_rules", ("Kundendaten sind zehn Jahre nach Vertragsende zu löschen.",)),
    ],
)
def test_the_shipped_words_of_the_fields_read_german_texts(
    name: str, field: str, value: str | tuple[str, ...] | None
) -> None:
    corpus, section = corpus_of({"regeln.md": _GERMAN}), CatalogSection()
    listed = "Kundendaten Vertrag Messwert Personalakte Zähler Ofen Netzplan Pumpe Ventil Rohr Bescheid Beleg"
    names = Names(listed.split(), german=True)
    statements = StatementIndex(read_statements(corpus), names)
    cell = TextField(section.all_fields()[field], section, statements, None, frozenset()).facts(name).cell
    assert cell.value == value

"""Tables of definitions are read in each notation that file readers produce, and across pages."""

import pytest
from elt_llm_consumer.jobs.sections import GlossarySection
from row_jobs.definitions import defined, definitions_in

TWO = [("Alpha", "A first thing."), ("Beta", "A second thing.")]


@pytest.mark.parametrize(
    "text",
    [
        "Term | Meaning\nAlpha | A first thing.\nBeta | A second thing.\n",
        "| Term | Definition |\n|------|:-----------|\n| **Alpha** | A first thing. |\n| Beta | A second thing. |\n",
        "Definition | Expression\nA first thing. | Alpha\nA second thing. | Beta\n",
        "No. | Word | Rule | What it means\n1 | Alpha | A1 | A first thing.\n2 | Beta | A2 | A second thing.\n",
        "Begriff | Bedeutung\nAlpha | A first thing.\nBeta | A second thing.\n",
        "Term\tMeaning\nAlpha\tA first thing.\nBeta\tA second thing.\n",
    ],
)
def test_rows_of_a_table_with_headers_for_terms_and_meanings_are_definitions(text: str) -> None:
    assert defined(text) == TWO


def test_a_definition_table_continues_across_pages_with_and_without_a_repeated_header() -> None:
    text = (
        "Term | Meaning\nAlpha | A first thing.\n\nBook of Rules\n1\n\n\fTerm | Meaning\nBeta | A second thing.\n\n"
        "Book of Rules\n2\n\n\fGamma | A third thing.\n\nBook of Rules\n3\n\n\fOffence | Fine\nLate | Ten pounds\n"
    )
    assert [term for term, _ in defined(text)[:3]] == ["Alpha", "Beta", "Gamma"]


def test_a_table_directly_after_a_definition_table_is_not_part_of_the_definition_table() -> None:
    text = "Term | Meaning\nAlpha | A first thing.\n\nOffence | Fine\nLate arrival | Ten pounds for each\n"
    assert defined(text) == TWO[:1]


def test_a_table_row_without_a_term_continues_the_definition_in_the_row_above() -> None:
    text = "| Term | Meaning |\n|---|---|\n| Alpha | A first |\n|  | thing. |\n| Beta | A second thing. |\n"
    assert defined(text) == TWO


def test_a_table_cell_continues_after_a_page_break_and_a_repeated_page_header() -> None:
    text = (
        "| Term | Meaning |\n| Alpha | A first |\n\nBook\n1\n\n\f| Term | Meaning |\n|  | thing. |\n| Beta | A second"
        " thing. |\n\nBook\n2\n\n\fThe end.\n\nBook\n3\n"
    )
    assert defined(text) == TWO


def test_a_table_without_headers_under_a_heading_of_definitions_is_read_as_definitions() -> None:
    rows = "ETA | Estimated time of arrival\nDepot | A place where goods are kept.\n"
    assert [term for term, _ in defined(f"# Definitions\n\n{rows}")] == ["ETA", "Depot"]
    assert defined(f"# Places\n\n{rows}") == []
    assert defined("# Definitions\n\nEntry | ten pounds\nLate entry | twelve pounds\n") == []


def test_abbreviations_are_read_from_tables_and_columns_of_abbreviations() -> None:
    (short,) = definitions_in("Abbreviation | In full\nYGM | Yearly General Meeting\n")
    assert (short.term, short.text, short.pattern) == ("YGM", "Yearly General Meeting", "abbreviation")
    (beside,) = definitions_in("Term | Abbr. | Definition\nData owner | DO | The person who decides.\n")
    assert (beside.term, beside.abbreviation) == ("Data owner", "DO")


def test_columns_of_synonyms_and_related_terms_give_the_aliases_and_the_see_also_terms_of_a_term() -> None:
    first, second = definitions_in(
        "| Term | Definition | Synonyms | See also |\n|---|---|---|---|\n"
        "| Asset register | The list of all assets. | asset list; inventory | Asset owner, **Custodian** |\n"
        "| Asset owner | The person who answers for an asset. | - | |\n"
    )
    assert (first.aliases, first.see_also) == (("asset list", "inventory"), ("Asset owner", "Custodian"))
    assert (second.aliases, second.see_also) == ((), ())


@pytest.mark.parametrize(
    ("meaning", "aliases"),
    [
        ("The list of all patients. Also called Patient Master Index.", ("Patient Master Index",)),
        (
            "The list of patients; also known as the “patient list” or Patient Roll.",
            ("patient list", "Patient Roll"),
        ),
        ("Die Liste aller Patienten. Auch Patientenkartei genannt.", ("Patientenkartei",)),
        ("The list of all patients. Also called by the Registrar when a patient dies.", ()),
        ("The list of a register, also called Patient Roll, that the Clerk keeps.", ()),
    ],
)
def test_a_sentence_of_a_definition_that_only_gives_other_names_gives_the_aliases(
    meaning: str, aliases: tuple[str, ...]
) -> None:
    (found,) = definitions_in(f"| Term | Meaning |\n|---|---|\n| Patient Index | {meaning} |\n")
    assert found.aliases == aliases


def test_a_definition_table_cell_that_only_refers_to_a_rule_is_a_reference() -> None:
    _, found = definitions_in("Term | Meaning\nStore | A place of goods.\nDepot | See Store\n")
    assert (found.pattern, found.refers_to) == ("reference", "Store")


def test_the_recognized_table_headers_can_be_configured() -> None:
    text = "Name of thing | What it is\nAlpha | A first thing.\n"
    assert defined(text) == []
    settings = GlossarySection(term_headers=("name of thing",), meaning_headers=("what it is",))
    assert defined(text, settings) == TWO[:1]


@pytest.mark.parametrize("header", ["What is meant", "Sense in this Code", "It stands for", "Short explanation"])
def test_the_second_header_of_a_definition_table_may_use_words_that_are_not_listed(header: str) -> None:
    assert defined(f"# Work\n\nExpression | {header}\nAlpha | A first thing.\nBeta | A second thing.\n") == TWO


@pytest.mark.parametrize("header", ["In this Code", "Reading", "Scope and limits"])
def test_under_a_heading_of_definitions_the_second_table_header_may_have_any_words(header: str) -> None:
    table = f"| Word | {header} |\n|---|---|\n| Alpha | A first thing. |\n| Beta | A second thing. |\n"
    assert defined(f"## 2 Interpretation\n\n### 2.1 Words\n\nThe table says it.\n\n{table}") == TWO
    assert defined(f"## 2 Work\n\nThe table says it.\n\n{table}") == []


@pytest.mark.parametrize("header", ["Page", "Fee", "Where used", "Number of meanings", "Begins"])
def test_a_second_header_such_as_page_number_is_not_a_column_of_meanings(header: str) -> None:
    text = f"# Definitions\n\nTerm | {header}\nAlpha | the first of May\nBeta | the tenth of May\n"
    assert defined(text) == []


def test_a_row_in_the_middle_of_a_table_is_not_read_as_a_header_row() -> None:
    text = "# Definitions\n\nTerm | Meaning\nAlpha | A first thing.\nWord | What is meant\nBeta | A second thing.\n"
    assert defined(text) == [TWO[0], ("Word", "What is meant"), TWO[1]]


def test_a_header_row_repeated_on_the_next_page_is_not_read_as_data() -> None:
    text = (
        "Word | What is meant\nAlpha | A first thing.\n\nRules\n1\n\n\fWord | What is meant\nBeta | A second thing.\n\n"
        "Rules\n2\n\n\fMore.\n\nRules\n3\n"
    )
    assert defined(text) == TWO


def test_a_short_form_in_brackets_after_a_term_in_a_table_row_is_the_abbreviation_of_the_term() -> None:
    text = "| Term | Meaning |\n|---|---|\n| Digital Pressure Gauge (DPG) | A gauge with a display. |\n"
    found = [one for one in definitions_in(text) if one.pattern == "table"]
    assert [(one.term, one.abbreviation) for one in found] == [("Digital Pressure Gauge", "DPG")]


def test_terms_are_read_from_the_column_before_a_business_definition_even_if_cells_repeat_their_header() -> None:
    head = "Ref | Area | Element | Business definition | Owner\n"
    rows = "Ref: E-1 | Area: Sites | Element: Inlet Valve | Business definition: Lets water in. | Owner: A. Low\n"
    rows += "Ref: E-2 | Area: Sites | Element: Weir | Business definition: Low wall across a river. | Owner: A. Low\n"
    assert defined(f"# Elements\n\n{head}{rows}") == [
        ("Inlet Valve", "Lets water in."),
        ("Weir", "Low wall across a river."),
    ]
    plain = head + "E-1 | Sites | Weir | Low wall across a river. | A. Bell\n"
    assert defined(f"# Elements\n\n{plain}") == [("Weir", "Low wall across a river.")]


@pytest.mark.parametrize(
    "head",
    [
        "Term | Definition | Short name | Synonyms | Owner\n",
        "Term | Definition | Names | Names | Owner\nTerm | Definition | Short name | Synonyms | Owner\n",
    ],
)
def test_the_rows_of_a_wide_glossary_without_their_empty_cells_keep_their_columns(head: str) -> None:
    rows = (
        "Term: Weir | Definition: Low wall | across a river. | Synonyms: Sill | Owner: A. Low\n"
        "Term: Lock | Short name: LCK | Owner: A. Low\n"
        "The words of the year 2024\n"
        "Term: Flow Meter | Definition: Measures water. | Short name: FM\n"
    )
    if "Names" in head:
        rows = rows.replace("Short name:", "Names Short name:").replace("Synonyms:", "Names Synonyms:")
    assert [(one.term, one.text, one.abbreviation, one.aliases) for one in definitions_in(head + rows)] == [
        ("Weir", "Low wall across a river.", "", ("Sill",)),
        ("Flow Meter", "Measures water.", "FM", ()),
    ]


def test_the_row_with_the_definition_of_a_table_about_one_thing_defines_what_the_first_row_names() -> None:
    text = (
        "# Property: access rights\n\nRDF Property: | dct:accessRights\nDefinition: | A statement on access.\n"
        "Range: | dct:RightsStatement\n\n# Fees\n\nDefinition: | A sum.\nNote: | None\n"
    )
    (found,) = definitions_in(text)
    assert (found.term, found.text, found.aliases) == ("dct:accessRights", "A statement on access.", ("access rights",))

"""The glossary reports the entries of a document that look like definitions but were not read as definitions."""

from dataclasses import replace

from elt_llm_consumer.definitions.find import definitions_in_document, missed_entries
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_core.text.outline import MarkedTerms
from row_jobs.contexts import corpus_of

BOLD = "# Glossary\n\n" + "\n\n".join(
    f"- **{name}** - a kind of thing." for name in ("Ash", "Beech", "Elm", "Fir", "Oak")
)


def _missed(text: str, **settings: object) -> tuple[list[str], int, bool]:
    section = GlossarySection.model_validate(settings)
    document = corpus_of({"text.md": text}).documents[0]
    found = missed_entries(document, definitions_in_document(document, section), section)
    return [text[slice(*span)] for span in found.missed], found.entries, bool(found)


def test_no_missed_entries_are_reported_for_a_glossary_that_was_read_completely() -> None:
    assert _missed(BOLD) == ([], 5, False)


def test_skipped_glossary_entries_are_reported_with_their_number_and_page() -> None:
    section = GlossarySection(patterns=("sentence",))
    document = corpus_of({"text.md": BOLD}).documents[0]
    found = missed_entries(document, definitions_in_document(document, section), section)
    assert found
    assert str(found).startswith(
        "text.md: 5 of 5 entries that look like definitions are not in the glossary, such as 'Ash' (text.md), 'Beech'"
    )


def test_sentences_with_a_quoted_term_that_were_not_read_are_counted_as_missed_definitions() -> None:
    text = "# Rules\n\n“Site” means the land. “Plot” means a part of it.\n"
    assert _missed(text, patterns=["list"]) == (["Site", "Plot"], 2, True)


def test_alphabetical_table_rows_and_terms_after_a_dollar_sign_count_as_glossary_entries_under_any_heading() -> None:
    rows = "".join(f"| {name} | a long explanation of this thing |\n" for name in ("ash", "beech", "elm", "fir", "oak"))
    assert _missed(f"# Trees\n\n| Name | About |\n|---|---|\n{rows}", patterns=["sentence"])[0][-5:] == [
        *("ash", "beech", "elm", "fir", "oak")
    ]
    signs = "".join(f"$ {name}\n   A tree of some kind.\n\n" for name in ("ash", "beech", "elm", "fir", "oak"))
    assert len(_missed(signs, patterns=["sentence"])[0]) == 5


def test_an_entry_whose_term_has_another_definition_is_reported_apart_and_a_header_row_is_no_entry() -> None:
    rows = "".join(f"| {name} | a long explanation of this thing |\n" for name in ("ash", "beech", "elm", "fir", "oak"))
    text = f'# Trees\n\n"Ash" means a tree.\n\n| Statement | Description |\n|---|---|\n{rows}'
    document = corpus_of({"text.md": text}).documents[0]
    found = missed_entries(document, definitions_in_document(document), GlossarySection())
    assert [text[slice(*span)] for span in found.missed] == ["beech", "elm", "fir", "oak"]
    assert [text[slice(*span)] for span in found.repeated] == ["ash"]
    assert "1 of 6 entries that look like definitions give a term of the glossary a text that it does not have" in str(
        found
    )


def test_unordered_lists_under_other_headings_are_not_counted_as_glossaries() -> None:
    text = "# Fees\n\n" + "\n".join(f"- **{name}** - five pounds." for name in ("Oak", "Ash", "Fir", "Elm", "Beech"))
    assert _missed(text, patterns=["sentence"]) == ([], 0, False)


def test_values_such_as_opening_hours_are_not_counted_as_glossary_entries() -> None:
    days = ("Monday", "Tuesday to Friday", "Saturday", "Sunday", "Telephone")
    hours = ("closed", "9 am to 5 pm", "9 am to 1 pm", "closed", "01632 960 123")
    text = "# Terms\n\n" + "\n".join(f"- **{day}**: {hour}" for day, hour in zip(days, hours, strict=True))
    assert _missed(text) == ([], 0, False)


NAMES = ("ash", "beech", "elm", "fir", "oak")


def test_alphabetical_terms_above_indented_text_and_headings_above_a_paragraph_count_as_glossary_entries() -> None:
    indented = "".join(f"{name}\n    Grows here in summer.\n\n" for name in NAMES)
    assert _missed(indented) == (list(NAMES), 5, True)
    headings = "# Trees\n\n" + "".join(f"## {name}\n\nA tree that grows here.\n\n" for name in NAMES)
    assert _missed(headings) == (list(NAMES), 5, True)
    assert _missed(headings.replace("ash", "willow")) == ([], 0, False)
    assert _missed(headings.replace("# Trees", "# Tree glossary")) == ([], 5, False)


def test_alphabetical_emphasised_terms_before_a_new_sentence_count_as_glossary_entries() -> None:
    paragraphs = [f"{name} A tree that grows here." for name in NAMES]
    text = "Trees\n\n" + "\n\n".join(paragraphs)
    starts = [text.index(paragraph) for paragraph in paragraphs]
    marked = MarkedTerms(leading=tuple((at, at + len(name)) for at, name in zip(starts, NAMES, strict=True)))
    document = replace(corpus_of({"trees.docx": text}).documents[0], marked=marked)
    found = missed_entries(document, definitions_in_document(document), GlossarySection())
    assert [text[slice(*span)] for span in found.missed] == list(NAMES)


def test_a_list_of_quoted_terms_in_any_order_counts_as_a_glossary_if_the_document_has_no_definitions_section() -> None:
    names = ("Work", "Copy", "Tool", "Base", "Maker")
    text = "WORDS\n\n" + "\n\n".join(f"`{name}' To use any thing under this License." for name in names)
    assert _missed(text) == (list(names), 5, True)
    assert _missed(f"# Definitions\n\n'Land' means soil.\n\n# Other\n\n{text}")[0] == []


def test_plain_terms_before_means_and_quoted_terms_with_a_noun_before_means_are_counted_in_a_definitions_section() -> (
    None
):
    text = '# Definitions\n\na. Share means to give.\n\n"Source" form (here) means the text.\n\n‘Land’ means soil.\n'  # noqa: RUF001
    assert _missed(text, patterns=["list"])[:2] == (["Share", "Land"], 2)


def test_a_section_of_definitions_of_which_nothing_was_read_is_reported_with_its_place() -> None:
    prose = (
        "Many words of this book have a meaning of their own, and readers learn it as they go on with the text. " * 2
    )
    document = corpus_of({"text.md": f"# Rules\n\nNo running.\n\n## Definitions\n\n{prose}\n"}).documents[0]
    found = missed_entries(document, (), GlossarySection())
    assert "text.md: few or no definitions were read below '## Definitions' (text.md)." in str(found)
    assert not missed_entries(
        corpus_of({"a.md": "## Definitions\n\nSee the Act.\n"}).documents[0], (), GlossarySection()
    )


def test_a_table_of_terms_of_which_nothing_was_read_is_reported_by_its_header() -> None:
    text = (
        "# Words\n\n| Term | Notes for staff |\n|---|---|\n| oak | a tree that grows |\n| ash | a tree that burns |\n"
    )
    document = corpus_of({"text.md": text}).documents[0]
    assert definitions_in_document(document) == []
    found = missed_entries(document, (), GlossarySection())
    assert [text[slice(*span)] for span in found.unread] == ["| Term | Notes for staff |"]


def test_a_single_missed_entry_is_reported_too() -> None:
    assert _missed('# Rules\n\n"Site" means the land.\n', patterns=["list"]) == (["Site"], 1, True)


def test_alphabetical_terms_in_bold_before_a_sentence_count_as_glossary_entries() -> None:
    text = "# Trees\n\n" + "\n\n".join(f"**{name}** grows here in summer." for name in NAMES)
    assert _missed(text) == (list(NAMES), 5, True)


def test_terms_in_brackets_and_between_colons_that_were_not_read_are_reported() -> None:
    bracket = "# Board\n\nOne third shall be officials who, when they are appointed, are elected (the “Officials”).\n"
    assert _missed(bracket)[0] == ["Officials"]
    fields = "".join(f":{name}: n.\n\nA tree of some kind.\n\n" for name in ("ash", "beech", "elm", "fir", "oak"))
    assert _missed(f"# Trees\n\n{fields}")[0] == ["ash", "beech", "elm", "fir", "oak"]

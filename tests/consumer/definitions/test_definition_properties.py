"""Properties of definition search for any text: spans match, results repeat, and the time is linear."""

import time

import pytest
from elt_llm_consumer.definitions.definition import term_key
from elt_llm_consumer.definitions.find import definitions_in_document, find_definitions
from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.jobs.corpus import Corpus
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.contexts import document_of
from row_jobs.definitions import definitions_in

_PARTS = st.sampled_from(
    [
        *('"Fee" means', " a sum ", "Fee", " is ", "# Glossary\n\n", "Term | Meaning\n", "A | B\n", "(a) ", "; and\n"),
        *(": ", " - ", "\n\n", "\n", "\f", "**Fee**", "(the “Fee”)", "(YGM)", "Yearly General Meeting ", ".", "?", "|"),
        *(
            "the meaning given in Rule A3.",
            "Page 3\n",
            "Unter einem ",
            "versteht man eine ",
            "• ",
            "1.2 ",
            "of",
            " that ",
        ),
        *("'", '"', "*"),
    ]
)
_TEXTS = st.lists(_PARTS, max_size=40).map("".join)
_SLOWEST = 20.0  # CPU seconds for what takes well under one: no text may hang


def test_a_line_of_dots_and_spaces_without_a_page_number_is_read_quickly() -> None:
    began = time.monotonic()
    assert definitions_in(f"# Contents\n\nScope{' .' * 300} xii\n\n# Glossary\n\n“Fee” means a sum.\n")
    assert time.monotonic() - began < _SLOWEST


@given(_TEXTS)
def test_the_spans_of_definitions_match_their_text_in_any_document(text: str) -> None:
    found = definitions_in(text)
    places = [(one.term_span, one.definition_span) for one in found]
    assert places == sorted(set(places))


@given(_TEXTS)
def test_finding_definitions_twice_gives_equal_results(text: str) -> None:
    document = document_of("text.md", text)
    assert (
        definitions_in_document(document) == definitions_in_document(document) == find_definitions(Corpus([document]))
    )


@given(st.text(max_size=60))
def test_normalising_a_term_key_or_a_line_a_second_time_changes_nothing(text: str) -> None:
    assert one_line(one_line(text)).split() == one_line(one_line(one_line(text))).split()
    assert term_key(" ".join(term_key(text))) == term_key(" ".join(term_key(" ".join(term_key(text)))))


@pytest.mark.parametrize(
    ("one", "other"),
    [("The Working Days", "working day"), ("sub-contractors", "Sub contractor"), ("Parties", "a party")],
)
def test_case_number_hyphen_and_article_do_not_change_the_key_of_a_term(one: str, other: str) -> None:
    assert term_key(one) == term_key(other)


@pytest.mark.parametrize("word", ["Status", "Analysis", "Address", "Bus", "https", "FTPS"])
def test_the_key_of_a_term_keeps_an_ending_that_only_looks_like_a_plural(word: str) -> None:
    assert term_key(word) == (word.lower(),)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "unit",
    [
        *("means ", '"', '"a" means ', "(a) ", "(the “a", "A B C (ABC) ", "in this rule, ", "x | ", "* ", "**", "a\n"),
        *(
            "- a\n",
            "Unter a ",
            "as in the term ",
            "\n\n",
            "A. ",
            "is ",
            "| | x |\n",
            '" and "',
            "Term | Meaning\n",
            "[a](",
            "by a ",
        ),
        *("# Glossary\n\nA: b\n", ", of a ", "(", "„a", "a (", "A\nThe b.\n", "\f\n", "…", "- ", "   ", "also called "),
    ],
)
def test_the_time_to_find_definitions_is_linear_in_the_length_of_the_text(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    start = time.process_time()
    definitions_in_document(document_of("long.md", text))
    assert time.process_time() - start < _SLOWEST


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("A cat [1] is an animal.[2] It purrs[12], often.", "A cat is an animal. It purrs, often."),
        ("Found with (getuser($<))[7], $LIST[0], $LIST[1] or $a[5][5][5].", None),
        ("Kept in `rows[2]` of the list.", "Kept in rows[2] of the list."),
        ("The variables __LINE__ and __init__, and 2**8 and $_foo.", None),
        (
            "A **bold** and __strong__ word, _slanted_ and *starred*.",
            "A bold and __strong__ word, slanted and starred.",
        ),
        ("A **very bold** and __very strong__ word.", "A very bold and very strong word."),
    ],
)
def test_only_footnote_marks_and_emphasis_are_left_out_of_a_definition(written: str, kept: str | None) -> None:
    assert one_line(written) == (kept or written)

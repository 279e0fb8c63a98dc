import pytest
from elt_llm_query.grounding.citations import split_statements
from elt_llm_query.grounding.grounding import GroundedAnswer
from elt_llm_query.synthesis.model_answerer import cite_by_source, normalise_marks
from hypothesis import given
from hypothesis import strategies as st

LOAN = "Books may be borrowed for four weeks"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (f"{LOAN} (Source 1).", f"{LOAN} [1]."),
        (f"{LOAN} [Source: 1].", f"{LOAN} [1]."),
        (f"{LOAN} (see sources 1 and 3).", f"{LOAN} [1][3]."),
        (f"{LOAN} (Source 1, Source 2).", f"{LOAN} [1][2]."),
        (f"{LOAN} (Quelle 2).", f"{LOAN} [2]."),
        (f"{LOAN} 【1】.", f"{LOAN} [1]."),
        (f"{LOAN}【2†rules.md】.", f"{LOAN}[2]."),
        (f"{LOAN} [1, 2].", f"{LOAN} [1][2]."),
        (f'{LOAN} <source number="1">.', f"{LOAN} [1]."),
        (f"{LOAN}.</source>", f"{LOAN}."),
        (f"As stated in [source 1], {LOAN}.", f"As stated in source 1, {LOAN}."),
        ("Rule 3 (1) says so, as does § 5 (2).", "Rule 3 (1) says so, as does § 5 (2)."),
        ("See [1-3] and [note].", "See [1-3] and [note]."),
        ("<b>Four</b> weeks < five weeks.", "<b>Four</b> weeks < five weeks."),
    ],
)
def test_every_form_of_a_citation_mark_is_normalised(written: str, read: str) -> None:
    assert normalise_marks(written) == read


@given(st.text(alphabet="ab [](){}<>【】†source 123,;&/\n", max_size=80))
def test_normalising_citation_marks_adds_no_citation_number(text: str) -> None:
    read = normalise_marks(text)
    assert all(read.count(digit) <= text.count(digit) for digit in "123")


@pytest.mark.parametrize(
    "opening",
    [
        "According to source 1, books",
        "According to sources 1 and 2, books",
        "As stated in source 1, books",
        "Source 1 says that books",
        "The source 2 states that books",
        "Laut Quelle 1 books",
    ],
)
def test_the_citation_number_is_not_part_of_the_claim(opening: str) -> None:
    (statement,) = split_statements(f"{opening} may be borrowed for four weeks.")
    assert statement.claim == f"{LOAN}."


def test_lists_and_paragraphs_after_a_citation_keep_their_line_ends() -> None:
    """A mark without a source is removed, and nothing else."""
    grounded = GroundedAnswer("1. One. [1]\n2. Two. [2] [1]\n\nThree.", (), (), 1.0, ())
    assert cite_by_source(grounded, ())[0] == "1. One. \n2. Two. \n\nThree."

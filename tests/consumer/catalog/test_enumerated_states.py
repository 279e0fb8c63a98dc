"""Lists of states are recognised by their form; lists of things, frequencies and acts are not states."""

import pytest
from elt_llm_consumer.catalog.sentence_fields import find_states
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("A Ladder is in store, on hire, late, in repair or broken.", "in store, on hire, late, in repair or broken"),
        ("A Permit is asked for, open, frozen, or withdrawn.", "asked for, open, frozen, or withdrawn"),
        ("Permits are live, dormant or struck off; see clause 4.", "live, dormant or struck off"),
        ("Each Boat is either afloat, ashore or sunk.", "afloat, ashore or sunk"),
        ("A Claim is drafted, with the Clerk, granted or refused.", "drafted, with the Clerk, granted or refused"),
        ("Eine Akte ist offen, ruhend oder vernichtet.", "offen, ruhend oder vernichtet"),
        ("The Boat (see Part 2) is new, used or sold.", "new, used or sold"),
    ],
)
def test_a_list_of_three_or_more_states_is_found_without_introductory_words(text: str, listed: str) -> None:
    (found,) = find_states(text)
    assert text[found.start : found.end] == listed


@pytest.mark.parametrize(
    "text",
    [
        "A Member is a grower, a miller or a baker.",
        "Members are growers, millers or bakers.",
        "A Report is dated, timed and signed.",
        "A Report is weekly, monthly or yearly.",
        "A Permit is open or closed.",
        "A Permit may not be lent, copied or left in a drawer.",
        "A Letter is sent to the ward, to the clinic or to the house.",
        "A Claim is checked, granted or refused by the Clerk.",
        "A Fee is 3, 4 or 5 pounds.",
        "A Fee is due within ten days, is small or may be waived.",
        "It is called with `a-b`, `c-d` or `e-f`.",
        "He is suffering, or is in danger of, abuse or neglect.",
        "The Board is Mercury, Venus or Mars.",
        "Nobody is told. Open, closed or lost things are kept.",
    ],
)
def test_lists_of_objects_frequencies_and_actions_are_not_read_as_states(text: str) -> None:
    assert not find_states(text)


@given(st.lists(st.sampled_from(["is ", "are ", ", ", " or ", "open", "in ", "a ", ". ", "lost", " "]), max_size=60))
def test_each_list_of_states_that_is_found_is_a_span_of_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    for one in find_states(text):
        assert 0 <= one.copula < one.start <= one.end <= len(text)
        assert " or " in f" {text[one.start : one.end]} "


def test_lists_of_states_are_found_in_time_linear_in_the_length_of_the_text() -> None:
    assert not find_states("it is late, " * 50_000)

"""Clauses show which noun a verb describes, and who is a party to a rule."""

import pytest
from elt_llm_consumer.sentences.clauses import describes_mention, is_party_to_rule


def _span(text: str, words: str) -> tuple[int, int]:
    return text.index(words), text.index(words) + len(words)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A Permit ends on 30 June.", "ends"),
        ("An open Permit may be renewed.", "renewed"),
        ("The Clerk cancels every Permit in May.", "cancels"),
        ("The end of the Permit is noted.", "end"),
        ("The Clerk reads each Permit before it is published.", "published"),
        ("A Permit is signed and, if lost, replaced.", "replaced"),
        ("A Permit that is not used lapses.", "lapses"),
        ("The validity of a Permit begins at noon.", "begins"),
    ],
)
def test_a_lifecycle_word_such_as_ends_describes_the_subject_or_object_of_its_clause(text: str, word: str) -> None:
    assert describes_mention(text, _span(text, "Permit"), _span(text, word))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A Boat without a Permit must be closed.", "closed"),
        ("The gate is opened with a Permit.", "opened"),
        ("The holder of a Boat with a Permit is suspended.", "suspended"),
        ("A Permit must be shown before work begins.", "begins"),
        ("Nothing may be destroyed before the time in the Permit has passed.", "destroyed"),
        ("A Permit names the boat, and the Boat lapses with it.", "lapses"),
        ("It becomes void when the Permit has not been used.", "becomes"),
        ("Work is closed, and the Permit is shown.", "closed"),
    ],
)
def test_a_lifecycle_word_such_as_ends_does_not_describe_other_nouns_of_the_sentence(text: str, word: str) -> None:
    assert not describes_mention(text, _span(text, "Permit"), _span(text, word))


@pytest.mark.parametrize(
    ("text", "party"),
    [
        ("Each Reader must have one Permit and no more.", True),
        ("A Permit may not be lent.", True),
        ("An entry in a Permit must be made at once.", False),
        ("A Permit that cannot be found is reported.", False),
        ("The Clerk must write to the holder of a Permit.", False),
        ("The Clerk keeps every Permit.", False),
    ],
)
def test_the_subject_and_the_object_of_a_rule_are_parties_to_the_rule(text: str, party: bool) -> None:
    assert is_party_to_rule(text, _span(text, "Permit")) is party

"""Turns that a client sends with its question are rewritten like stored turns."""

from elt_llm_query.conversation.conversation import InMemoryTurns


def test_the_question_of_each_turn_is_rewritten_from_the_previous_turns() -> None:
    turns = InMemoryTurns(
        [("How many points does a ground need for Grade A?", "85 [1]."), ("and for Grade B?", "70 [1].")]
    ).turns("")
    assert [turn.understood for turn in turns] == [
        "How many points does a ground need for Grade A?",
        "How many points does a ground need for Grade B?",
    ]


def test_reading_a_conversation_can_be_limited_to_the_latest_turns() -> None:
    turns = InMemoryTurns([("One?", "1"), ("Two?", "2"), ("Three?", "")])
    assert [turn.number for turn in turns.turns("", last=2)] == [2, 3]
    assert turns.turns("", last=0) == []
    assert [turn.result.answered for turn in turns.turns("")] == [True, True, False]

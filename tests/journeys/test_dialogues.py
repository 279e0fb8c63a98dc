"""Two-turn dialogues over the sample documents, by rules alone, with the real embedding model."""

import json
from typing import Any

import pytest
from processes.command_line import PROJECT, run_process
from processes.demonstration import Demo
from sampling import sampled

pytestmark = pytest.mark.halved


_LINES = (PROJECT / "samples" / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
DIALOGUES = [json.loads(line) for line in sampled(_LINES, 11)]
MISSED = {"dialogue-035", "dialogue-036", "dialogue-037"}  # three of 44 are answered with another page


@pytest.fixture(scope="module")
def turns(demo: Demo) -> list[dict[str, Any]]:
    """The dialogues, asked in one conversation, so that even a dialogue's first question has earlier turns."""
    typed = "".join(f"{dialogue['first']}\n{dialogue['second']}\n" for dialogue in DIALOGUES)
    ended = run_process("chat", "-c", "demo", "--json", folder=demo.folder, typed=typed)
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_each_follow_up_question_is_rewritten_as_one_line(turns: list[dict[str, Any]]) -> None:
    asked = [question for dialogue in DIALOGUES for question in (dialogue["first"], dialogue["second"])]
    assert [turn["asked"] for turn in turns] == asked
    assert len({turn["session"] for turn in turns}) == 1


def test_follow_up_questions_are_answered_with_the_right_page_with_few_known_exceptions(
    turns: list[dict[str, Any]],
) -> None:
    assert len(MISSED) <= 0.1 * len(_LINES)
    missed = [
        dialogue["id"] for dialogue, turn in zip(DIALOGUES, turns[1::2], strict=True) if not _right(dialogue, turn)
    ]
    assert len(set(missed) - MISSED) <= 1, missed


def test_a_question_that_starts_a_new_topic_is_not_rewritten_whatever_came_before(turns: list[dict[str, Any]]) -> None:
    changed = [turn["asked"] for turn in turns[::2] if turn["asked"] != turn["result"]["question"]]
    assert changed == []


def test_every_rewritten_question_is_reported(turns: list[dict[str, Any]]) -> None:
    for turn in turns:
        understood = turn["result"]["question"]
        assert (f"Understood as: {understood}" in turn["result"]["notes"]) == (understood != turn["asked"])


def _right(dialogue: dict[str, Any], turn: dict[str, Any]) -> bool:
    gold = {(place["document"], place["page"]) for place in dialogue["gold"]}
    return bool(gold & {(citation["source"], citation["page"]) for citation in turn["result"]["citations"]})

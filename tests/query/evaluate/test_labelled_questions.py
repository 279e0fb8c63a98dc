"""Reading labelled questions: the fields of each, and the errors of invalid lines."""

import json
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_query.evaluate.datasets import GoldPlace, read_labelled_questions

GOLD = {"document": "ship.pdf", "page": 3, "sentence": "The mast is twelve metres tall."}
ROW = {"id": "one", "question": "How tall is the mast?", "kind": "answerable", "answer": "12 m", "gold": [GOLD]}


def written(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "questions.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_labelled_question_keeps_its_gold_sentences(tmp_path: Path) -> None:
    unanswerable = {**ROW, "id": 2, "kind": "absent-entity", "gold": []}
    first, second = read_labelled_questions(written(tmp_path, ROW, "", unanswerable))
    assert (first.identity, first.question, first.answerable) == ("one", "How tall is the mast?", True)
    assert first.gold == (GoldPlace("ship.pdf", 3, "The mast is twelve metres tall."),)
    assert (second.identity, second.kind, second.answerable) == ("2", "absent-entity", False)


def test_the_page_of_a_gold_sentence_may_be_missing(tmp_path: Path) -> None:
    (only,) = read_labelled_questions(written(tmp_path, {**ROW, "gold": [{**GOLD, "page": None}]}))
    assert only.gold[0].page is None


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[" * 100_000,
        "[]",
        "{}",
        json.dumps({**ROW, "gold": [{"document": "ship.pdf"}]}),
        json.dumps({**ROW, "gold": []}),
        json.dumps({**ROW, "question": " "}),
        json.dumps({**ROW, "question": 7}),
        json.dumps({**ROW, "question": "why " * 2000}),
        json.dumps({**ROW, "kind": "absent-entity"}),
    ],
)
def test_an_invalid_line_of_a_question_file_is_reported_with_its_number(line: str, tmp_path: Path) -> None:
    path = written(tmp_path, ROW, line)
    with pytest.raises(UsageError) as refused:
        read_labelled_questions(path)
    assert str(refused.value).startswith(f"{path}:2: ")
    assert '"gold"' in refused.value.hint


def test_an_unreadable_question_file_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe\xfa")
    for name in ("missing.jsonl", "latin.jsonl"):
        with pytest.raises(UsageError, match=r"cannot be read|is not UTF-8"):
            read_labelled_questions(tmp_path / name)


def test_a_question_file_without_questions_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no question"):
        read_labelled_questions(written(tmp_path, "", " "))

"""A job that is run in several parts gives the same result as a single run, and makes no row twice."""

from pathlib import Path

import pytest
from elt_llm_consumer.runner.plan import RowSelection
from row_jobs.fake_jobs import FaultyLLM, calls_of, outputs_of, project, run, some_terms

DOCUMENTS = {"a/one.md": some_terms(3), "b/two.md": some_terms(3, first=3)}


@pytest.mark.parametrize(
    "parts",
    [
        [RowSelection(limit=1), RowSelection(limit=1), RowSelection(domain="b", limit=2)],
        [RowSelection(domain="b"), RowSelection(only=("Term 00", "Term 05"))],
        [
            RowSelection(only=("Term 05",), domain="b"),
            RowSelection(only=("Term 05",), domain="a"),
            RowSelection(limit=99),
        ],
    ],
)
def test_partial_runs_together_give_the_same_result_as_a_complete_run(
    parts: list[RowSelection], tmp_path: Path
) -> None:
    whole, cut = project(tmp_path / "whole", DOCUMENTS), project(tmp_path / "cut", DOCUMENTS)
    run(whole, FaultyLLM(tmp_path / "unused.txt"))
    log = tmp_path / "calls.txt"
    for part in parts:
        run(cut, FaultyLLM(log), part)
    run(cut, FaultyLLM(log))
    assert outputs_of(cut) == outputs_of(whole)
    assert len(calls_of(log)) == 6

"""However a run is cut into parts, the whole comes out the same, and no row is made twice."""

from pathlib import Path

import pytest
from elt_llm_consumer.runner_choice import Choice
from fake_jobs import ToldLLM, calls_of, outputs_of, project, run, some_terms

DOCUMENTS = {"a/one.md": some_terms(3), "b/two.md": some_terms(3, first=3)}


@pytest.mark.parametrize(
    "parts",
    [
        [Choice(limit=1), Choice(limit=1), Choice(domain="b", limit=2)],
        [Choice(domain="b"), Choice(only=("Term 00", "Term 05"))],
        [Choice(only=("Term 05",), domain="b"), Choice(only=("Term 05",), domain="a"), Choice(limit=99)],
    ],
)
def test_parts_come_to_the_same_as_the_whole(parts: list[Choice], tmp_path: Path) -> None:
    whole, cut = project(tmp_path / "whole", DOCUMENTS), project(tmp_path / "cut", DOCUMENTS)
    run(whole, ToldLLM(tmp_path / "unused.txt"))
    log = tmp_path / "calls.txt"
    for part in parts:
        run(cut, ToldLLM(log), part)
    run(cut, ToldLLM(log))
    assert outputs_of(cut) == outputs_of(whole)
    assert len(calls_of(log)) == 6

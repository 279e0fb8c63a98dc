"""The samples that commands read exist, and the built package contains them."""

import ast
from pathlib import Path

import pytest
from elt_llm_api.sample_files import ALIASES, DOCUMENTS, GOLD, INVENTORY, JOB_DOCUMENTS, MODEL, sample
from elt_llm_core.errors import UsageError

PROJECT = Path(__file__).parents[2]
NAMED = (ALIASES, DOCUMENTS, GOLD, INVENTORY, JOB_DOCUMENTS, MODEL)


@pytest.mark.parametrize("name", NAMED)
def test_every_sample_file_that_a_command_names_is_in_the_repository(name: str) -> None:
    assert sample(name) == PROJECT / "samples" / name


def test_a_missing_sample_file_is_reported_with_the_remedy() -> None:
    with pytest.raises(UsageError, match=r"none\.txt is not part of this installation") as caught:
        sample("none.txt")
    assert caught.value.hint


def test_the_built_package_contains_every_sample_file_that_a_command_names() -> None:
    tree = ast.parse((PROJECT / "elt_llm_api" / "hatch_build.py").read_text(encoding="utf-8"))
    [value] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["SAMPLES"]
    ]
    packed = ast.literal_eval(value)
    assert set(NAMED) <= set(packed)
    assert [name for name in packed if not (PROJECT / "samples" / name).exists()] == []

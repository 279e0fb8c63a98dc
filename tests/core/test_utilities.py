"""Hints name the command that installs an extra (optional dependencies), and names similar to an unknown name."""

import pytest
from elt_llm_core.utilities import install_command, nearest_names


def test_in_a_clone_of_the_project_the_command_that_installs_an_extra_uses_uv() -> None:
    assert install_command("ui") == "uv sync --inexact --extra ui"


def test_outside_a_clone_of_the_project_the_command_that_installs_an_extra_uses_pip() -> None:
    assert install_command("ui", in_clone=False) == 'pip install "elt-llm[ui]"'


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (["Food", "Zebra"], "Nearest: Food."),
        (["Zebra", "Yak"], "Known: Zebra, Yak."),
        (["Z1", "Z2", "Z3", "Z4", "Z5", "Z6"], "Known: Z1, Z2, Z3, Z4, Z5 and 1 more."),
        ([], ""),
    ],
)
def test_a_hint_calls_names_nearest_only_if_they_are_similar(known: list[str], hint: str) -> None:
    assert nearest_names("Foo", known) == hint

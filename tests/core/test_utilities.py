"""Helpers of every module: the command that installs an extra."""

from elt_llm_core.utilities import install_command


def test_an_extra_is_installed_with_uv_in_a_clone_of_the_project() -> None:
    assert install_command("ui") == "uv sync --inexact --extra ui"


def test_an_extra_is_installed_with_pip_where_the_packages_are_installed() -> None:
    assert install_command("ui", in_clone=False) == 'pip install "elt-llm[ui]"'

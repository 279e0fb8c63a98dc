"""The hint on how to install an extra (optional dependencies) has the right command."""

from elt_llm_core.utilities import install_command


def test_in_a_clone_of_the_project_the_command_that_installs_an_extra_uses_uv() -> None:
    assert install_command("ui") == "uv sync --inexact --extra ui"


def test_outside_a_clone_of_the_project_the_command_that_installs_an_extra_uses_pip() -> None:
    assert install_command("ui", in_clone=False) == 'pip install "elt-llm[ui]"'

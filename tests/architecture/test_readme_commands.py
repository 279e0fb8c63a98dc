"""Continuous integration first runs the commands that the README gives to newcomers."""

import re
import tomllib
from pathlib import Path

from optional import PROVIDED_BY

SERVES_FOREVER = "uv run --extra ui --extra mcp elt-llm serve"  # tests/api/serve/ starts servers and queries them
PLACEHOLDERS = ("path/to/documents", '"..."')
TESTS = "uv run --all-extras --all-groups pytest"


def in_fences(page: Path) -> list[str]:
    """The unique commands in the code fences of a page, in order, except those with placeholders."""
    fences = re.findall(r"^```[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for fence in fences for line in fence.splitlines()]
    found = [line for line in lines if line.startswith("uv ") and not any(part in line for part in PLACEHOLDERS)]
    return list(dict.fromkeys(found))


def executed(script: Path) -> list[str]:
    """The commands that continuous integration runs in an empty environment."""
    return re.findall(r"^readme '([^']+)'", script.read_text(encoding="utf-8"), re.MULTILINE)


def test_continuous_integration_runs_the_commands_of_the_readme(project: Path) -> None:
    commands = in_fences(project / "README.md")
    assert commands[0] == "uv run elt-llm demo"
    assert TESTS in commands
    assert SERVES_FOREVER in commands
    assert sorted(executed(project / ".ci" / "run")) == sorted(set(commands) - {SERVES_FOREVER})


def test_the_readme_runs_the_tests_with_one_command(project: Path) -> None:
    makefile = (project / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^test:[^\n]*\n((?:\t[^\n]*\n)+)", makefile, re.MULTILINE)
    assert recipe.strip() == TESTS
    assert [line for line in in_fences(project / "README.md") if "pytest" in line] == [TESTS]


def test_every_extra_that_the_code_names_for_a_module_exists(project: Path) -> None:
    configuration = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {f"--extra {name}" for name in configuration["project"]["optional-dependencies"]}
    groups = {f"--group {name}" for name in configuration["dependency-groups"]}
    assert set(PROVIDED_BY.values()) <= extras | groups

"""The wheels contain every file of their packages, and their metadata agree."""

import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

MEMBERS = ("elt_llm_core", "elt_llm_ingest", "elt_llm_query", "elt_llm_consumer", "elt_llm_api")
SAMPLES = (
    "documents/handbook.pdf",
    "jobs/documents/medical-code.docx",
    "jobs/gold/glossary.jsonl",
    "jobs/aliases.yaml",
    "enterprise/model.drawio",
    "enterprise/inventory.xlsx",
)
COMMON = ("version", "license", "license-files", "requires-python", "classifiers", "keywords", "readme")


@pytest.fixture(scope="module")
def metadata(project: Path) -> dict[str, dict[str, Any]]:
    """The [project] table of each distribution by its name."""
    folders = (project, *(project / member for member in MEMBERS))
    tables = [tomllib.loads((it / "pyproject.toml").read_text(encoding="utf-8"))["project"] for it in folders]
    return {table["name"]: table for table in tables}


@pytest.fixture(scope="module")
def wheels(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The file names in each built wheel, by the name of its distribution."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    for source in (project, *(project / member for member in MEMBERS)):
        ended = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 0, ended.stderr
    return {path.name.partition("-")[0]: set(zipfile.ZipFile(path).namelist()) for path in folder.glob("*.whl")}


def test_all_distributions_have_the_same_version_and_the_same_metadata(metadata: dict[str, dict[str, Any]]) -> None:
    assert len(metadata) == 6
    for field in COMMON:
        assert len({str(table[field]) for table in metadata.values()}) == 1, field


def test_each_package_requires_exactly_its_own_version_of_the_other_packages(
    metadata: dict[str, dict[str, Any]],
) -> None:
    for name, table in metadata.items():
        texts = [*table["dependencies"], *chain.from_iterable(table.get("optional-dependencies", {}).values())]
        ours = [it for it in map(Requirement, texts) if it.name.startswith("elt-llm")]
        assert {str(it.specifier) for it in ours} <= {f"=={table['version']}"}, name


def test_the_command_distribution_offers_the_extras_of_all_packages(
    metadata: dict[str, dict[str, Any]],
) -> None:
    offered = set(metadata["elt-llm"]["optional-dependencies"])
    extras = {extra for table in metadata.values() for extra in table.get("optional-dependencies", {})}
    assert extras <= offered
    assert [name for name, table in metadata.items() if "scripts" in table] == ["elt-llm"]


def test_the_container_image_has_the_version_of_the_packages(
    project: Path, metadata: dict[str, dict[str, Any]]
) -> None:
    tag = f"elt-llm:{metadata['elt-llm']['version']}"
    assert tag in (project / "Makefile").read_text(encoding="utf-8")
    assert tag in (project / "compose.yaml").read_text(encoding="utf-8")


def test_each_package_has_the_licence_of_the_project(project: Path) -> None:
    licence = (project / "LICENSE").read_text(encoding="utf-8")
    assert [(project / it / "LICENSE").read_text(encoding="utf-8") == licence for it in MEMBERS] == [True] * 5


@pytest.mark.parametrize("member", MEMBERS)
def test_a_wheel_has_every_file_of_its_package_and_the_licence(
    project: Path, wheels: dict[str, set[str]], member: str
) -> None:
    source = project / member / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheels[member] if ".dist-info/" not in name and "/samples/" not in name}
    assert packed == expected
    assert f"{member}/py.typed" in packed
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheels[member])


def test_the_command_line_wheel_contains_the_sample_files(wheels: dict[str, set[str]]) -> None:
    assert {f"elt_llm_api/samples/{name}" for name in SAMPLES} <= wheels["elt_llm_api"]


def test_the_command_distribution_contains_no_modules(
    wheels: dict[str, set[str]], metadata: dict[str, dict[str, Any]]
) -> None:
    dist_info = f"elt_llm-{metadata['elt-llm']['version']}.dist-info"
    assert {name.partition("/")[0] for name in wheels["elt_llm"]} == {dist_info}
    assert f"{dist_info}/entry_points.txt" in wheels["elt_llm"]


def test_the_release_workflow_runs_the_check_and_grants_each_job_only_the_permissions_it_needs(project: Path) -> None:
    workflow = yaml.safe_load((project / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "check": {"contents": "read"},
        "release": {"contents": "write"},
        "publish": {"id-token": "write"},
    }
    assert "make release-check" in [step.get("run") for step in jobs["check"]["steps"]]
    assert (jobs["release"]["needs"], jobs["publish"]["needs"]) == ("check", "release")
    # Inputs are passed as variables: text in a command could add commands.
    assert not [step for job in jobs.values() for step in job["steps"] if "${{" in str(step.get("run"))]

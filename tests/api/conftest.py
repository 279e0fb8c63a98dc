"""The sample documents, ingested once with the fake model, and a command line for asking about them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from processes.command_line import FAKE, SAMPLES, CommandLine


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the ingested samples, which tests only read."""
    folder = tmp_path_factory.mktemp("samples")
    assert run(["ingest", str(SAMPLES), "-c", "samples", "--json"], FAKE, folder) == 0
    return folder


@pytest.fixture
def samples(sample_folder: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line on the shared sample data, for commands that only read."""
    return CommandLine(sample_folder, capsys)


@pytest.fixture
def own_samples(sample_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line on a copy of the sample data, which the test may change."""
    shutil.copytree(sample_folder, tmp_path / "copy")
    return CommandLine(tmp_path / "copy", capsys)


@pytest.fixture
def elt_llm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, called within this process and in an empty folder."""
    return CommandLine(tmp_path, capsys)


@pytest.fixture
def notes(elt_llm: CommandLine) -> Callable[..., Path]:
    """Return a function that writes Markdown files of one sentence each into the folder `notes`."""

    def write(**sentences: str) -> Path:
        folder = elt_llm.folder / "notes"
        folder.mkdir(exist_ok=True)
        for name, sentence in sentences.items():
            (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{sentence}\n", encoding="utf-8")
        return folder

    return write

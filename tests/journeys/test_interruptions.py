"""An ingest that is cut off or runs beside another: exit codes, sentences, and nothing lost."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import FAKE, Ended, command, run_process
from elt_llm_api.cli import run
from folders import generated_files, write_files

GOES_ON = "Running the same command again goes on where this one stopped."
SLOW = {**FAKE, "ELT_LLM_EMBEDDING__BATCH_SIZE": "1"}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with files enough to be caught in the middle."""
    write_files(tmp_path / "files", generated_files(120, sections=8))
    return tmp_path


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A process of the command that takes signals as one in the foreground does."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env={**os.environ, **SLOW},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - one thread
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_line(process: "subprocess.Popen[str]", beginning: str) -> None:
    """Read its stderr up to a line that begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(beginning):
            return
    pytest.fail(f"the process ended without saying {beginning!r}")


def ended(process: "subprocess.Popen[str]") -> Ended:
    out, err = process.communicate(timeout=60)
    return Ended(process.returncode, out, err)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "Terminated.")]
)
def test_a_signal_ends_an_ingest_and_the_same_command_goes_on(
    number: signal.Signals, code: int, word: str, library: Path
) -> None:
    with started(library, "ingest", "files", "-c", "all") as process:
        wait_for_line(process, "Embedding passages")
        time.sleep(0.2)
        process.send_signal(number)
        stopped = ended(process)
    assert stopped.code == code, stopped
    assert f"{word} {GOES_ON}" in stopped.err
    assert "Traceback" not in stopped.err
    assert stopped.out == ""
    resumed = run_process("ingest", "files", "-c", "all", "--json", folder=library, **FAKE).json
    assert resumed["published"]
    assert resumed["documents"] == 120
    oneshot = run_process("ingest", "files", "-c", "all", "--json", folder=library, ELT_LLM_DATA_DIR="other", **FAKE)
    assert resumed["collection_hash"] == oneshot.json["collection_hash"]


@pytest.mark.parametrize("arguments", [("ask", "Why?", "-c", "a"), ("chat", "-c", "a"), ("search", "w", "-c", "a")])
def test_what_keeps_nothing_does_not_promise_to_go_on(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Mapping[str, str]):
        """Ctrl-C as the settings are read."""

        def __getitem__(self, name: str) -> str:
            raise KeyError(name)

        def __len__(self) -> int:
            return 0

        def __iter__(self) -> Iterator[str]:
            raise KeyboardInterrupt

    assert run(arguments, Interrupting(), tmp_path) == 130
    assert capsys.readouterr().err == "\nInterrupted.\n"
    assert run(["ingest", "files", "-c", "a"], Interrupting(), tmp_path) == 130
    assert capsys.readouterr().err == f"\nInterrupted. {GOES_ON}\n"


def test_a_second_writer_is_refused_while_readers_go_on(library: Path) -> None:
    (library / "note.md").write_text("The mast is twelve metres tall.", encoding="utf-8")
    assert run_process("ingest", "note.md", "-c", "note", folder=library, **FAKE).code == 0
    with started(library, "ingest", "files", "-c", "all") as process:
        wait_for_line(process, "Embedding passages")
        process.send_signal(signal.SIGSTOP)  # however long the others take, it holds the lock
        refused = run_process("ingest", "note.md", "-c", "second", folder=library, **FAKE)
        answered = run_process("ask", "How tall is the mast?", "-c", "note", "--json", folder=library, **FAKE)
        status = run_process("status", folder=library, **FAKE)
        process.send_signal(signal.SIGCONT)
        first = ended(process)
    assert refused.code == 75
    assert f"process {process.pid} (elt-llm ingest files -c all" in refused.err
    assert answered.json["answered"]
    assert f"by process {process.pid}" in status.out
    assert first.code == 0, first


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    more_than_a_pipe_holds = "# Long\n\n" + "The mast is twelve metres tall.\n\n" * 8000
    (tmp_path / "long.md").write_text(more_than_a_pipe_holds, encoding="utf-8")
    assert run_process("ingest", "long.md", "-c", "all", folder=tmp_path, **FAKE).code == 0
    shell = subprocess.run(
        ["bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", *command("show", "long.md", "-c", "all")],
        cwd=tmp_path,
        env={**os.environ, **FAKE, "PYTHONUNBUFFERED": ""},  # unbuffered, Python itself hides a half written text
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shell.stdout, shell.returncode) == ("# Long\n", 128 + signal.SIGPIPE)
    assert "Traceback" not in shell.stderr
    assert "BrokenPipeError" not in shell.stderr

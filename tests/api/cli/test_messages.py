"""Printed output: commands grouped by heading, each file once, long lists as a count, hints beside problems."""

from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_api.cli import COMMANDS, run
from malformed.seeds import one_page, pdf, stream
from processes.command_line import FAKE, CommandLine, run_here
from stored.folders import write_files

SECTIONS = "# Mast\n\nThe mast is twelve metres tall.\n\n# Keel\n\nThe keel is made of oak.\n"
SPLIT = "collection_prefix: ship_\nsplit_by: section\npaths: [notes/ship.md]\n"


def test_the_help_lists_each_command_once_under_the_heading_of_its_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--help"], {}, tmp_path) == 0
    shown = capsys.readouterr().out.splitlines()
    for heading in {entry.heading for entry in COMMANDS}:
        assert shown.count(f"{heading}:") == 1
    assert all(sum(line.startswith(f"  {entry.name} ") for line in shown) == 1 for entry in COMMANDS)
    assert max(map(len, shown)) <= 80


def test_a_file_in_several_collections_is_listed_once(elt_llm: CommandLine) -> None:
    write_files(
        elt_llm.folder, {"notes/ship.md": SECTIONS, "config/rag_config.yaml": "", "config/ingest/s.yaml": SPLIT}
    )
    shown = elt_llm.done("ingest", "--job", "s").out
    assert shown.count("ship.md") == 1
    assert "2 chunks in 2 collections" in shown
    assert {"ship_mast: 1 document", "ship_keel: 1 document"} <= {line.split(",")[0] for line in shown.splitlines()}


def test_a_job_without_files_is_reported(elt_llm: CommandLine) -> None:
    job = SPLIT.replace("ship.md", "*.md")
    write_files(elt_llm.folder, {"notes/a.txt": "A.", "config/rag_config.yaml": "", "config/ingest/s.yaml": job})
    assert "No files at the paths of this job." in elt_llm.done("ingest", "--job", "s").out


def test_a_renamed_file_is_listed_with_both_names(elt_llm: CommandLine, notes: Callable[..., Path]) -> None:
    folder = notes(mast="The mast is twelve metres tall.", keel="The keel is made of oak.")
    elt_llm.done("ingest", "notes", "-c", "ship")
    (folder / "mast.md").rename(folder / "pole.md")
    shown = elt_llm.done("ingest", "-c", "ship").out
    assert "renamed to pole.md" in shown
    assert "renamed from mast.md" in shown


def test_a_skipped_file_is_listed_with_a_relative_path(
    elt_llm: CommandLine, notes: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes(mast="The mast is twelve metres tall.")
    (folder / "plan.dwg").write_bytes(b"lines")
    monkeypatch.chdir(elt_llm.folder)
    assert "skipped  notes/plan.dwg  no reader" in elt_llm.done("ingest", "notes", "-c", "ship").out


def test_a_page_without_text_layer_is_reported_with_a_hint(elt_llm: CommandLine, notes: Callable[..., Path]) -> None:
    folder = notes(mast="The mast is twelve metres tall.")
    (folder / "scan.pdf").write_bytes(pdf(one_page(stream(b"60 60 m 200 200 l S"))))
    shown = elt_llm.done("ingest", "notes", "-c", "ship").out
    assert "page 1 has no text layer" in shown
    assert "set ingest.ocr: true" in shown


def test_drop_lists_the_collections_before_confirmation_and_afterwards_reports_only_their_number(
    elt_llm: CommandLine, notes: Callable[..., Path]
) -> None:
    notes(mast="The mast is twelve metres tall.")
    names = [f"a-rather-long-name-of-a-ship-{number}" for number in range(4)]
    for name in names:
        elt_llm.done("ingest", "notes", "-c", name)
    assert "ok 4 collections" in elt_llm.done("verify").out
    asked = run_here("drop", "--prefix", "a-", folder=elt_llm.folder, environment=FAKE)
    assert all(name in asked.err for name in names)
    assert "Delete 4 collections for good? [y/N]: \nError: Nothing was deleted" in asked.err
    assert (
        elt_llm.done("drop", "--prefix", "a-", "--yes").out
        == "Deleted 4 collections. To erase the bytes: elt-llm purge\n"
    )

"""`elt-llm ingest` for people and programs: jobs, dry run, watching, reports, progress."""

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from processes.command_line import CommandLine, command
from processes.terminals import in_terminal, read_until
from stored.folders import generated_files, write_files

pytestmark = pytest.mark.halved


JOB = "description: Notes.\ncollection: notes\npaths: ['notes/**/*.md']\n"


@pytest.fixture
def project(elt_llm: CommandLine, notes: Callable[..., Path]) -> CommandLine:
    """A folder with two notes and a job for them."""
    notes(mast="The mast is twelve metres tall.", keel="The keel is made of oak.")
    write_files(elt_llm.folder, {"config/rag_config.yaml": "", "config/ingest/notes.yaml": JOB})
    return elt_llm


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No collection is named."),
        (["notes"], "No collection is named."),
        (["notes", "--job", "notes"], "A job names its own paths"),
        (["-c", "x", "--job", "notes"], "A job names its own paths"),
        (["notes", "-c", "x", "--watch", "--json"], "cannot be combined with --dry-run or --json"),
        (["--job", "nots"], "Did you mean notes?"),
        (["notes", "-c", "x", "--report", "nowhere/r.json"], "no folder"),
        (["--job", "notes\0"], "There is no job"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(arguments: list[str], message: str, project: CommandLine) -> None:
    ended = project("ingest", *arguments)
    assert ended.code == 2
    assert message in ended.err + ended.out
    assert not (project.folder / ".elt_llm").exists()


def test_an_ingest_job_fills_its_collection_and_stores_its_source_paths(project: CommandLine) -> None:
    ran = project.done("ingest", "--job", "notes", "--json").json
    [report] = ran["jobs"]
    assert (report["job"], report["reports"][0]["collection"]) == ("notes", "notes")
    assert "twelve" in str(project.done("ask", "How tall is the mast?", "-c", "notes", "--json").json["answer"])
    refused = project("ingest", "-c", "notes")
    assert (refused.code, "Run: elt-llm ingest --job notes" in refused.err) == (2, True)
    shown = project.done("ingest", "--job", "config/ingest/notes.yaml").out
    assert "Job notes" in shown
    assert "nothing changed" in shown


def test_a_list_of_jobs_has_a_report_per_job_and_fails_if_one_job_fails(project: CommandLine) -> None:
    write_files(
        project.folder,
        {
            "config/ingest/bad.yaml": "collection: bad\npaths: [nowhere]\n",
            "config/ingest/load_all.yaml": "jobs: [bad, notes]\n",
        },
    )
    ended = project("ingest", "--job", "load_all")
    assert ended.code == 1
    assert ended.out.index("Job bad") < ended.out.index("no file or folder nowhere") < ended.out.index("Job notes")
    assert [it["error"] == "" for it in project("ingest", "--job", "load_all", "--json").json["jobs"]] == [False, True]


def test_a_dry_run_writes_nothing(project: CommandLine) -> None:
    new = project.done("ingest", "notes", "-c", "notes", "--dry-run", "--json").json
    assert new["plans"][0]["counts"] == {"new": 2}
    assert "2 new" in project.done("ingest", "--job", "notes", "--dry-run").out
    assert not (project.folder / ".elt_llm").exists()
    project.done("ingest", "--job", "notes")
    assert "nothing would change (2 unchanged)" in project.done("ingest", "--job", "notes", "--dry-run").out
    assert project("ingest", "-c", "nowhere", "--dry-run").code == 2


def test_a_dry_run_proposes_the_columns_of_a_data_dictionary(project: CommandLine) -> None:
    rows = "".join(f"Element {number},The meaning of element {number},Staff\n" for number in range(9))
    (project.folder / "elements.csv").write_text(f"Element Name,Definition,Domain\n{rows}")
    plan = project.done("ingest", "elements.csv", "-c", "elements", "--dry-run").out
    assert 'columns: {entity: "Element Name", definition: "Definition", domain: "Domain"}' in plan
    [planned] = project.done("ingest", "elements.csv", "-c", "elements", "--dry-run", "--json").json["plans"][0][
        "files"
    ]
    assert planned["columns"] == {"entity": "Element Name", "definition": "Definition", "domain": "Domain"}


def test_a_dry_run_ignores_the_write_lock(project: CommandLine) -> None:
    from elt_llm_core.store.lock import writer_lock

    project.done("ingest", "notes", "-c", "notes")
    with writer_lock(project.folder / ".elt_llm", "somebody"):
        assert project("ingest", "notes", "-c", "notes", "--dry-run").code == 0
        assert project("ingest", "--job", "notes").code == 75


def test_the_ingest_report_lists_every_file(project: CommandLine) -> None:
    write_files(project.folder / "many", {f"{number:02}.md": f"Plank {number}." for number in range(50)})
    ended = project.done("ingest", "many", "-c", "many", "--report", "report.json")
    assert "... and 10 more: --report FILE or --json lists them all." in ended.out
    assert f"Wrote the outcome of every file to {project.folder / 'report.json'}" in ended.out
    listed = json.loads((project.folder / "report.json").read_text(encoding="utf-8"))
    assert len(listed["files"]) == 50


def test_a_long_file_name_does_not_widen_the_columns_of_other_lines(project: CommandLine) -> None:
    write_files(project.folder / "long", {"a.md": "Short.", f"{'x' * 252}.md": "Long."})
    lines = project.done("ingest", "long", "-c", "long").out.splitlines()
    assert lines[0] == "ok  a.md  1 chunk"
    assert lines[1] == f"ok  {'x' * 252}.md  1 chunk"


def test_an_invalid_settings_file_is_refused(project: CommandLine) -> None:
    for name in ("/dev/zero", "pipe.yaml", "notes"):
        if name == "pipe.yaml":
            os.mkfifo(project.folder / name)
        refused = project("--config", name, "collections")
        assert (refused.code, "is not a regular file" in refused.err) == (2, True), name
    wrong = "query:\n" + "".join(f"  wrong_{number}: 1\n" for number in range(5000))
    (project.folder / "wrong.yaml").write_text(wrong)
    lines = project("--config", "wrong.yaml", "collections").err.splitlines()
    assert "and 4,980 more mistakes" in lines[20]
    assert len(lines) < 25


def test_a_terminal_shows_progress_rate_and_remaining_time(elt_llm: CommandLine) -> None:
    write_files(elt_llm.folder / "files", generated_files(60, sections=6))
    with in_terminal(elt_llm.folder, command("ingest", "files", "-c", "all")) as (terminal, process):
        shown = read_until(terminal, "published as generation 1")
        assert process.wait(60) == 0
    assert re.search(r"Reading files .{10,60}60 files in [0-9.]+ s, [0-9,]+/s", shown)
    assert re.search(r"Embedding chunks .{10,60}[0-9]+ chunks in [0-9.]+ s", shown)
    assert "60 ok" in shown


@pytest.mark.sampled(1, "watch")
def test_the_watch_option_reports_each_change_and_ends_on_an_interrupt(elt_llm: CommandLine) -> None:
    write_files(elt_llm.folder / "files", {"a.md": "# A\n\nAn anchor.\n"})
    with in_terminal(elt_llm.folder, command("ingest", "files", "-c", "all", "--watch")) as (terminal, process):
        assert "generation 1" in read_until(terminal, "Press Ctrl-C to stop.")
        write_files(elt_llm.folder / "files", {"b.md": "# B\n\nA basin.\n"})
        printed = read_until(terminal, "s after the change")
        assert re.search(r"all: 2 documents.{0,200}generation 2", printed, re.DOTALL)
        (elt_llm.folder / "files" / "c.pdf").write_bytes(b"%PDF-1.4 and no more")
        assert "c.pdf" in read_until(terminal, "c.pdf")
        (elt_llm.folder / "files" / "b.md").unlink()
        assert "no longer found" in read_until(terminal, "removed  b.md  no longer found")
        assert elt_llm("ingest", "files", "-c", "other").code == 1  # the lock is free, and the PDF still cannot be read
        process.send_signal(signal.SIGINT)
        assert "Interrupted. Run the same command again" in read_until(terminal, "stopped.")
        assert process.wait(10) == 130


@pytest.mark.sampled(1, "watch")
def test_the_watch_option_reloads_a_changed_job_file(project: CommandLine) -> None:
    write_files(project.folder, {"more/reef.md": "# Reef\n\nSharp.\n"})
    with in_terminal(project.folder, command("ingest", "--job", "notes", "--watch")) as (terminal, process):
        read_until(terminal, "Press Ctrl-C to stop.")
        write_files(project.folder, {"config/ingest/notes.yaml": "collection: notes\npaths: 3\n"})
        assert "paths = 3" in read_until(terminal, "paths = 3")
        write_files(project.folder, {"config/ingest/notes.yaml": JOB.replace("paths: [", "paths: [more, ")})
        assert "3 documents" in read_until(terminal, "3 documents", "Press Ctrl-C to stop.")
        write_files(project.folder, {"more/buoy.md": "# Buoy\n\nRed.\n"})
        assert "4 documents" in read_until(terminal, "4 documents")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143

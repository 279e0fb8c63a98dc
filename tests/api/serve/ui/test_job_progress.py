"""The status of a job: its name, its progress or what it is waiting for, and its result."""

import re
from typing import Any

import pytest
from browsing.html_effects import ShownHtml
from elt_llm_api.display.text import STAGE_WORDS
from elt_llm_api.serve.actions.rows import ExportFile
from elt_llm_api.serve.ui.controls import job_html
from elt_llm_api.serve.ui.jobs import files_markdown
from elt_llm_api.serve.ui.texts import load_texts
from elt_llm_core.state.jobs import JobStatus, QueuedJob

READ: dict[str, Any] = {
    "counts": {"ok": 1, "failed": 7},
    "files": [{"path": f"notes-{number}", "status": "failed", "reason": "It is empty."} for number in range(7)],
    "notes": [],
}
MADE: dict[str, Any] = {"rows": 3, "made": 1, "kept": 1, "notes": []}
MOMENT = "2026-01-01T10:00:00+00:00"
FAILURE = {"name": "Cup", "reason": "No model answers.", "hint": "Start it."}


def shown(kind: str, status: JobStatus, language: str = "en", **others: Any) -> str:
    arguments = {"collection": "birds"} if kind in {"ingest", "forget"} else {"job": "terms"}
    given = {"progress": {}, "result": {}, "error": "", "created_at": MOMENT, "updated_at": MOMENT, **others}
    html = job_html(QueuedJob("0", kind, arguments, "local", status, 1, None, **given), load_texts(language))
    bars = re.findall("<progress[^>]*>", html)
    paragraphs = [ShownHtml(part).text for part in html.split("</p>")]
    return "\n\n".join([paragraphs[0], *bars, *filter(None, paragraphs[1:])])


@pytest.mark.parametrize("kind", ["ingest", "forget", "glossary"])
def test_a_queued_job_shows_what_it_is_waiting_for(kind: str) -> None:
    notes = ["Somebody reads.", "The lock is held by another ingest."]
    lines = shown(kind, "queued", progress={"notes": notes}).split("\n\n")
    assert lines[0].endswith("… is waiting.")
    assert lines[1:] == notes[-1:]


def test_the_progress_of_a_forget_job_has_its_own_label() -> None:
    progress = {"stage": "index", "done": 2, "total": 9, "detail": ""}
    lines = shown("forget", "running", progress=progress).split("\n\n")
    assert lines == [
        "Forgetting a document of birds ▶ is running.",
        '<progress max="9" value="2">',
        "Building the index: 2 of 9",
    ]


def test_the_stages_of_a_job_have_the_same_labels_as_in_the_terminal() -> None:
    progress = {"stage": "rows", "done": 0, "total": 0, "detail": "Averell Cup"}
    lines = shown("glossary", "running", progress=progress).split("\n\n")
    assert lines == ["Glossary of terms ▶ is running.", "Making rows: 0 Averell Cup"]
    assert {stage: load_texts("en")(f"stage.{stage}") for stage in STAGE_WORDS} == {
        stage: label for stage, (label, _) in STAGE_WORDS.items()
    }


def test_the_job_progress_lists_the_first_failed_files() -> None:
    lines = shown("ingest", "done", result=READ).split("\n\n")
    assert lines[:3] == ["Reading files into birds ✓ is done.", "1 ok, 7 failed.", "notes-0: It is empty."]
    assert lines[-1] == "2 more failed."


def test_failed_rows_are_listed_with_the_remedy() -> None:
    lines = shown("catalog", "done", result={**MADE, "failures": [FAILURE]}).split("\n\n")
    assert lines[1:] == ["3 rows: 1 made now, 1 kept.", "Cup: No model answers. Start it."]


def test_the_notes_of_a_job_that_are_not_listed_are_counted() -> None:
    notes = [f"Note {number}." for number in range(7)]
    assert shown("catalog", "done", result={**MADE, "failures": [], "notes": notes}).endswith("Further notes: 2.")


def test_a_failed_job_shows_its_error() -> None:
    assert shown("ingest", "failed", error="The disk is full.").endswith("✗ failed.\n\nThe disk is full.")


def test_the_notes_and_errors_of_a_job_are_in_the_language_of_the_page() -> None:
    notes = ["/data is being written by `elt-llm purge`."]
    assert shown("ingest", "queued", "de", progress={"notes": notes}).endswith("schreibt gerade `elt-llm purge`.")
    stopped = (
        "The run was stopped: the language model was unreachable for 5 consecutive rows."
        " Start the model's server, and run the job again."
    )
    missing = "Not complete: 2 of 3 rows are missing: Cup, Ship."
    lines = shown("catalog", "done", "de", result={**MADE, "failures": [], "notes": [missing, stopped]}).split("\n\n")
    assert lines[2:] == [
        "Nicht vollständig: 2 von 3 Zeilen fehlen: Cup, Ship.",
        "Der Lauf wurde angehalten: das Sprachmodell war für 5 Zeilen nacheinander nicht erreichbar."
        " Starten Sie den Server des Modells und dann den Auftrag noch einmal.",
    ]
    error = (
        "Nothing could be read from 2 files. The first is notes: is encrypted: a password is needed."
        " Fix the causes given for the files, and ingest the files again."
    )
    assert shown("ingest", "failed", "de", error=error).split("\n\n")[1] == (
        "Es konnte nichts gelesen werden. Die erste Datei ist notes: ist verschlüsselt: Ein Passwort ist nötig."
        " Beheben Sie die genannten Ursachen, und lesen Sie die Dateien noch einmal ein."
    )


def test_the_name_of_a_file_in_the_progress_is_shown_as_it_is() -> None:
    name = "**bold** [x](http:evil) `c` _1_ 3*4*5.txt"
    for status in ("failed", "empty"):
        files = [{"path": name, "status": status, "reason": "It is empty."}]
        assert f"{name}: It is empty." in shown("ingest", "done", result={**READ, "files": files})


def test_files_that_are_withheld_have_no_link_and_their_reason_is_shown() -> None:
    written: dict[str, Any] = {"bytes": 7, "written_at": MOMENT, "before_reviews": False}
    files = [ExportFile(file=name, format="csv", withheld=name == "b.csv", **written) for name in ("a.csv", "b.csv")]
    shown_files = files_markdown(files, "terms", "glossary", load_texts())
    assert "/v1/rows/terms/glossary/files/a.csv" in shown_files
    assert "b.csv" not in shown_files
    assert "made from a document that was forgotten since" in shown_files
    assert files_markdown(files[1:], "terms", "glossary", load_texts()).startswith("Some files are withheld")

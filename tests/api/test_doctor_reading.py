"""`elt-llm doctor` tells whether files are read behind a guard, and with what."""

from pathlib import Path

import pytest
from elt_llm_api.diagnosis import reading
from elt_llm_api.diagnosis.check import Facts, Outcome, Verdict
from elt_llm_core.settings_loader import load_settings
from elt_llm_ingest.readers.tesseract import installed_version


def verdicts(folder: Path, ingest: str) -> dict[str, Verdict]:
    (folder / "config").mkdir()
    (folder / "config" / "rag_config.yaml").write_text(f"ingest: {ingest}\n")
    facts = Facts({}, folder, load_settings(None, environment={}, working_directory=folder), None)
    return {check.name: check.verdict(facts) for check in reading.CHECKS}


def test_a_worker_starts_and_the_guard_is_told(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{}")
    assert found["reading files"] == Verdict(Outcome.OK, "works")
    assert found["network guard"].outcome in {Outcome.OK, Outcome.WARNING}
    assert found["pdf reader"].detail == "pdfium"


def test_ocr_that_is_off_is_never_a_warning(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{ocr: false}")["ocr"].outcome is Outcome.OK


def test_languages_that_are_missing_come_with_the_command_that_brings_them(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{ocr: true, ocr_languages: eng+tlh_old}")["ocr"]
    assert found.outcome is Outcome.WARNING
    assert ("tesseract-ocr-tlh-old" if installed_version() else "tesseract-ocr") in found.hint


def test_tesseract_that_is_not_there_is_a_warning_only_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = verdicts(tmp_path, "{ocr: true}")["ocr"]
    assert (found.outcome, found.hint) == (Outcome.WARNING, "Run: apt-get install tesseract-ocr")


def test_docling_that_is_asked_for_and_missing_is_a_failure(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{pdf_reader: docling}")["pdf reader"].outcome is Outcome.FAILURE

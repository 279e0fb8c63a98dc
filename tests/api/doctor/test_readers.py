"""`elt-llm doctor` reports whether files are parsed in a sandbox, and which protections it has."""

from pathlib import Path

import pytest
from elt_llm_api.doctor import configuration as reading
from elt_llm_api.doctor.check import CheckOutcome, CheckVerdict, DoctorFacts
from elt_llm_core.settings.loader import load_settings
from elt_llm_ingest.readers.tesseract import installed_version


def verdicts(folder: Path, ingest: str) -> dict[str, CheckVerdict]:
    (folder / "config").mkdir()
    (folder / "config" / "rag_config.yaml").write_text(f"ingest: {ingest}\n")
    facts = DoctorFacts({}, folder, load_settings(None, environment={}, working_directory=folder), None)
    return {name: check(facts) for name, check in reading.READER_CHECKS.items()}


def test_a_worker_starts_and_its_sandbox_is_reported(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{}")
    assert found["reading files"] == CheckVerdict(CheckOutcome.OK, "works")
    assert found["network guard"].outcome in {CheckOutcome.OK, CheckOutcome.WARNING}
    assert found["pdf reader"].detail == "pdfium"


def test_disabled_ocr_is_never_a_warning(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{ocr: false}")["ocr"].outcome is CheckOutcome.OK


def test_missing_languages_are_reported_with_the_command_that_installs_them(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{ocr: true, ocr_languages: eng+tlh_old}")["ocr"]
    assert found.outcome is CheckOutcome.WARNING
    assert ("tesseract-ocr-tlh-old" if installed_version() else "tesseract-ocr") in found.hint


def test_a_missing_tesseract_is_a_warning_only_if_ocr_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = verdicts(tmp_path, "{ocr: true}")["ocr"]
    assert (found.outcome, found.hint) == (CheckOutcome.WARNING, "Run: apt-get install tesseract-ocr")


def test_a_missing_docling_is_a_failure_if_it_is_set(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{pdf_reader: docling}")["pdf reader"].outcome is CheckOutcome.FAILURE

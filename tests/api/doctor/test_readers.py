"""`elt-llm doctor` reports whether files are parsed in a sandbox, and which protections it has."""

from pathlib import Path

import pytest
from elt_llm_api.doctor import configuration as reading
from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts
from elt_llm_core.settings.loader import load_settings
from elt_llm_ingest.readers.tesseract import installed_version


def verdicts(folder: Path, ingest: str) -> dict[str, CheckVerdict]:
    (folder / "config").mkdir()
    (folder / "config" / "rag_config.yaml").write_text(f"ingest: {ingest}\n")
    facts = DoctorFacts({}, load_settings(None, environment={}, working_directory=folder), None)
    return {name: check(facts) for name, check in reading.READER_CHECKS.items()}


def test_the_doctor_starts_a_parse_worker_and_reports_its_sandbox(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{}")
    assert found["reading files"] == CheckVerdict("ok", "works")
    assert found["network guard"].outcome in {"ok", "warn"}
    assert found["pdf reader"].detail == "pdfium"


def test_the_doctor_never_warns_about_ocr_that_is_switched_off(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{ocr: false}")["ocr"].outcome == "ok"


def test_missing_ocr_languages_are_reported_with_the_command_that_installs_them(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "{ocr: true, ocr_languages: eng+tlh_old}")["ocr"]
    assert found.outcome == "warn"
    assert ("tesseract-ocr-tlh-old" if installed_version() else "tesseract-ocr") in found.hint


def test_the_doctor_warns_about_missing_tesseract_only_if_ocr_is_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = verdicts(tmp_path, "{ocr: true}")["ocr"]
    assert (found.outcome, found.hint) == ("warn", "Run: apt-get install tesseract-ocr")


def test_a_missing_docling_library_is_a_failure_if_the_settings_choose_docling(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "{pdf_reader: docling}")["pdf reader"].outcome == "FAIL"

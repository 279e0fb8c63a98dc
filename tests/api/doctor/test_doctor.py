"""`elt-llm doctor`: every failure is found and is reported with its cure."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from elt_llm_api.doctor.installation import library
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store

Doctor = Callable[..., dict[str, dict[str, str]]]


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run `elt-llm doctor` in an empty folder with the fake embedding model; return the verdicts by check."""

    def examine(*arguments: str, code: int = 0, **environment: str) -> dict[str, dict[str, str]]:
        fake = {"ELT_LLM_EMBEDDING__PROVIDER": "fake"}
        assert run(["doctor", "--json", *arguments], {**fake, **environment}, tmp_path) == code
        document = json.loads(capsys.readouterr().out)
        assert document["ok"] is (code == 0)
        return {check["name"]: check for check in document["checks"]}

    return examine


def configure(folder: Path, text: str) -> None:
    (folder / "config").mkdir()
    (folder / "config" / "rag_config.yaml").write_text(text)


def test_a_fresh_installation_is_healthy_and_nothing_is_written(doctor: Doctor, tmp_path: Path) -> None:
    checks = doctor(ELT_LLM_EMBEDDING__PROVIDER="embedded")
    assert len(checks) >= 15
    assert not [check for check in checks.values() if check["outcome"] == "FAIL"]
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_reports_every_problem_with_the_remedy(doctor: Doctor, tmp_path: Path) -> None:
    configure(tmp_path, "query: {leg_topk: 1}\n")
    checks = doctor(code=1)
    assert all(check["hint"] for check in checks.values() if check["outcome"] != "ok")
    assert "config/rag_config.yaml:1: query.leg_topk = 1" in checks["settings"]["detail"]
    assert checks["data directory"]["outcome"] == "warn"


def test_an_unreadable_profile_fails_the_doctor_check(doctor: Doctor, tmp_path: Path) -> None:
    configure(tmp_path, "")
    (tmp_path / "config" / "profiles").mkdir()
    (tmp_path / "config" / "profiles" / "mine.yaml").write_text("query: 3\n")
    assert doctor(code=1)["profiles"]["detail"].startswith("config/profiles/mine.yaml:1: ")


def test_an_unreadable_alias_file_fails_the_doctor_check(doctor: Doctor, tmp_path: Path) -> None:
    configure(tmp_path, "")
    (tmp_path / "config" / "aliases.yaml").write_text("aliases:\n  HR: personnel\n")
    assert doctor(code=1)["aliases"]["detail"].startswith("config/aliases.yaml:2: ")


def test_a_data_directory_that_is_a_file_fails_the_doctor_check(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert doctor("--data-dir", "file", code=1)["data directory"]["detail"].endswith("is not a folder")


def test_a_data_directory_readable_by_others_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / ".elt_llm").mkdir(mode=0o755)
    (tmp_path / ".elt_llm").chmod(0o750)
    assert doctor()["permissions"]["hint"] == f"Run: chmod 700 {tmp_path / '.elt_llm'}"


def test_the_doctor_names_the_process_that_holds_the_lock(doctor: Doctor, tmp_path: Path) -> None:
    with writer_lock(tmp_path / ".elt_llm", "elt-llm ingest documents"):
        assert f"process {os.getpid()} (elt-llm ingest documents" in doctor()["writer's lock"]["detail"]
    assert doctor()["writer's lock"]["detail"] == "free"


def test_an_interrupted_run_is_reported_with_the_command_that_continues_it(doctor: Doctor, tmp_path: Path) -> None:
    with open_store(tmp_path / ".elt_llm", for_writing=True) as store:
        collection = store.collections.create("papers")
        store.collections.begin_run(collection.id, "elt-llm ingest documents -c papers")
    check = doctor()["unfinished runs"]
    assert (check["outcome"], check["hint"]) == ("warn", "Continue with: elt-llm ingest documents -c papers")


def test_a_damaged_store_fails_the_doctor_check(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / ".elt_llm").mkdir(mode=0o700)
    (tmp_path / ".elt_llm" / "store.sqlite3").write_bytes(b"not a database, and long enough to be looked at" * 100)
    assert doctor(code=1)["collections"]["outcome"] == "FAIL"


def test_a_missing_library_fails_the_doctor_check() -> None:
    assert library("no-such-library", "no_such_library").hint == "Run: uv sync"
    assert library("pyyaml", "no_such_module").outcome == "FAIL"


def test_the_doctor_table_has_a_line_for_each_check_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(tmp_path, "query: {leg_topk: 1}\nllm: {x: 1}\n")
    assert run(["doctor"], {}, tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok    python ")
    assert any(line.startswith("FAIL  settings ") for line in lines)
    assert lines[-1].endswith(" failed")

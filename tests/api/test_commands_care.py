"""Forgetting, purging, exporting, importing, verifying deeply and rolling back, by their commands."""

import json
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import PROJECT, CommandLine

ANSWER = "How tall is the mast?"
TIMES = {"latency_ms", "trace", "seconds"}


def answer(elt_llm: CommandLine, question: str = ANSWER) -> str:
    return str(elt_llm.done("ask", question, "-c", "ship", "--json").json["answer"])


@pytest.fixture
def ship(elt_llm: CommandLine, notes: Callable[..., Path]) -> CommandLine:
    """A folder whose collection `ship` has two generations; the mast grew from twelve metres to fifteen."""
    notes(mast="The mast is twelve metres tall.", keel="The keel is made of oak.")
    elt_llm.done("ingest", "notes", "-c", "ship")
    notes(mast="The mast is fifteen metres tall.")
    elt_llm.done("ingest", "-c", "ship")
    return elt_llm


def status(elt_llm: CommandLine) -> dict[str, Any]:
    return dict(elt_llm.done("status", "-c", "ship", "--json").json["collections"][0])


def test_a_forgotten_document_is_told_once_and_then_already_forgotten(ship: CommandLine) -> None:
    told = ship.done("forget", "mast.md", "-c", "ship", "--yes", "--json").json
    assert (told["documents"], told["generation"], told["deleted_generations"]) == (["mast.md"], 3, [1, 2])
    assert "fifteen" not in answer(ship)
    assert "already forgotten" in ship.done("forget", "mast.md", "-c", "ship", "--yes").out
    assert (status(ship)["forgotten"], status(ship)["documents"]) == (1, 1)
    assert "1 document forgotten" in ship.done("status").out


def test_forgetting_asks_first_and_a_program_must_say_yes(ship: CommandLine) -> None:
    refused = ship("forget", "mast.md", "-c", "ship", "--json")
    assert refused.code == 2
    assert "--yes" in refused.json["error"]["hint"]
    assert "fifteen" in answer(ship)
    assert ship("forget", "sail.md", "-c", "ship", "--yes").code == 2


def test_a_purge_leaves_a_receipt_and_what_is_published(ship: CommandLine, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    told = ship.done("purge", "--yes", "--receipt", str(receipt), "--json").json
    assert told == json.loads(receipt.read_text(encoding="utf-8"))
    assert (told["clean"], told["generations"], told["check"]["found_in"]) == (True, 1, [])
    assert told["beyond_reach"]
    assert "fifteen" in answer(ship)
    assert b"twelve" not in b"".join(it.read_bytes() for it in (ship.folder / ".elt_llm").rglob("*") if it.is_file())
    said = ship.done("purge", "-c", "ship", "--yes").out
    assert "Beyond reach:" in said


def test_a_receipt_has_a_place_of_its_own(ship: CommandLine, tmp_path: Path) -> None:
    for place in (ship.folder / ".elt_llm" / "receipt.json", ship.folder / "notes" / "mast.md", Path("no/such/folder")):
        assert ship("purge", "--yes", "--receipt", str(place)).code == 2
    assert status(ship)["kept_generations"] == [1, 2]


def test_the_lock_names_no_document(ship: CommandLine) -> None:
    ship.done("forget", "mast.md", "-c", "ship", "--yes")
    assert "mast" not in (ship.folder / ".elt_llm" / "lock").read_text(encoding="utf-8")


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(it) for key, it in value.items() if key not in TIMES}
    return [_comparable(it) for it in value] if isinstance(value, list) else value


def test_an_imported_copy_answers_byte_for_byte(
    own_samples: CommandLine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = own_samples.done("export", "samples", "samples.zip", "--json").json
    (tmp_path / "other").mkdir()
    other = CommandLine(tmp_path / "other", capsys)
    imported = other.done("import", exported["file"], "--json").json
    assert imported["collection_hash"] == exported["collection_hash"]
    for question in ("How many days do I have to appeal?", "Who chairs the board?", "What does a licence cost?"):
        both = [
            json.dumps(_comparable(it.done("ask", question, "-c", "samples", "--json").json), sort_keys=True)
            for it in (own_samples, other)
        ]
        assert both[0] == both[1]
    assert other("import", exported["file"]).code == 2
    assert other.done("verify", "--deep", "--json").json["damage"] == []


def test_exporting_again_needs_force(ship: CommandLine) -> None:
    assert "sha256" in ship.done("export", "ship").out
    assert (ship.folder / "ship.elt.zip").is_file()
    assert ship("export", "ship").code == 2
    ship.done("export", "ship", "--force")
    assert ship("import", "missing.zip", "--json").json["error"]["type"] == "ImportRefused"


def test_an_old_store_is_refused_for_asking_and_migrated_by_verify(elt_llm: CommandLine) -> None:
    with tarfile.open(PROJECT / "tests" / "fixtures" / "store-schema-1.tar.xz") as archive:
        archive.extractall(elt_llm.folder, filter="data")
    shutil.move(elt_llm.folder / "data", elt_llm.folder / ".elt_llm")
    refused = elt_llm("ask", ANSWER, "-c", "boats")
    assert (refused.code, "elt-llm verify" in refused.err) == (1, True)
    assert elt_llm("verify", "--check-only").code == 1
    assert elt_llm.done("verify", "--deep", "--json").json == {
        "ok": True,
        "collections": ["birds", "boats"],
        "store": [],
        "damage": [],
        "unchecked": [],
        "healed": [],
    }
    assert "fifteen" in elt_llm.done("ask", ANSWER, "-c", "boats", "--json").json["answer"]
    assert len(list((elt_llm.folder / ".elt_llm" / "backups").iterdir())) == 1


def test_looking_deeply_finds_what_checksums_of_now_hide(ship: CommandLine) -> None:
    backups = ship.folder / ".elt_llm" / "backups"
    backups.mkdir()
    (backups / "store-schema-1-20200101T000000Z.sqlite3").write_bytes(b"not a database" * 100)
    assert ship.done("verify", "--check-only", "--json").json["ok"]
    deep = ship("verify", "--deep", "--check-only", "--json")
    assert deep.code == 1
    assert "store-schema-1-20200101T000000Z" in deep.json["store"][0]


def test_a_repeated_rollback_stays_where_it_is(ship: CommandLine) -> None:
    assert ship.done("rollback", "-c", "ship", "--json").json == {"collection": "ship", "from": 2, "to": 1}
    assert ship.done("rollback", "-c", "ship", "--json").json == {"collection": "ship", "from": 1, "to": 1}
    assert "already" in ship.done("rollback", "-c", "ship").out
    assert ship.done("rollback", "-c", "ship", "--again", "--json").json == {"collection": "ship", "from": 1, "to": 2}
    assert ship.done("rollback", "-c", "ship", "--to", "1", "--json").json["to"] == 1
    assert ship.done("rollback", "-c", "ship", "--to", "1", "--json").json["to"] == 1
    assert status(ship)["rolled_back"]
    refused = ship("rollback", "-c", "ship", "--to", "9")
    assert (refused.code, "Kept are: 1, 2" in refused.err) == (2, True)


def test_a_damaged_store_is_told_in_plain_text_and_without_its_documents(ship: CommandLine) -> None:
    with closing(sqlite3.connect(ship.folder / ".elt_llm" / "store.sqlite3")) as store, store:
        store.execute("ALTER TABLE collections ADD COLUMN spare TEXT")
        store.execute("PRAGMA writable_schema = ON")
        store.execute("UPDATE sqlite_master SET sql = replace(sql, 'spare TEXT', 'spare TEXT NOT NULL')")
        store.execute("UPDATE texts SET text = CAST(CAST(text AS BLOB) || x'FF' AS TEXT)")
    told = ship("verify", "--deep", "--check-only")
    assert told.code == 1
    assert "damaged store.sqlite3: NULL value in collections.spare" in told.out
    assert "Could not decode" in told.out + told.err
    assert "fifteen" not in told.out + told.err

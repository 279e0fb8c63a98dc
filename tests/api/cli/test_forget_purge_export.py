"""The commands forget, purge, export, import, deep verify and rollback."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.store.store import open_store
from old_stores import unpack
from processes.command_line import PROJECT, CommandLine

pytestmark = pytest.mark.halved


ANSWER = "How tall is the mast?"
TIMES = {"latency_ms", "trace", "seconds"}


def answer(elt_llm: CommandLine, question: str = ANSWER) -> str:
    return str(elt_llm.done("ask", question, "-c", "ship", "--json").json["answer"])


@pytest.fixture
def ship(elt_llm: CommandLine, notes: Callable[..., Path]) -> CommandLine:
    """A folder whose collection `ship` has two generations: a mast of twelve metres, then one of fifteen metres."""
    notes(mast="The mast is twelve metres tall.", keel="The keel is made of oak.")
    elt_llm.done("ingest", "notes", "-c", "ship")
    notes(mast="The mast is fifteen metres tall.")
    elt_llm.done("ingest", "-c", "ship")
    return elt_llm


def status(elt_llm: CommandLine) -> dict[str, Any]:
    return dict(elt_llm.done("status", "-c", "ship", "--json").json["collections"][0])


def test_a_document_is_reported_as_forgotten_only_once(ship: CommandLine) -> None:
    report = ship.done("forget", "mast.md", "-c", "ship", "--yes", "--json").json
    assert (report["documents"], report["generation"], report["deleted_generations"]) == (["mast.md"], 3, [1, 2])
    assert report["chunks"] == 2
    assert "fifteen" not in answer(ship)
    assert "already forgotten" in ship.done("forget", "mast.md", "-c", "ship", "--yes").out
    assert (status(ship)["forgotten"], status(ship)["documents"]) == (1, 1)
    assert "1 document forgotten" in ship.done("status").out


def test_forget_asks_for_confirmation_and_with_the_json_option_needs_the_yes_option(ship: CommandLine) -> None:
    refused = ship("forget", "mast.md", "-c", "ship", "--json")
    assert refused.code == 2
    assert "--yes" in refused.json["error"]["hint"]
    assert "fifteen" in answer(ship)
    assert ship("forget", "sail.md", "-c", "ship", "--yes").code == 2


def test_a_purge_writes_a_receipt_and_keeps_the_published_generation(ship: CommandLine, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    report = ship.done("purge", "--yes", "--receipt", str(receipt), "--json").json
    assert report == json.loads(receipt.read_text(encoding="utf-8"))
    assert (report["clean"], report["generations"], report["check"]["found_in"]) == (True, 1, [])
    assert report["beyond_reach"]
    assert "fifteen" in answer(ship)
    assert b"twelve" not in b"".join(it.read_bytes() for it in (ship.folder / ".elt_llm").rglob("*") if it.is_file())
    printed = ship.done("purge", "-c", "ship", "--yes").out
    assert "Beyond reach:" in printed


def test_a_purge_names_the_process_that_has_a_generation_open_and_what_to_do(
    ship: CommandLine, notes: Callable[..., Path]
) -> None:
    with open_store(ship.folder / ".elt_llm") as store, open_generation(store, "ship"):
        notes(mast="The mast is twenty metres tall.")
        ship.done("ingest", "-c", "ship")
        purged = ship("purge", "--yes")
    assert purged.code == 1
    left = f"Not erased: collections/ship/2, open in processes {os.getpid()}. Stop them, such as a server"
    assert left in purged.out


def test_the_receipt_of_a_purge_must_be_a_new_file_outside_the_data_directory(
    ship: CommandLine, tmp_path: Path
) -> None:
    for place in (ship.folder / ".elt_llm" / "receipt.json", ship.folder / "notes" / "mast.md", Path("no/such/folder")):
        assert ship("purge", "--yes", "--receipt", str(place)).code == 2
    assert status(ship)["kept_generations"] == [1, 2]


def test_the_lock_file_does_not_contain_the_name_of_the_forgotten_document(ship: CommandLine) -> None:
    ship.done("forget", "mast.md", "-c", "ship", "--yes")
    assert "mast" not in (ship.folder / ".elt_llm" / "lock").read_text(encoding="utf-8")


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(it) for key, it in value.items() if key not in TIMES}
    return [_comparable(it) for it in value] if isinstance(value, list) else value


def test_an_imported_collection_returns_identical_answers(
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


def test_overwriting_an_export_needs_the_force_option(ship: CommandLine) -> None:
    assert "sha256" in ship.done("export", "ship").out
    assert (ship.folder / "ship.elt.zip").is_file()
    assert ship("export", "ship").code == 2
    ship.done("export", "ship", "--force")
    assert ship("import", "missing.zip", "--json").json["error"]["type"] == "ImportRefused"


def test_the_ask_command_refuses_a_store_with_an_old_schema_and_verify_migrates_the_store(elt_llm: CommandLine) -> None:
    unpack(PROJECT / "tests" / "fixtures" / "store-schema-1.tar.xz", elt_llm.folder)
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
        "empty": [],
    }
    assert "fifteen" in elt_llm.done("ask", ANSWER, "-c", "boats", "--json").json["answer"]
    assert len(list((elt_llm.folder / ".elt_llm" / "backups").iterdir())) == 1


def test_deep_verification_finds_damage_that_the_checksums_do_not_show(ship: CommandLine) -> None:
    backups = ship.folder / ".elt_llm" / "backups"
    backups.mkdir(exist_ok=True)
    (backups / "store-schema-1-20200101T000000Z.sqlite3").write_bytes(b"not a database" * 100)
    assert ship.done("verify", "--check-only", "--json").json["ok"]
    deep = ship("verify", "--deep", "--check-only", "--json")
    assert deep.code == 1
    assert "store-schema-1-20200101T000000Z" in deep.json["store"][0]


def test_a_repeated_rollback_without_the_again_option_changes_nothing(ship: CommandLine) -> None:
    assert ship.done("rollback", "-c", "ship", "--json").json == {"collection": "ship", "from": 2, "to": 1}
    assert ship.done("rollback", "-c", "ship", "--json").json == {"collection": "ship", "from": 1, "to": 1}
    assert "already" in ship.done("rollback", "-c", "ship").out
    assert ship.done("rollback", "-c", "ship", "--again", "--json").json == {"collection": "ship", "from": 1, "to": 2}
    assert ship.done("rollback", "-c", "ship", "--to", "1", "--json").json["to"] == 1
    assert ship.done("rollback", "-c", "ship", "--to", "1", "--json").json["to"] == 1
    assert status(ship)["rolled_back"]
    refused = ship("rollback", "-c", "ship", "--to", "9")
    assert (refused.code, "Its generations are: 1, 2" in refused.err) == (2, True)


def test_a_damaged_store_is_reported_without_document_text(ship: CommandLine) -> None:
    with closing(sqlite3.connect(ship.folder / ".elt_llm" / "store.sqlite3")) as store, store:
        store.execute("ALTER TABLE collections ADD COLUMN spare TEXT")
        store.execute("PRAGMA writable_schema = ON")
        store.execute("UPDATE sqlite_master SET sql = replace(sql, 'spare TEXT', 'spare TEXT NOT NULL')")
        store.execute("UPDATE texts SET text = CAST(CAST(text AS BLOB) || x'FF' AS TEXT)")
    ended = ship("verify", "--deep", "--check-only")
    assert ended.code == 1
    assert "damaged store.sqlite3: NULL value in collections.spare" in ended.out
    assert "Run: elt-llm recover" in ended.out
    assert "fifteen" not in ended.out + ended.err

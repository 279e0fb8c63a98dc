"""The command `recover` saves the rows of a damaged store and reads lost documents again from their files."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from processes.command_line import CommandLine
from stored.folders import write_files
from stored.shelf import writing

pytestmark = pytest.mark.halved


DOCUMENTS = {
    "mast.md": "# Mast\n\nThe mast is twelve metres tall.\n",
    "keel.md": "# Keel\n\nThe keel is made of oak.\n",
    "sail.md": "# Sail\n\nThe sail is red.\n",
}
QUESTION = ("ask", "How tall is the mast?", "-c", "ship", "--json")


@pytest.fixture
def ship(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Return a command line with the collection `ship`, read from the folder `documents`."""
    run = CommandLine(tmp_path, capsys)
    run.done("ingest", write_files(tmp_path / "documents", DOCUMENTS), "-c", "ship")
    return run


def change_chunk(ship: CommandLine, words: str) -> None:
    """Change the text of a stored chunk but not its checksum, as damage on the disk would."""
    with closing(sqlite3.connect(ship.folder / ".elt_llm" / "store.sqlite3")) as store, store:
        store.execute("UPDATE nodes SET text = replace(text, ?, ?)", (words, words.swapcase()))


def test_recovering_an_undamaged_store_changes_nothing(ship: CommandLine) -> None:
    assert ship.done("recover", "--json").json == {"damaged": False}
    assert "undamaged" in ship.done("recover").out


def test_a_lost_document_is_read_again_from_its_file(ship: CommandLine) -> None:
    whole = ship.done(*QUESTION).json
    change_chunk(ship, "twelve")
    refused = ship(*QUESTION[:-1])
    assert refused.code == 1
    assert "has changed since it was stored" in refused.err
    assert "elt-llm recover" in refused.err
    assert "elt-llm recover" in ship("verify").out
    report = ship.done("recover", "--json").json
    assert report["lost_rows"] == {"nodes": 1}
    assert report["documents"] == [{"collection": "ship", "path": "mast.md"}]
    assert (report["left"], report["reasons"]) == ([], {})
    again = ship.done(*QUESTION).json
    assert (again["answer"], again["citations"]) == (whole["answer"], whole["citations"])
    assert ship.done("verify", "--deep", "--json").json["ok"]


def test_a_lost_document_is_named_if_its_file_no_longer_exists_and_other_documents_are_kept(ship: CommandLine) -> None:
    change_chunk(ship, "oak")
    (ship.folder / "documents" / "keel.md").unlink()
    ended = ship("recover")
    assert ended.code == 1
    assert "ship: keel.md" in ended.out
    assert "twelve metres" in ship.done(*QUESTION).json["answer"]
    assert ship.done("verify", "--deep", "--json").json["ok"]


def test_with_the_no_ingest_option_recover_names_the_command_that_reads_lost_documents_again(ship: CommandLine) -> None:
    change_chunk(ship, "oak")
    ended = ship("recover", "--no-ingest")
    assert ended.code == 1
    assert "elt-llm ingest -c ship" in ended.out
    ship.done("ingest", "-c", "ship")
    assert "oak" in ship.done("ask", "What is the keel made of?", "-c", "ship").out


def test_an_ingest_into_a_damaged_store_reports_the_damage_instead_of_no_changes(ship: CommandLine) -> None:
    change_chunk(ship, "oak")
    refused = ship("ingest", "-c", "ship")
    assert refused.code == 1
    assert "store.sqlite3 is damaged: row" in refused.err
    assert "elt-llm recover" in refused.err


def test_an_ingest_copies_the_store_once_a_day_and_the_doctor_reports_the_age_of_the_copy(ship: CommandLine) -> None:
    [copy] = (ship.folder / ".elt_llm" / "backups").iterdir()
    assert copy.name.startswith("store-copy-")
    ship.done("ingest", "-c", "ship")
    assert [*copy.parent.iterdir()] == [copy]
    assert "the last copy of the store is 0 hours old" in ship("doctor").out
    copy.rename(copy.with_name("store-copy-20200101T000000Z.sqlite3"))
    assert "days old" in ship("doctor").out
    ship.done("ingest", "-c", "ship")
    assert "0 hours old" in ship("doctor").out


def test_the_verify_command_reports_that_a_collection_has_no_published_generation(ship: CommandLine) -> None:
    with writing(ship.folder / ".elt_llm") as store:
        store.collections.create("empty")
    shown = ship.done("verify").out
    assert "ship: every byte is as published" in shown
    assert "empty: nothing is published yet. Run: elt-llm ingest -c empty" in shown
    alone = ship.done("verify", "-c", "empty")
    assert "as published" not in alone.out

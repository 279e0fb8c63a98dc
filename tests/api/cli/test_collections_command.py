"""The commands of a collection: ingest, list, roll back, verify, repair, drop."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from processes.command_line import FAKE, CommandLine, run_here
from sampling import sampled

pytestmark = pytest.mark.halved


ANSWER = "How tall is the mast?"
STATUS_KEYS = {
    "collection",
    "generation",
    "published_at",
    "rolled_back",
    "documents",
    "nodes",
    "collection_hash",
    "kept_generations",
    "embedding",
    "dimension",
    "artefacts",
    "duplicates",
    "skipped_files",
    "forgotten",
    "skipped",
    "language",
    "chunker",
    "size",
    "roots",
    "last_run",
    "unfinished_run",
    "files_in_trouble",
}


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


def test_a_second_ingest_of_the_same_files_embeds_nothing(elt_llm: CommandLine, notes: Callable[..., Path]) -> None:
    folder = notes(mast="The mast is twelve metres tall.", keel="The keel is made of oak.")
    first = elt_llm.done("ingest", folder, "-c", "ship", "--json").json
    assert (first["embedded"], first["published"], first["generation"]) == (2, True, 1)
    second = elt_llm.done("ingest", folder, "-c", "ship", "--json").json
    assert (second["embedded"], second["published"], second["generation"]) == (0, False, 1)
    assert second["counts"] == {"unchanged": 2}
    assert second["collection_hash"] == first["collection_hash"]


def test_failed_files_are_listed_first(elt_llm: CommandLine, notes: Callable[..., Path]) -> None:
    folder = notes(**{f"plank{number:02}": f"Plank {number} is sound." for number in range(50)})
    (folder / "zebra.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    lines = elt_llm("ingest", "notes", "-c", "ship").out.splitlines()
    assert lines[0].split()[:2] == ["failed", "zebra.pdf"]
    assert lines[-2] == "... and 11 more: --report FILE or --json lists them all."


def test_a_collection_with_a_single_chunk_answers_questions_and_passes_verification_repeatedly(
    elt_llm: CommandLine, notes: Callable[..., Path]
) -> None:
    notes(mast="The mast is twelve metres tall.")
    elt_llm.done("ingest", "notes", "-c", "ship")
    for _ in range(3):
        assert "twelve" in answer(elt_llm)
        assert elt_llm.done("verify", "--check-only", "--json").json["damage"] == []


def test_after_a_rollback_answers_use_the_earlier_text_and_an_ingest_requires_resume_or_rebuild(
    ship: CommandLine,
) -> None:
    assert "fifteen" in answer(ship)
    assert ship.done("rollback", "-c", "ship", "--json").json == {"collection": "ship", "from": 2, "to": 1}
    assert "twelve" in answer(ship)
    refused = ship("ingest", "-c", "ship")
    assert refused.code == 2
    assert "was rolled back to generation 1" in refused.err
    assert "--resume" in refused.err
    assert "--rebuild" in refused.err
    assert ship.done("status", "--json").json["collections"][0]["rolled_back"]
    ship.done("ingest", "-c", "ship", "--resume")
    assert "fifteen" in answer(ship)
    assert not ship.done("status", "--json").json["collections"][0]["rolled_back"]


def test_a_rollback_with_the_again_option_undoes_the_previous_rollback(ship: CommandLine) -> None:
    ship.done("rollback", "-c", "ship")
    ship.done("rollback", "-c", "ship", "--again")
    assert "fifteen" in answer(ship)
    ship.done("ingest", "-c", "ship")


def test_the_collections_and_status_commands_report_the_same_facts(ship: CommandLine) -> None:
    listed = ship.done("collections", "--json").json
    status = ship.done("status", "-c", "ship", "--json").json
    assert listed == status["collections"]
    assert set(listed[0]) == STATUS_KEYS
    assert (listed[0]["documents"], listed[0]["nodes"], listed[0]["generation"]) == (2, 2, 2)
    assert listed[0]["kept_generations"] == [1, 2]
    assert status["data_dir"] == str(ship.folder / ".elt_llm")
    assert status["writer"] is None


def test_the_collections_and_status_commands_print_tables(ship: CommandLine) -> None:
    assert "ship" in ship.done("collections").out
    shown = ship.done("status").out
    assert "2 documents, 2 chunks" in shown
    assert "kept: 1, 2" in shown


def test_the_status_command_lists_unread_uploads_also_those_into_a_new_collection(ship: CommandLine) -> None:
    for collection in ("ship", "fresh"):
        folder = ship.folder / ".elt_llm" / "uploads" / collection
        folder.mkdir(parents=True)
        (folder / "sails.md").write_text("# Sails\n\nThe sails are made of hemp.\n", encoding="utf-8")
    assert ship.done("status", "--json").json["unread_uploads"] == {"fresh": ["sails.md"], "ship": ["sails.md"]}
    assert "unread uploads   ship: 1 (sails.md); to read them: elt-llm ingest -c ship" in ship.done("status").out
    for collection in ("ship", "fresh"):
        ship.done("ingest", "-c", collection)
    assert "unread uploads" not in ship.done("status").out


def test_a_failed_file_is_listed_until_it_is_fixed(ship: CommandLine) -> None:
    broken = ship.folder / "notes" / "keel.md"
    broken.write_bytes(b"\x00\x01\x02")
    failed = ship("ingest", "-c", "ship")
    assert failed.code == 1
    assert "keel.md" in failed.out
    assert "its last good version is kept" in failed.out
    assert "oak" in answer(ship, "What is the keel made of?")
    assert "keel.md" in ship.done("status").out
    broken.write_text("The keel is made of elm.", encoding="utf-8")
    ship.done("ingest", "-c", "ship")
    assert "elm" in answer(ship, "What is the keel made of?")
    assert ship.done("status", "--json").json["collections"][0]["files_in_trouble"] == []


def test_the_status_counts_the_files_that_the_last_ingest_skipped_and_names_the_command_that_lists_them(
    ship: CommandLine,
) -> None:
    (ship.folder / "notes" / "plan.dwg").write_bytes(b"AC1015")
    ship.done("ingest", "-c", "ship")
    assert "1 file skipped, listed by: elt-llm ingest -c ship --dry-run" in ship.done("status").out
    assert "plan.dwg" in ship.done("ingest", "-c", "ship", "--dry-run").out
    [status] = ship.done("status", "--json").json["collections"]
    assert status["skipped_files"] == [{"path": "plan.dwg", "reason": "no reader for .dwg"}]


def published_files(elt_llm: CommandLine) -> list[Path]:
    """Return the files of the published generation that never change, and so have a checksum."""
    folder = elt_llm.folder / ".elt_llm" / "collections" / "samples" / "1"
    unchecked = ("pin", "chroma.sqlite3")
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(unchecked))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for place in range(middle, min(middle + 64, len(content))):
        content[place] ^= 0xFF
    path.write_bytes(content)


def test_a_damaged_index_is_reported_and_the_verify_command_repairs_it(own_samples: CommandLine) -> None:
    question = ("ask", "How many days do I have to appeal?", "-c", "samples", "--json")
    sound = own_samples.done(*question).json
    originals = {path: path.read_bytes() for path in published_files(own_samples)}
    assert len(originals) > 10
    for path, content in sampled(sorted(originals.items()), 5):
        flip(path)
        hurt = own_samples(*question)
        if hurt.code:
            assert hurt.json["error"]["type"] == "CorruptIndex"
            assert hurt.json["error"]["hint"] == "Run: elt-llm verify -c samples"
        # The store has its own copy of the passport, which `show` reads; only a publish reads the digests.
        elif path.name not in ("passport.json", "digests.npy"):
            assert "verify -c samples" in " ".join(hurt.json["notes"])
            assert hurt.json["answer"] == sound["answer"]
        found = own_samples("verify", "--check-only", "--json")
        assert found.code == 1
        assert path.name in found.json["damage"][0]["what"]
        path.write_bytes(content)
    flip(next(iter(originals)))
    healed = own_samples.done("verify", "--json").json
    assert healed["ok"]
    assert healed["healed"] == [[1, 2]]
    after = own_samples.done(*question).json
    assert (after["answer"], after["citations"]) == (sound["answer"], sound["citations"])
    assert own_samples.done("verify", "--json").json["damage"] == []


def test_a_deleted_generation_is_reported_and_the_verify_command_restores_it(ship: CommandLine) -> None:
    folder = ship.folder / ".elt_llm" / "collections" / "ship" / "2"
    folder.rename(ship.folder / "elsewhere")
    refused = ship("ask", ANSWER, "-c", "ship")
    assert refused.code == 1
    assert "Run: elt-llm verify -c ship" in refused.err
    assert "without embedding" in ship.done("verify").out
    assert "fifteen" in answer(ship)


def test_a_different_embedding_model_is_refused_and_the_error_names_the_command_to_run(
    ship: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    other = CommandLine(ship.folder, capsys, {"ELT_LLM_EMBEDDING__PROVIDER": "embedded"})
    for arguments in (["ask", ANSWER], ["search", ANSWER], ["ingest", "notes"]):
        refused = other(*arguments, "-c", "ship")
        assert refused.code == 1
        assert "was built with fake fake" in refused.err
        assert "Run: elt-llm ingest -c ship --rebuild" in refused.err
    other.done("ingest", "-c", "ship", "--rebuild")
    assert "fifteen" in answer(other)
    assert ship("ask", ANSWER, "-c", "ship").code == 1
    ship.done("ingest", "-c", "ship", "--rebuild")
    assert "fifteen" in answer(ship)


def test_drop_asks_for_confirmation(ship: CommandLine) -> None:
    for typed, code, message in (("n\n", 2, "Nothing was deleted."), ("", 2, "no answer was entered"), ("y\n", 0, "")):
        ended = run_here("drop", "ship", folder=ship.folder, typed=typed, environment=FAKE)
        assert ended.code == code
        assert "Delete ship for good?" in ended.err
        assert message in ended.err
        assert "Traceback" not in ended.err
        assert len(ship.done("collections", "--json").json) == (1 if code else 0)


def test_drop_with_the_json_option_also_needs_the_yes_option(ship: CommandLine) -> None:
    refused = ship("drop", "ship", "--json")
    assert (refused.code, refused.err) == (2, "")
    assert "--yes" in refused.json["error"]["hint"]
    assert len(ship.done("collections", "--json").json) == 1


def test_dropping_collections_by_prefix_keeps_other_collections(ship: CommandLine) -> None:
    for name in ("trial-a", "trial-b"):
        ship.done("ingest", "notes", "-c", name, "--json")
    assert ship.done("drop", "--prefix", "trial-", "--yes", "--json").json == {"dropped": ["trial-a", "trial-b"]}
    assert [it["collection"] for it in ship.done("collections", "--json").json] == ["ship"]
    assert "fifteen" in answer(ship)


def test_a_lock_held_by_another_process_is_reported_with_the_process(ship: CommandLine) -> None:
    from elt_llm_core.store.lock import writer_lock

    with writer_lock(ship.folder / ".elt_llm", "elt-llm ingest other -c other"):
        for arguments in (["ingest", "notes", "-c", "ship"], ["rollback", "-c", "ship"], ["drop", "ship", "--yes"]):
            refused = ship(*arguments)
            assert refused.code == 75
            assert "elt-llm ingest other -c other" in refused.err
        assert ship("ingest", "notes", "-c", "ship", "--json").json["error"]["type"] == "LockHeld"
        assert "elt-llm ingest other" in ship.done("status", "--json").json["writer"]
        assert "fifteen" in answer(ship)


def test_the_data_dir_option_is_accepted_before_and_after_the_command_name(
    ship: CommandLine, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = CommandLine(tmp_path_factory.mktemp("elsewhere"), capsys)
    data = str(ship.folder / ".elt_llm")
    before = elsewhere.done("--data-dir", data, "collections", "--json").out
    assert before == elsewhere.done("collections", "--data-dir", data, "--json").out
    by_variable = CommandLine(elsewhere.folder, capsys, {**FAKE, "ELT_LLM_DATA_DIR": data})
    assert json.loads(before) == by_variable.done("collections", "--json").json


def test_a_repair_keeps_the_configured_number_of_generations(elt_llm: CommandLine, notes: Callable[..., Path]) -> None:
    keeping = CommandLine(elt_llm.folder, elt_llm.capsys, {**FAKE, "ELT_LLM_STORAGE__KEEP_GENERATIONS": "4"})
    for metres in ("twelve", "thirteen", "fourteen"):
        notes(mast=f"The mast is {metres} metres tall.", keel="The keel is made of oak.")
        keeping.done("ingest", "notes", "-c", "ship")
    vectors = elt_llm.folder / ".elt_llm" / "collections" / "ship" / "3" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"x")
    keeping.done("verify")
    [ship] = keeping.done("status", "--json").json["collections"]
    assert (ship["generation"], ship["kept_generations"]) == (4, [1, 2, 4])

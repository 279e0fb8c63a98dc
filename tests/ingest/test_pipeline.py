"""An ingest brings a collection to the state of its files in any order, and reports every file."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from elt_llm_core.collection.lifecycle import drop, open_generation
from elt_llm_core.errors import IngestError
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.records import StoredDocument
from elt_llm_core.store.store import open_store
from elt_llm_ingest.run.report import IngestReport
from stored.folders import generated_files, run_ingest, statuses, write_files
from stored.shelf import COLLECTION, writing

pytestmark = pytest.mark.halved


PDF = b"%PDF-1.4\nthis is not the rest of a document\n%%EOF\n"


@pytest.fixture
def place(tmp_path: Path, new_workspace: Callable[[Path], Workspace]) -> Workspace:
    return new_workspace(tmp_path / "data")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Return a folder with twenty files."""
    return write_files(tmp_path / "docs", generated_files(20))


def _hash_of(tmp_path: Path, name: str, *paths: Path) -> str:
    return run_ingest(tmp_path / name, *paths).collection_hash


def _documents(place: Workspace) -> dict[str, StoredDocument]:
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        return {document.source: document for document in generation.documents()}


def _texts(place: Workspace) -> list[tuple[str, str]]:
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        return sorted((node.source, node.text) for node in generation.nodes(generation.ids))


def test_the_text_of_every_chunk_is_the_document_text_at_its_span(place: Workspace, docs: Path) -> None:
    report = run_ingest(place, docs)
    assert (report.documents, report.published, report.exit_code, report.embedded) == (20, True, 0, report.chunks)
    assert report.chunks > 40
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        assert generation.size == report.chunks
        for node in generation.nodes(generation.ids):
            assert generation.document(node.source).text[node.start : node.end] == node.text


def test_a_second_ingest_of_unchanged_files_publishes_no_generation(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    embedding = FakeEmbedding()
    for paths in ([docs], []):
        again = run_ingest(place, *paths, embedding=embedding)
        assert (again.generation, again.published, again.embedded) == (first.generation, False, 0)
        assert again.collection_hash == first.collection_hash
        assert set(statuses(again).values()) == {"unchanged"}
    assert embedding.calls == 0


def test_a_note_warns_once_that_the_embedding_model_was_trained_on_english_if_most_documents_are_in_another_language(
    place: Workspace, tmp_path: Path
) -> None:
    german = "Die Gebühr für die Anmeldung ist von jedem Verein bis zum Ende des Monats zu zahlen."
    docs = write_files(tmp_path / "docs", {"a.md": german, "b.md": f"{german} Das gilt auch für Gäste.", "c.md": ""})
    report = run_ingest(place, docs, embedding=EmbeddedMiniLm())
    (note,) = report.notes
    assert note.startswith("Most documents (2 of 2) are not in English, but the embedding model all-MiniLM-L6-v2 was")
    assert note.endswith(f"and run elt-llm ingest -c {COLLECTION} --rebuild.")
    assert run_ingest(place, docs, embedding=EmbeddedMiniLm()).notes == ()
    english = "The fee for the registration is paid by each of the clubs before the end of the month."
    write_files(docs, {"d.md": english, "e.md": f"{english} This is also for guests."})
    assert run_ingest(place, docs, embedding=EmbeddedMiniLm()).notes == ()
    assert run_ingest(tmp_path / "other", docs / "a.md").notes == ()


def test_the_collection_hash_does_not_depend_on_file_order_or_embedding_batches(tmp_path: Path, docs: Path) -> None:
    expected = _hash_of(tmp_path, "whole", docs)
    files = sorted(path for path in docs.rglob("*.md"))
    write_files(tmp_path / "again" / "docs", dict(reversed(generated_files(20).items())))
    assert run_ingest(tmp_path / "small", docs, batch_size=1).collection_hash == expected
    assert run_ingest(tmp_path / "large", tmp_path / "again" / "docs", batch_size=1000).collection_hash == expected
    assert len(files) == 20


def test_two_folders_give_the_same_collection_hash_whether_they_are_ingested_separately_or_together(
    tmp_path: Path, docs: Path
) -> None:
    other = write_files(tmp_path / "other", generated_files(5, seed=1))
    expected = _hash_of(tmp_path, "both", docs, other)
    run_ingest(tmp_path / "one", docs)
    assert run_ingest(tmp_path / "one", other).collection_hash == expected
    run_ingest(tmp_path / "two", other)
    assert run_ingest(tmp_path / "two", docs).collection_hash == expected


def test_a_subfolder_of_a_known_folder_is_not_ingested_twice(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    part = run_ingest(place, docs / "part-1")
    assert (part.published, part.collection_hash) == (False, first.collection_hash)


def test_a_deleted_and_restored_file_restores_the_collection_hash(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    note = docs / "part-1" / "note-01.md"
    content = note.read_text()
    note.unlink()
    without = run_ingest(place, docs)
    assert statuses(without)["part-1/note-01.md"] == "removed"
    assert without.collection_hash != first.collection_hash
    assert "part-1/note-01.md" not in _documents(place)
    note.write_text(content)
    back = run_ingest(place, docs)
    assert (back.collection_hash, back.embedded, back.exit_code) == (first.collection_hash, 0, 0)


def test_the_index_contains_no_trace_of_deleted_text(place: Workspace, tmp_path: Path, docs: Path) -> None:
    write_files(docs, {"secret.md": "# Secret\n\nThe canary sings.\n"})
    run_ingest(place, docs)
    (docs / "secret.md").unlink()
    with_past = run_ingest(place, docs)
    assert with_past.collection_hash == _hash_of(tmp_path, "never", docs)
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        assert not generation.keyword.scores("canary").any()


def test_a_renamed_file_is_not_embedded_again(place: Workspace, docs: Path) -> None:
    run_ingest(place, docs)
    (docs / "part-1" / "note-01.md").rename(docs / "renamed.md")
    report = run_ingest(place, docs)
    assert (report.embedded, statuses(report)["renamed.md"]) == (0, "ok")
    assert {file.path: file.reason for file in report.files}["renamed.md"] == "renamed from part-1/note-01.md"
    assert "renamed.md" in _documents(place)


def test_equal_files_are_embedded_once_and_both_can_be_cited(place: Workspace, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", dict.fromkeys(("a/x.md", "b/x.md"), "# Same\n\nThe tide turns.\n"))
    report = run_ingest(place, docs)
    assert (report.documents, report.chunks, report.embedded) == (2, 1, 1)
    assert statuses(report) == {"a/x.md": "ok", "b/x.md": "ok"}
    assert report.files[1].reason == "same bytes as a/x.md: indexed once"
    assert set(_documents(place)) == {"a/x.md", "b/x.md"}
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        [node] = generation.nodes(generation.ids)
        assert (node.source, node.metadata["also_in"]) == ("a/x.md", ["b/x.md"])
        assert generation.document("b/x.md").text[node.start : node.end] == node.text
    (docs / "a" / "x.md").unlink()
    after = run_ingest(place, docs)
    assert (after.documents, after.chunks, after.embedded) == (1, 1, 0)
    assert [source for source, _ in _texts(place)] == ["b/x.md"]


def test_only_a_changed_file_is_embedded(place: Workspace, docs: Path) -> None:
    run_ingest(place, docs)
    write_files(docs, {"part-1/note-01.md": "# Note 1\n\nOnly an anchor is left.\n"})
    report = run_ingest(place, docs)
    assert (report.embedded, report.counts) == (1, {"ok": 1, "unchanged": 19})


def _with_a_good_pdf(docs: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "samples" / "documents" / "handbook.pdf", docs / "handbook.pdf")


def test_an_unreadable_file_keeps_its_last_version_and_sets_the_exit_code(place: Workspace, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.html": "<h1>Rules</h1><p>The tide turns.</p>", "b.md": "# B\n\nReef.\n"})
    (docs / "c.pdf").write_bytes(PDF)
    first = run_ingest(place, docs)
    assert (statuses(first)["c.pdf"], first.exit_code, first.documents) == ("failed", 1, 2)
    _with_a_good_pdf(docs)
    good = run_ingest(place, docs)
    (docs / "handbook.pdf").write_bytes(PDF)
    bad = run_ingest(place, docs)
    [outcome] = [file for file in bad.files if file.path == "handbook.pdf"]
    assert (outcome.status, outcome.stale, bool(outcome.reason), bad.exit_code) == ("failed", True, True, 1)
    assert bad.collection_hash == good.collection_hash
    assert run_ingest(place).exit_code == 1
    _with_a_good_pdf(docs)
    (docs / "c.pdf").unlink()
    assert run_ingest(place).exit_code == 0


def test_no_collection_is_created_if_all_files_are_unreadable(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.pdf").write_bytes(PDF)
    report = run_ingest(place, tmp_path / "docs")
    assert (report.exit_code, report.generation) == (1, None)
    with open_store(place) as store:
        assert store.collections.all() == []


def test_a_file_without_text_is_reported_but_is_not_a_failure(place: Workspace, tmp_path: Path) -> None:
    report = run_ingest(place, write_files(tmp_path / "docs", {"a.md": "", "b.md": "# B\n\nReef.\n"}))
    assert (statuses(report)["a.md"], report.exit_code, report.documents) == ("empty", 0, 2)
    assert statuses(run_ingest(place))["a.md"] == "empty"


def test_the_error_that_there_is_nothing_to_ingest_names_the_skipped_files(place: Workspace, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"a.exe": "x"})
    with pytest.raises(IngestError, match=r"a\.exe") as caught:
        run_ingest(place, tmp_path / "docs")
    assert ".md" in caught.value.hint
    with open_store(place) as store:
        assert store.collections.all() == []


def test_an_individually_named_file_is_scanned_again_without_its_folder(place: Workspace, docs: Path) -> None:
    note = docs / "part-1" / "note-01.md"
    assert run_ingest(place, note).documents == 1
    note.write_text("# Note 1\n\nChanged to a reef.\n")
    again = run_ingest(place)
    assert (again.documents, again.counts) == (1, {"ok": 1})
    whole = run_ingest(place, docs / "part-1")
    assert whole.documents == 4


def test_a_deleted_single_file_is_kept_until_deletions_are_allowed(place: Workspace, docs: Path) -> None:
    one, two = docs / "part-1" / "note-01.md", docs / "part-1" / "note-06.md"
    run_ingest(place, one, two)
    one.unlink()
    kept = run_ingest(place)
    assert (kept.exit_code, kept.documents) == (1, 2)
    allowed = run_ingest(place, allow_delete=True)
    assert (allowed.exit_code, allowed.documents) == (0, 1)
    assert run_ingest(place).exit_code == 0


def test_a_known_folder_within_a_new_folder_is_not_ingested_twice(place: Workspace, docs: Path) -> None:
    run_ingest(place, docs / "part-1")
    whole = run_ingest(place, docs)
    assert whole.documents == 20
    assert run_ingest(place).exit_code == 0


def test_the_name_of_a_source_folder_is_kept_after_an_interrupted_first_ingest(
    place: Workspace, tmp_path: Path
) -> None:
    class Interrupting(FakeEmbedding):
        def embed_texts(self, texts: Sequence[str]) -> NoReturn:
            raise KeyboardInterrupt

    one = write_files(tmp_path / "one" / "docs", {"a.md": "# A\n\nAnchor.\n"})
    two = write_files(tmp_path / "two" / "docs", {"a.md": "# A\n\nBasin.\n"})
    with pytest.raises(KeyboardInterrupt):
        run_ingest(place, one, embedding=Interrupting())
    run_ingest(place, two)
    assert run_ingest(place).documents == 2


def test_a_dropped_collection_can_be_filled_again(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    with writing(place) as store:
        drop(store, COLLECTION)
    assert run_ingest(place, docs).collection_hash == first.collection_hash


def test_the_ingest_report_has_the_outcome_of_every_file(place: Workspace, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.md": "# A\n\nReef.\n", "b.md": "", "c.exe": "x", "d.eml": "no"})
    report: IngestReport = run_ingest(place, docs)
    assert {Path(path).name: status for path, status in statuses(report).items()} == {
        "a.md": "ok",
        "b.md": "empty",
        "c.exe": "skipped",
        "d.eml": "failed",
    }
    assert any(
        file.reason.lower().startswith("is not an e-mail: it has neither sender nor subject; rename the file")
        for file in report.files
    )
    assert all(file.reason for file in report.files if file.status != "ok")
    assert report.to_json()["counts"] == report.counts == {"ok": 1, "empty": 1, "skipped": 1, "failed": 1}

"""Ingest documents within files, artefacts, static metadata, and files that change while they are read."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import open_store
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part
from elt_llm_ingest.sandbox.parser import ParseRequest
from stored.folders import run_ingest, statuses, write_files
from stored.shelf import COLLECTION


class PartsParser:
    """A parser that returns every line of a file as a separate document, `kind: text`."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """Yield one part per line, and an artefact with the number of lines."""
        for request in requests:
            lines = [line.partition(": ") for line in request.path.read_text().splitlines()]
            parts = tuple(
                Part(f"line/{number}", kind, ParsedDocument(text, text, metadata={"kind_of_line": kind}))
                for number, (kind, _, text) in enumerate(lines)
            )
            yield ParsedDocument("", request.path.stem, parts=parts, artefacts={"lines": {"count": len(parts)}})


class ChangingParser:
    """A parser that writes to each file while it reads the file."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """Yield the text of the file before it is changed."""
        for request in requests:
            text = request.path.read_text()
            request.path.write_text(text + "More.\n")
            yield ParsedDocument(text, request.path.stem)


@pytest.fixture
def place(tmp_path: Path, new_workspace: Callable[[Path], Workspace]) -> Workspace:
    return new_workspace(tmp_path / "data")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {"all.txt": "boat: A ferry.\nplace: A reef.\nplace: A quay.\n"})


@pytest.fixture
def generation(place: Workspace, docs: Path) -> Iterator[Generation]:
    run_ingest(place, docs, parser=PartsParser())
    with open_store(place) as store, open_generation(store, COLLECTION) as opened:
        yield opened


def test_each_document_within_a_file_is_retrieved_and_cited_by_its_own_name(generation: Generation) -> None:
    nodes = {node.source: node for node in generation.nodes(generation.ids)}
    assert set(nodes) == {"all.txt#line/0", "all.txt#line/1", "all.txt#line/2"}
    assert nodes["all.txt#line/1"].metadata["kind_of_line"] == "place"
    assert generation.document("all.txt#line/1").text == "A reef."


def test_the_artefacts_of_a_file_are_stored_with_the_generation(generation: Generation) -> None:
    assert generation.artefact_names == ["lines"]
    assert list(generation.artefacts("lines").values()) == [{"count": 3}]
    assert generation.artefacts("nothing") == {}


def test_a_file_that_contains_several_documents_counts_as_one_file(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs, parser=PartsParser())
    assert [(file.path, file.status, file.chunks) for file in first.files] == [("all.txt", "ok", 3)]
    again = run_ingest(place, docs, parser=PartsParser())
    assert (again.published, again.counts) == (False, {"unchanged": 1})
    (docs / "all.txt").write_text("boat: A ferry.\nplace: A sluice.\n")
    changed = run_ingest(place, docs, parser=PartsParser())
    assert (changed.embedded, changed.chunks, changed.exit_code) == (1, 2, 0)
    (docs / "all.txt").unlink()
    write_files(docs, {"other.txt": "boat: A yawl.\n"})
    gone = run_ingest(place, docs, parser=PartsParser(), allow_delete=True)
    assert statuses(gone) == {"all.txt": "removed", "other.txt": "ok"}
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        assert [node.text for node in generation.nodes(generation.ids)] == ["A yawl."]
        assert verify_collection(store, COLLECTION).damage == ()


def test_documents_of_one_type_within_a_file_fill_a_separate_collection(place: Workspace, docs: Path) -> None:
    report = run_ingest(place, docs, parser=PartsParser(), split_by="type", group="place")
    assert (report.chunks, report.collection_hash) == (2, report.collection_hash)
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        assert {node.text for node in generation.nodes(generation.ids)} == {"A reef.", "A quay."}


def test_every_chunk_has_the_static_metadata_and_a_change_of_the_metadata_embeds_nothing(
    place: Workspace, docs: Path
) -> None:
    run_ingest(place, docs, metadata={"owner": "harbour"})
    report = run_ingest(place, docs, metadata={"owner": "council"})
    assert (report.published, report.embedded) == (True, 0)
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        metadata = [node.metadata for node in generation.nodes(generation.ids)]
    assert {entry["owner"] for entry in metadata} == {"council"}
    wanted = {"kind", "tokens", "words", "language", "content_hash", "chunk_index", "chunk_total", "modified_at"}
    assert all(wanted <= entry.keys() for entry in metadata)


def test_a_file_that_changes_while_it_is_read_is_not_stored(place: Workspace, docs: Path) -> None:
    write_files(docs, {"still.md": "# Still\n\nA reef.\n"})
    report = run_ingest(place, docs, parser=ChangingParser())
    assert {file.reason for file in report.files} == {"the file changed while it was read; run the ingest again"}
    assert (report.exit_code, report.generation) == (1, None)

"""Context sentences are requested once, estimated beforehand, and left out if a reply is unusable."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_core.errors import ModelError, SettingsError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.documents import StoredFile, read_file_version
from elt_llm_core.store.records import NewDocument
from elt_llm_core.store.store import Store
from elt_llm_ingest.run.enrichment import (
    ContextWriter,
    create_context_writer,
    enrich_versions,
    enriched_extraction,
    enrichment_cost,
)
from stored.shelf import Notes, new_document, some_documents, writing

SENTENCES = [f"This is about harbour number {number}." for number in range(20)]


def _writer(responses: Sequence[str]) -> tuple[ContextWriter, ScriptedLLM]:
    llm = ScriptedLLM(responses)
    return ContextWriter(llm, FakeEmbedding()), llm


def _stored(store: Store, count: int = 2, parts: Sequence[NewDocument] = ()) -> list[int]:
    collection = store.collections.create("library").id
    documents = [new_document(path, texts) for path, texts in some_documents(count, chunks=2).items()]
    return [store.documents.add(collection, document, parts) for document in documents]


def _files(store: Store, versions: Sequence[int]) -> list[StoredFile]:
    return [read_file_version(store.database, version) for version in versions]


def test_every_enriched_chunk_gets_a_written_sentence_as_context_and_keeps_its_span(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        versions = _stored(store)
        writer, llm = _writer(SENTENCES)
        enriched = enrich_versions(store, versions, writer, Notes())
        before, after = _files(store, versions), _files(store, enriched)
        nodes = [node for file in after for node in file.document.nodes]
        assert [node.context for node in nodes] == SENTENCES[:4]
        assert [node.metadata["enrichment"] for node in nodes] == SENTENCES[:4]
        assert all("harbour" in node.stems for node in nodes)
        assert [node.text for node in nodes] == [node.text for file in before for node in file.document.nodes]
        assert len(llm.prompts) == 4
        assert all(store.documents.is_consistent(version, "library") for version in enriched)


def test_the_cost_of_enrichment_is_reported_before_the_first_model_call(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        versions = _stored(store)
        writer, _ = _writer([])
        cost = enrichment_cost(store, versions, writer)
        assert (cost.calls, cost.known) == (4, 0)
        assert cost.tokens_read > 400
        notes = Notes()
        with pytest.raises(ModelError):
            enrich_versions(store, versions, writer, notes)
        assert notes.notes == [str(cost)]
        assert "called 4 times" in str(cost)


def test_an_enrichment_after_an_interruption_requests_only_missing_context_sentences(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        versions = _stored(store)
        first, _ = _writer(SENTENCES[:3])
        with pytest.raises(ModelError):
            enrich_versions(store, versions, first, Notes())
        second, llm = _writer(SENTENCES[3:])
        assert enrichment_cost(store, versions, second).known == 3
        enriched = enrich_versions(store, versions, second, Notes())
        assert len(llm.prompts) == 1
        nodes = [node for file in _files(store, enriched) for node in file.document.nodes]
        assert [node.context for node in nodes] == SENTENCES[:4]


def test_chunks_with_a_written_context_do_not_get_a_second_one(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        versions = _stored(store)
        enriched = enrich_versions(store, versions, _writer(SENTENCES)[0], Notes())
        silent, llm = _writer([])
        assert enrich_versions(store, versions, silent, Notes()) == enriched
        assert enrich_versions(store, enriched, silent, Notes()) == enriched
        assert llm.prompts == []


def test_the_chunks_of_documents_within_a_file_also_get_written_contexts(tmp_path: Path) -> None:
    part = replace(new_document("page-000.md#one", ["The first sheet."]), part="one")
    with writing(tmp_path) as store:
        [version] = _stored(store, 1, [part])
        writer, _ = _writer(SENTENCES)
        enriched = enrich_versions(store, [version], writer, Notes())
        [file] = _files(store, enriched[:1])
        assert list(file.numbers) == enriched
        assert len(enriched) == 2
        assert file.parts[0].nodes[0].context == SENTENCES[2]
        assert file.parts[0].extraction == enriched_extraction("", writer)


def test_an_unusable_reply_of_the_language_model_leaves_the_chunk_unchanged_and_is_counted(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        versions = _stored(store)
        writer, _ = _writer(["", "Here it is:", SENTENCES[0], "<think>hm, what"])
        notes = Notes()
        enriched = enrich_versions(store, versions, writer, notes)
        nodes = [node for file in _files(store, enriched) for node in file.document.nodes]
        assert [node.context for node in nodes] == ["", "", SENTENCES[0], ""]
        assert "enrichment" not in nodes[0].metadata
        assert notes.notes[-1] == "Contexts: 3 replies could not be used, so their chunks have no context."


def test_the_error_for_enrichment_without_a_language_model_names_the_setting() -> None:
    settings = Settings.model_validate({"chunking": {"enrichment": "llm"}})
    with pytest.raises(SettingsError, match="provides no language model") as refusal:
        create_context_writer(settings, FakeEmbedding())
    assert "llm.provider" in refusal.value.hint

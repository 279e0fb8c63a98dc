"""Each output has a receipt (the record of its inputs), and a replay compares the receipt with the current state."""

import hashlib
import json
from pathlib import Path

import pytest
from elt_llm_consumer.runner.replay import ReplayReport, replay
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.loader import LoadedSettings
from row_jobs.fake_jobs import FaultyLLM, load, outputs_of, project, run, some_terms
from stored.folders import run_ingest, write_files

pytestmark = pytest.mark.halved


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return a project in which a glossary of four terms from two documents was written."""
    loaded = project(tmp_path, {"a/one.md": some_terms(2), "b/two.md": some_terms(2, first=2)})
    run(loaded)
    return loaded


def _receipt(loaded: LoadedSettings) -> Path:
    return loaded.project / "out" / "rules-glossary.json.receipt.json"


def _replayed(loaded: LoadedSettings) -> ReplayReport:
    return replay(_receipt(loaded), loaded, embedding=FakeEmbedding())


def _ingest(loaded: LoadedSettings, **documents: str) -> None:
    write_files(loaded.project / "docs", {f"{name.replace('_', '/')}.md": text for name, text in documents.items()})
    run_ingest(loaded.data_dir, loaded.project / "docs", allow_delete=True)


def test_every_output_file_has_a_receipt_that_contains_the_hash_of_the_file(loaded: LoadedSettings) -> None:
    written = outputs_of(loaded)
    folder = loaded.project / "out"
    assert len(written) == 5
    for name, content in written.items():
        receipt = json.loads((folder / f"{name}.receipt.json").read_text(encoding="utf-8"))
        assert receipt["output_hash"] == hashlib.sha256(content).hexdigest()
        assert [it["source"] for it in receipt["documents"]] == ["a/one.md", "b/two.md"]
        assert receipt["counts"] == {"rows terms": 4, "rows folders": 2, "cells absent": 4, "cells found": 6}
        assert receipt["job_file"] == "config/consumer/rules.yaml"


def test_a_replay_confirms_unchanged_outputs(loaded: LoadedSettings) -> None:
    replayed = _replayed(loaded)
    assert replayed == ReplayReport(_receipt(loaded).name, (), (), (), (), (), ())
    assert replayed.holds


def test_a_replay_reports_changed_and_missing_outputs(loaded: LoadedSettings) -> None:
    output = loaded.project / "out" / "rules-glossary.json"
    output.write_bytes(output.read_bytes() + b" ")
    assert _replayed(loaded).output == ("rules-glossary.json was changed after it was written",)
    output.unlink()
    assert _replayed(loaded).output == ("rules-glossary.json is missing",)


def test_a_replay_reports_missing_quotes_and_documents(loaded: LoadedSettings) -> None:
    _ingest(loaded, a_one=some_terms(2).replace("Term 01 means", "Term 01 is"), c_three="The weather was fine.\n")
    (loaded.project / "docs" / "b" / "two.md").unlink()
    run_ingest(loaded.data_dir, loaded.project / "docs", allow_delete=True)
    replayed = _replayed(loaded)
    assert replayed.documents == (
        "library: a/one.md: changed",
        "library: b/two.md: vanished",
        "library: c/three.md: new",
    )
    reasons = [line.rpartition(": ")[2] for line in replayed.evidence]
    assert reasons == ["the quoted text has changed", "the document is missing", "the document is missing"]
    assert not replayed.holds


def test_a_replay_compares_only_settings_that_affect_the_job(loaded: LoadedSettings) -> None:
    config = loaded.config_dir / "rag_config.yaml"
    given = config.read_text(encoding="utf-8")
    config.write_text(f"{given}query: {{cache_size: 7}}\n", encoding="utf-8")
    assert replay(_receipt(loaded), load(loaded.project), embedding=FakeEmbedding()).holds
    config.write_text(f"{given}query: {{retriever_top_k: 7}}\n", encoding="utf-8")
    replayed = replay(_receipt(loaded), load(loaded.project), embedding=FakeEmbedding())
    assert replayed.settings == ("query.retriever_top_k: 50, now 7",)


def test_a_replay_reports_changed_aliases(loaded: LoadedSettings) -> None:
    write_files(loaded.config_dir, {"aliases.yaml": "aliases: {Thing: [Object]}\n"})
    replayed = replay(_receipt(loaded), load(loaded.project), embedding=FakeEmbedding())
    assert [line.partition(":")[0] for line in replayed.settings] == ["files.aliases"]
    assert not replayed.holds


def test_a_replay_reports_changed_curated_values(loaded: LoadedSettings) -> None:
    job = loaded.config_dir / "consumer" / "rules.yaml"
    given = job.read_text(encoding="utf-8").replace("[library]", "[library], curated: curated.yaml")
    override = "overrides: [{table: terms, key: Term 01, field: definition, value: A, by: Registrar, at: 2026-01-31}]\n"
    write_files(loaded.project, {"config/consumer/rules.yaml": given, "curated.yaml": override})
    run(load(loaded.project))
    assert _replayed(loaded).holds
    write_files(loaded.project, {"curated.yaml": override.replace("value: A", "value: B")})
    replayed = _replayed(loaded)
    assert [line.partition(":")[0] for line in replayed.settings] == ["files.curated"]


def test_a_replay_reports_a_changed_program_version(loaded: LoadedSettings) -> None:
    receipt = json.loads(_receipt(loaded).read_text(encoding="utf-8"))
    receipt["versions"]["elt-llm-consumer sources"] = "0" * 16
    _receipt(loaded).write_text(json.dumps(receipt), encoding="utf-8")
    replayed = _replayed(loaded)
    assert len(replayed.program) == 1
    assert not replayed.holds


def test_a_replay_reports_that_the_language_model_has_changed(loaded: LoadedSettings, tmp_path: Path) -> None:
    with_model = replay(_receipt(loaded), loaded, embedding=FakeEmbedding(), llm=FaultyLLM(tmp_path / "calls"))
    assert any(line.startswith("llm.model: none, now") and "scripted" in line for line in with_model.settings)


def test_a_replay_reports_a_missing_job_file_or_collection(loaded: LoadedSettings) -> None:
    (loaded.config_dir / "consumer" / "rules.yaml").unlink()
    replayed = _replayed(loaded)
    assert replayed.settings[0].startswith("The inputs cannot be read: ")
    assert not replayed.holds


@pytest.mark.sampled(1)
@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": 1}', b"\xff"])
def test_a_file_that_is_not_a_receipt_is_refused(content: bytes, loaded: LoadedSettings) -> None:
    _receipt(loaded).write_bytes(content)
    with pytest.raises(UsageError, match="is not a receipt"):
        _replayed(loaded)


def test_receipts_have_a_timestamp_and_outputs_have_none(loaded: LoadedSettings) -> None:
    moment = json.loads(_receipt(loaded).read_text(encoding="utf-8"))["written_at"]
    assert all(moment[:10].encode() not in content for content in outputs_of(loaded).values())


def test_a_replay_does_not_confirm_a_receipt_with_an_invalid_path(loaded: LoadedSettings) -> None:
    receipt = json.loads(_receipt(loaded).read_text(encoding="utf-8"))
    _receipt(loaded).write_text(json.dumps({**receipt, "job_file": "a\0b"}), encoding="utf-8")
    assert _replayed(loaded).settings[0].startswith("The inputs cannot be read: ")

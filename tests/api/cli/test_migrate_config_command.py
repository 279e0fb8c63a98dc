"""A configuration of elt_llm_rag is converted, and every key without an equivalent is listed with the reason."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from elt_llm_api.cli.commands.migrate_config import MigratedFile, convert_directory, write_converted
from elt_llm_consumer.jobs.job_file import load_job
from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.profiles import load_profile
from elt_llm_ingest.jobs.job_file import LoadedJob, find_job_file, load_jobs
from stored.folders import write_files

OLD = {
    "rag_config.yaml": (
        "ollama: {base_url: 'http://localhost:11434', embedding_model: nomic-embed-text, timeout: 90.5}\n"
        "chroma: {persist_dir: chroma_db, tenant: default, database: knowledge}\n"
        "chunking: {strategy: sentence, chunk_size: 400, sentence_split_threshold: 0.5}\n"
        "query: {similarity_top_k: 9}\n"
    ),
    "ingest/handbook.yaml": (
        "collection_name: handbook\nfile_paths: [docs/handbook.pdf]\nrebuild: true\n"
        "preprocessor: {module: elt_llm_ingest.preprocessor, class: IdentityPreprocessor}\n"
    ),
    "ingest/model.yaml": "collection_name: model\nfile_paths: [m.xml]\npreprocessor: {class: AssetPreprocessor}\n",
    "ingest/club_rules.yaml": "file_paths: [rules.md]\nforce: true\n",
    "consumer/catalog.yaml": (
        "handbook_collection: handbook\nmodel_collection: model\nentity_aliases_file: aliases.yaml\n"
        "forced_handbook_entities: [Berth]\nno_handbook_coverage: [Server]\nstatic_context: A harbour.\n"
        "handbook_sections: [Fees]\n"
    ),
    "query/rules.yaml": (
        "collections: [{name: handbook}, {name: club-rules}]\nquery: {similarity_top_k: 4, system_prompt: Be brief.}\n"
    ),
}


@pytest.fixture
def converted(tmp_path: Path) -> dict[str, MigratedFile]:
    write_files(tmp_path / "old", OLD)
    found = list(convert_directory(tmp_path / "old"))
    write_converted(found, tmp_path / "new")
    return {one.source: one for one in found}


def test_converted_files_of_the_former_program_can_be_loaded(
    converted: dict[str, MigratedFile], tmp_path: Path
) -> None:
    assert [one.target for one in converted.values()] == [
        "config/consumer/catalog.yaml",
        "config/ingest/club_rules.yaml",
        "config/ingest/handbook.yaml",
        "config/ingest/model.yaml",
        "config/profiles/rules.yaml",
        "config/rag_config.yaml",
    ]
    loaded = load_settings(None, {}, tmp_path / "new")
    assert loaded.settings.chunking.chunk_size == 400
    assert loaded.settings.ollama.request_timeout == 90.5
    assert loaded.settings.query.similarity_top_k == 9
    assert str(loaded.settings.storage.data_dir) == "chroma_db"
    profile = load_profile("rules", loaded)
    assert profile.collections == ("handbook", "club-rules")
    assert profile.prompt is not None
    assert profile.prompt.system == "Be brief."
    for name, collection, reader in (
        ("handbook", "handbook", "auto"),
        ("model", "model", "leanix_model"),
        ("club_rules", "club-rules", "auto"),
    ):
        [job] = load_jobs(find_job_file(name, loaded, tmp_path), loaded)
        assert isinstance(job, LoadedJob)
        assert (job.spec.collection, job.spec.reader) == (collection, reader)
    spec = load_job(tmp_path / "new" / "config" / "consumer" / "catalog.yaml", loaded).spec
    assert (spec.sources.handbook, spec.sources.model) == (("handbook",), "model")
    assert (spec.catalog.deeper, spec.catalog.not_in_texts) == (("Berth",), ("Server",))
    assert spec.catalog.context == "A harbour."


def test_former_settings_keys_without_an_equivalent_are_listed_with_the_reason(
    converted: dict[str, MigratedFile],
) -> None:
    settings = converted["rag_config.yaml"].without_home
    assert [line.split(":")[0] for line in settings] == [
        "chroma.tenant",
        "chroma.database",
        "chunking.sentence_split_threshold",
    ]
    ingest = [line.split(":")[0] for line in converted["ingest/handbook.yaml"].without_home]
    assert ingest == ["rebuild", "preprocessor"]
    assert converted["consumer/catalog.yaml"].without_home[0].startswith("handbook_sections: Every section is read.")
    assert "forced_handbook_entities -> catalog.deeper" in converted["consumer/catalog.yaml"].renamed


def test_existing_files_are_not_overwritten(converted: dict[str, MigratedFile], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Existing files are never overwritten"):
        write_converted(list(converted.values()), tmp_path / "new")


@pytest.mark.parametrize("files", [{}, {"rag_config.yaml": "a: [1"}])
def test_converting_a_folder_without_configuration_is_an_error(files: dict[str, str], tmp_path: Path) -> None:
    write_files(tmp_path / "old", {**files, "note.txt": "x"})
    with pytest.raises(UsageError):
        list(convert_directory(tmp_path / "old"))


@pytest.mark.parametrize(
    ("module", "replacement"),
    [
        ("elt_llm_ingest.runner", "elt-llm ingest --job rules"),
        ("elt_llm_query.runner", 'elt-llm ask "QUESTION" --profile rules or elt-llm chat --profile rules'),
        ("elt_llm_api.app", "elt-llm serve"),
        ("elt_llm_consumer.runner", "elt-llm glossary --job rules or elt-llm catalog --job rules"),
    ],
)
def test_a_former_entry_point_names_the_command_that_replaced_it(module: str, replacement: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", module, "--cfg", "rules"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 2
    assert replacement in shown.stderr


def test_a_converted_file_is_yaml_and_names_the_file_it_was_converted_from(
    converted: dict[str, MigratedFile], tmp_path: Path
) -> None:
    text = (tmp_path / "new" / "config" / "ingest" / "model.yaml").read_text()
    assert text.startswith("# Converted from ingest/model.yaml by elt-llm migrate-config.\n")
    assert yaml.safe_load(text) == converted["ingest/model.yaml"].content

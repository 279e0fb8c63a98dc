"""Folders name the tenant, the knowledge base and the type of their documents."""

from pathlib import Path

import pytest
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.store.store import open_store
from elt_llm_ingest.sources.path_fields import FolderPattern
from stored.job_project import JobProject

TEXT = "# Travel\n\nTravel is approved by the manager before it starts.\n"


@pytest.mark.parametrize(
    ("pattern", "folders", "fields"),
    [
        ("{tenant_id}/**", ["acme", "x"], {"tenant_id": "acme"}),
        ("{tenant_id}", ["acme"], {"tenant_id": "acme"}),
        ("/{tenant_id}/{knowledge_base_id}/**", ["acme", "hr"], {"tenant_id": "acme", "knowledge_base_id": "hr"}),
        ("*/{doc_type}/**", ["acme", "policy"], {"doc_type": "policy"}),
        ("{tenant_id}/{doc_type}/**", ["acme"], {}),
        ("{tenant_id}/**", [], {}),
        ("{tenant_id}/**", ["a\u0308"], {"tenant_id": "\u00e4"}),
    ],
)
def test_the_folders_of_a_file_give_values_to_the_fields_in_a_pattern(
    pattern: str, folders: list[str], fields: dict[str, str]
) -> None:
    assert FolderPattern.parse(pattern).values(folders) == fields


@pytest.mark.parametrize(
    "pattern", ["", "**", "*/x", "{year}/**", "{tenant_id}/{tenant_id}", "a{tenant_id}", "**/{tenant_id}"]
)
def test_invalid_folder_patterns_are_refused_with_an_example(pattern: str) -> None:
    with pytest.raises(UsageError) as refused:
        FolderPattern.parse(pattern)
    assert "{tenant_id}/{knowledge_base_id}/**" in str(refused.value.hint)


def owners(project: JobProject) -> dict[str, tuple[object, ...]]:
    """Return the owner fields of each published document by its path."""
    with open_store(project.loaded.data_dir) as store:
        record = store.collections.get("shared")
        assert record.published is not None
        return {
            one.source: tuple(one.metadata.get(name) for name in ("tenant_id", "doc_type"))
            for one in store.documents.in_generation(record.id, record.published)
        }


def test_the_tenant_and_type_of_a_document_come_from_folders_or_the_job_and_never_from_its_text(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    claim = f"---\ntenant_id: beta\ndoc_type: secret\n---\n{TEXT}"
    project.write({"share/acme/a.md": claim, "share/beta/deep/b.md": TEXT, "share/c.md": claim})
    project.job(
        "shared", "collection: shared\npaths: [share]\npath_fields: '{tenant_id}/**'\nmetadata: {doc_type: 7}\n"
    )
    project.run("shared")
    expected = {"acme/a.md": ("acme", "7"), "beta/deep/b.md": ("beta", "7"), "c.md": (None, "7")}
    assert owners(project) == expected
    project.job("shared", "collection: shared\npaths: [share]\n")  # the documents are read again without the fields
    project.run("shared")
    assert set(owners(project).values()) == {(None, None)}


def test_a_file_is_read_again_if_changed_job_paths_give_the_file_another_owner(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.write({"share/acme/beta/a.md": TEXT, "share/acme/beta/b.md": TEXT})
    lines = "collection: shared\npaths: [{}]\npath_fields: '{{tenant_id}}/**'\n"
    for paths, tenant in (("share", "acme"), ("share, share/acme", "beta")):
        project.job("shared", lines.format(paths))
        planned = project.plan("shared")
        project.run("shared")
        assert {fields[0] for fields in owners(project).values()} == {tenant}
        assert planned.counts["new" if tenant == "acme" else "changed"] == 2
        assert project.plan("shared").counts["unchanged"] == 2
    assert len(project.parser.read) == 4


def test_a_document_without_a_tenant_does_not_belong_to_a_tenant_named_none(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.write({"share/None/a.md": TEXT, "share/a.md": TEXT})
    project.job("shared", "collection: shared\npaths: [share]\npath_fields: '{tenant_id}/**'\n")
    project.run("shared")
    with open_store(project.loaded.data_dir) as store:
        record = store.collections.get("shared")
        documents = store.documents.in_generation(record.id, record.published or 0)
        assert len({one.content_key for one in documents}) == 2
        assert store.documents.duplicates([one.version for one in documents]) == {}


@pytest.mark.parametrize(
    "lines",
    [
        "path_fields: '{year}/**'",
        "path_fields: '{tenant_id}/**'\nmetadata: {tenant_id: acme}",
        "metadata: {tenant_id: [a, b]}",
    ],
)
def test_a_job_with_unknown_contradicting_or_list_valued_owner_fields_is_refused(tmp_path: Path, lines: str) -> None:
    project = JobProject(tmp_path)
    project.write({"share/a.md": TEXT})
    project.job("shared", f"collection: shared\npaths: [share]\n{lines}\n")
    with pytest.raises(SettingsError):
        project.run("shared")

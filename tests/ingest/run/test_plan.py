"""A dry run plans what a run then does, and writes nothing."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import ChunkingSettings, EmbeddingSettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.run.plan import IngestPlan, plan_ingest
from elt_llm_ingest.sources.request import IngestRequest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored.folders import generated_files, run_ingest, write_files
from stored.job_project import JobProject
from stored.shelf import COLLECTION

SETTINGS = Settings(
    embedding=EmbeddingSettings(provider="fake"), chunking=ChunkingSettings(chunk_size=24, chunk_overlap=0)
)


def _plan(
    data_dir: Path, *paths: Path, embedding: EmbeddingModel | None = None, using: Settings = SETTINGS, **flags: Any
) -> IngestPlan:
    request = IngestRequest(COLLECTION, paths, **flags)
    if not data_dir.exists():
        return plan_ingest(request, using, embedding or FakeEmbedding(), None)
    with open_store(data_dir) as store:
        return plan_ingest(request, using, embedding or FakeEmbedding(), store)


def _statuses(plan: IngestPlan) -> dict[str, str]:
    return {file.path: file.status for file in plan.files}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", generated_files(12))


def _contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file in a folder, except SQLite's -shm and -wal files, which readers write."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_without_a_store_the_plan_lists_every_file_as_new_and_creates_no_store(tmp_path: Path, docs: Path) -> None:
    plan = _plan(tmp_path / "data", docs)
    assert (plan.counts, plan.changes) == ({"new": 12}, True)
    assert not (tmp_path / "data").exists()


def test_an_ingest_plan_lists_every_kind_of_change_and_writes_nothing(tmp_path: Path, docs: Path) -> None:
    data_dir = tmp_path / "data"
    run_ingest(data_dir, docs)
    assert not _plan(data_dir, docs).changes
    names = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    (docs / names[0]).write_text("# Changed\n")
    (docs / names[1]).rename(docs / "renamed.md")
    (docs / names[2]).unlink()
    write_files(docs, {"new.md": "# New\n", "tool.exe": "x"})
    before = _contents(data_dir)
    plan = _plan(data_dir)
    assert _contents(data_dir) == before
    statuses = _statuses(plan)
    assert (statuses[names[0]], statuses["renamed.md"], statuses[names[2]]) == ("changed", "renamed", "removed")
    assert (statuses["new.md"], names[1] in statuses) == ("new", False)
    assert plan.counts == {"changed": 1, "renamed": 1, "removed": 1, "new": 1, "skipped": 1, "unchanged": 9}


def test_an_ingest_plan_postpones_the_same_deletions_as_an_ingest(tmp_path: Path, docs: Path) -> None:
    run_ingest(tmp_path / "data", docs)
    shutil.rmtree(docs)
    docs.mkdir()
    assert _plan(tmp_path / "data").counts == {"missing": 12}
    allowed = _plan(tmp_path / "data", allow_delete=True)
    assert (allowed.counts, allowed.changes) == ({"removed": 12}, True)


def test_an_ingest_plan_reports_changed_settings_and_models(tmp_path: Path, docs: Path) -> None:
    run_ingest(tmp_path / "data", docs)
    cut_otherwise = SETTINGS.model_copy(update={"chunking": ChunkingSettings(chunk_size=64)})
    assert _plan(tmp_path / "data", docs, using=cut_otherwise).counts == {"changed": 12}
    refused = _plan(tmp_path / "data", docs, embedding=FakeEmbedding(32))
    assert ("--rebuild" in refused.refused, refused.changes) == (True, False)
    rebuilt = _plan(tmp_path / "data", docs, embedding=FakeEmbedding(32), rebuild=True)
    assert (rebuilt.rebuilt, rebuilt.refused, rebuilt.changes) == ("--rebuild was given", "", True)


def test_an_ingest_plan_without_an_embedding_model_compares_only_the_bytes_of_files(tmp_path: Path, docs: Path) -> None:
    run_ingest(tmp_path / "data", docs)
    with open_store(tmp_path / "data") as store:
        plan = plan_ingest(IngestRequest(COLLECTION, (docs,)), SETTINGS, None, store)
    assert plan.counts == {"unchanged": 12}


def test_an_ingest_plan_refuses_the_same_missing_paths_as_an_ingest(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        _plan(tmp_path / "data", tmp_path / "nowhere")


def _change(path: Path, what: str, number: int) -> None:
    if what == "c":
        path.write_text(f"# Again {number}\n")
    elif what == "d":
        path.unlink()
    else:
        path.rename(path.with_name(f"moved-{number}.md"))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from("acdr"), st.integers(0, 7)), max_size=6))
def test_an_ingest_changes_exactly_what_its_plan_predicted(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("plan")
    docs = write_files(folder / "docs", {f"{number}.md": f"# {number}\n\nWords {number}.\n" for number in range(8)})
    run_ingest(folder / "data", docs)
    for number, (what, which) in enumerate(steps):
        path = docs / f"{which}.md"
        if what == "a":
            write_files(docs, {f"new-{number}.md": f"# New {number}\n"})
        elif path.exists():
            _change(path, what, number)
    plan = _plan(folder / "data", docs)
    report = run_ingest(folder / "data", docs)
    foreseen = Counter({"renamed": "ok", "new": "ok", "changed": "ok"}.get(it.status, it.status) for it in plan.files)
    happened = Counter(it.status for it in report.files)
    renamed = sum(it.status == "renamed" for it in plan.files)
    assert foreseen + Counter(removed=renamed) == happened
    assert plan.changes == report.published


def test_the_plan_of_a_split_job_lists_the_files_to_read(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.write({"rules/a.md": "# Scope\n\nA.\n\n# Fees\n\nB.\n", "rules/b.md": "# Fees\n\nC.\n"})
    project.job("rules", "collection_prefix: hb_\nsplit_by: section\npaths: [rules]\n")
    first = project.plan("rules")
    assert (first.collection, first.counts, first.changes) == ("hb_*", {"new": 2}, True)
    project.run("rules")
    assert _statuses(project.plan("rules")) == {"a.md": "unchanged", "b.md": "unchanged"}
    project.write({"rules/b.md": "# Dues\n\nC.\n", "rules/c.md": "# Tolls\n"})
    (project.folder / "rules" / "a.md").unlink()
    project.parser.read.clear()
    assert _statuses(project.plan("rules")) == {"a.md": "removed", "b.md": "changed", "c.md": "new"}
    assert project.parser.read == []


def test_the_plan_of_an_invalid_job_states_why_the_job_is_invalid(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.job("gone", "collection: gone\npaths: [nowhere]\n")
    plan = project.plan("gone")
    assert ("nowhere" in plan.refused, plan.changes) == (True, False)

"""Jobs fill collections, notice changed files, and leave the collections of other jobs unchanged."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.store import open_store
from elt_llm_ingest.jobs.runner import collection_name, refuse_job_collection
from hypothesis import given
from hypothesis import strategies as st
from stored.job_project import JobProject, outcomes

pytestmark = pytest.mark.halved


RULES = "# Scope\n\nThis is for ships.\n\n# Fees\n\nA berth costs ten.\n\n# Scope of the rest\n\nNothing more.\n"


@pytest.fixture
def project(tmp_path: Path) -> JobProject:
    made = JobProject(tmp_path)
    made.write({f"docs/{name}.md": f"# {name}\n\nAbout {name}.\n" for name in ("anchor", "deep/basin", "drafts/canal")})
    made.write({"docs/keel.txt": "About keels.\n", "other/reef.md": "# Reef\n\nSharp.\n"})
    return made


def test_patterns_and_exclusions_in_a_job_select_the_files(project: JobProject) -> None:
    project.job("a", "collection: a\npaths: ['docs/**/*.md', other]\nexclude: [drafts, 'other/*.tmp']\n")
    [report] = project.run("a").reports
    assert {file.path: file.status for file in report.files if file.status == "ok"} == {
        "anchor.md": "ok",
        "deep/basin.md": "ok",
        "reef.md": "ok",
    }
    [skipped] = [file for file in report.files if file.status == "skipped"]
    assert (Path(skipped.path).name, skipped.reason) == ("drafts", "excluded by drafts")


def test_a_deleted_file_that_matched_a_job_pattern_is_removed_from_the_collection(project: JobProject) -> None:
    project.job("a", "collection: a\npaths: ['docs/**/*.md']\n")
    project.run("a")
    (project.folder / "docs" / "anchor.md").unlink()
    assert outcomes(project.run("a"))["a"]["anchor.md"] == "removed"
    assert set(project.texts("a")) == {"deep/basin.md", "drafts/canal.md"}


def test_files_that_a_changed_job_no_longer_selects_are_removed_if_deletions_are_allowed(project: JobProject) -> None:
    project.job("a", "collection: a\npaths: [docs, other]\n")
    project.run("a")
    project.job("a", "collection: a\npaths: [docs]\n")
    held = project.run("a")
    assert (held.exit_code, "reef.md" in project.texts("a")) == (1, True)
    assert project.run("a", allow_delete=True).exit_code == 0
    assert set(project.texts("a")) == {"anchor.md", "deep/basin.md", "drafts/canal.md", "keel.txt"}


def test_the_metadata_and_chunking_options_of_a_job_are_applied(project: JobProject) -> None:
    project.job(
        "a", "collection: a\npaths: [docs/keel.txt]\nmetadata: {kept_by: harbour}\nchunking: {chunk_size: 16}\n"
    )
    project.run("a")
    with open_store(project.loaded.data_dir) as store:
        record = store.collections.get("a")
        [document] = store.documents.in_generation(record.id, record.published or 0)
    assert document.metadata["kept_by"] == "harbour"


def test_a_second_run_of_an_unchanged_job_reads_no_file(project: JobProject) -> None:
    project.job("a", "collection: a\npaths: [docs]\n")
    first = project.run("a")
    project.parser.read.clear()
    again = project.run("a")
    assert (again.reports[0].published, project.parser.read) == (False, [])
    assert again.reports[0].collection_hash == first.reports[0].collection_hash


def test_a_job_cannot_fill_a_collection_that_another_job_fills(project: JobProject) -> None:
    project.job("a", "collection: a\npaths: [docs]\n")
    project.job("b", "collection: a\npaths: [other]\n")
    project.run("a")
    with open_store(project.loaded.data_dir) as store, pytest.raises(UsageError) as by_hand:
        refuse_job_collection(store, "a")
    assert by_hand.value.hint.startswith("Run: elt-llm ingest --job a ")
    with pytest.raises(UsageError, match="is filled by the job a"):
        project.run("b")
    (project.folder / "config" / "ingest" / "a.yaml").unlink()
    assert project.run("b", allow_delete=True).exit_code == 0
    assert set(project.texts("a")) == {"reef.md"}


def test_a_failing_job_does_not_stop_the_other_jobs_of_a_list(project: JobProject) -> None:
    project.job("good", "collection: good\npaths: [docs]\n")
    project.job("gone", "collection: gone\npaths: [nowhere]\n")
    project.job("all", "jobs: [gone, unwritten, good]\n")
    reports = project.run_all("all")
    assert [(report.job, report.exit_code) for report in reports] == [("gone", 1), ("unwritten", 1), ("good", 0)]
    assert "nowhere" in reports[0].error
    assert project.collections() == ["good"]


@pytest.fixture
def split(project: JobProject) -> JobProject:
    project.write({"rules/rules.md": RULES, "rules/more.md": "# Fees\n\nWater costs two.\n\n# Tolls\n\nNone.\n"})
    project.job("rules", "collection_prefix: hb_\nsplit_by: section\npaths: [rules]\n")
    return project


def test_a_job_that_splits_files_fills_one_collection_per_section_and_reads_each_file_once(split: JobProject) -> None:
    report = split.run("rules")
    assert report.exit_code == 0
    assert split.collections() == ["hb_fees", "hb_scope", "hb_scope-of-the-rest", "hb_tolls"]
    assert sorted(split.parser.read) == ["more.md", "rules.md"]
    assert set(split.texts("hb_fees")) == {"more.md", "rules.md"}
    assert "berth" in split.texts("hb_fees")["rules.md"]
    assert "berth" not in split.texts("hb_scope")["rules.md"]


def test_unchanged_files_of_a_split_job_are_not_read_again(split: JobProject) -> None:
    split.run("rules")
    split.parser.read.clear()
    again = split.run("rules")
    assert (split.parser.read, [report.published for report in again.reports]) == ([], [False] * 4)
    split.write({"rules/more.md": "# Fees\n\nWater costs three.\n\n# Tolls\n\nNone.\n"})
    changed = split.run("rules")
    assert split.parser.read == ["more.md"]
    assert "three" in split.texts("hb_fees")["more.md"]
    assert {report.collection: report.exit_code for report in changed.reports}["hb_fees"] == 0


def test_the_collection_of_a_section_that_was_removed_is_dropped_if_deletions_are_allowed(split: JobProject) -> None:
    split.run("rules")
    split.write({"rules/more.md": "# Fees\n\nWater costs two.\n\n# Dues\n\nNone.\n"})
    kept = split.run("rules")
    assert (kept.left_over, kept.exit_code) == (("hb_tolls",), 1)
    assert "hb_tolls" in split.collections()
    allowed = split.run("rules", allow_delete=True)
    assert (allowed.dropped, allowed.exit_code) == (("hb_tolls",), 0)
    assert split.collections() == ["hb_dues", "hb_fees", "hb_scope", "hb_scope-of-the-rest"]


def test_the_documents_of_a_file_that_became_unreadable_stay_in_their_collections(split: JobProject) -> None:
    split.run("rules")
    (split.folder / "rules" / "more.md").write_bytes(b"\x00\x01\x02")
    report = split.run("rules")
    assert (report.exit_code, report.left_over) == (1, ())
    assert outcomes(report)["hb_tolls"] == {"more.md": "failed"}
    assert "Water" in split.texts("hb_fees")["more.md"]


def test_a_file_that_belongs_to_no_collection_is_reported_with_the_reason(split: JobProject) -> None:
    (split.folder / "rules" / "bad.pdf").write_bytes(b"%PDF-1.4 and no more")
    split.write({"rules/empty.md": ""})
    report = split.run("rules")
    assert {file.path: file.status for file in report.files} == {"bad.pdf": "failed", "empty.md": "empty"}
    assert (report.exit_code, len(report.reports)) == (1, 4)


def test_a_job_that_splits_files_never_takes_over_a_collection_of_another_job(split: JobProject) -> None:
    split.job("mine", "collection: hb_fees\npaths: [docs]\n")
    split.run("mine")
    with pytest.raises(UsageError, match="hb_fees"):
        split.run("rules")


@given(st.text(min_size=1, max_size=300), st.sampled_from(["hb_", "inventory_", "a" * 31]))
def test_every_group_of_a_split_file_gets_a_valid_collection_name_with_the_prefix(group: str, prefix: str) -> None:
    name = collection_name(prefix, group)
    assert check_collection_name(name).startswith(prefix)
    assert name == collection_name(prefix, group)
    assert len(name) > len(prefix)


def test_a_collection_name_is_made_of_the_words_of_a_title() -> None:
    titles = {"4.2 Fees & Fines": "hb_4-2-fees-fines", "SeaPort": "hb_sea-port", "Größe": "hb_grosse"}
    assert {title: collection_name("hb_", title) for title in titles} == titles


def test_long_titles_with_equal_starts_get_different_collection_names() -> None:
    names = {collection_name("hb_", f"{'The same beginning ' * 5}{number}") for number in range(50)}
    assert len(names) == 50

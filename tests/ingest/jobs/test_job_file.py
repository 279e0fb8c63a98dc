"""Job files are read, and every mistake is reported with its line."""

from pathlib import Path

import pytest
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_ingest.jobs.job_file import LoadedJob, UnreadableJob, example_jobs, find_job_file, load_jobs
from stored.job_project import JobProject


@pytest.fixture
def project(tmp_path: Path) -> JobProject:
    return JobProject(tmp_path)


def test_the_values_in_a_job_file_override_the_settings(project: JobProject) -> None:
    project.job(
        "ships",
        "collection: ships\npaths: [docs]\nchunking: {chunk_size: 99}\ntopics: {sea: [tide]}\nmetadata: {year: 2024}\n",
    )
    job = project.load("ships")
    settings = job.spec.apply_to(project.loaded.settings)
    assert (job.name, job.spec.metadata, job.spec.reader) == ("ships", {"year": 2024}, "auto")
    assert (settings.chunking.chunk_size, settings.chunking.chunk_overlap) == (99, 32)
    assert settings.ingest.topics == {"sea": ("tide",)}
    assert settings.ingest.workers == project.loaded.settings.ingest.workers


def test_an_overlap_of_a_job_that_is_no_smaller_than_a_chunk_is_refused(project: JobProject) -> None:
    project.job("ships", "collection: ships\npaths: [docs]\nchunking: {chunk_overlap: 200}\n")
    with pytest.raises(UsageError, match=r"chunk_overlap \(200\) must be less than chunk_size \(200\)"):
        project.load("ships").spec.apply_to(project.loaded.settings)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("collection: a\n", "paths is missing"),
        ("collection: a\npaths: []\n", ":2: paths"),
        ("collection: a\nreader: tickets\n", ":2: there is no reader named tickets"),
        ("paths: [x]\n", "a job needs either collection, or collection_prefix and split_by; add them"),
        ("paths: [x]\ncollection: a\ncollection_prefix: b\n", ":3: a job has either collection or collection_prefix"),
        ("paths: [x]\ncollection_prefix: b\n", ":2: collection_prefix is set, but split_by is missing"),
        ("paths: [x]\ncollection: a\nsplit_by: type\n", ":3: split_by is set, but collection_prefix is missing"),
        ("paths: [x]\ncolection: a\n", ':2: colection = "a": unknown key; did you mean collection?'),
        ("paths: [x]\ncollection: A B\n", ":2: collection is not valid: 'A B' is not a valid collection name"),
        (f"paths: [x]\ncollection_prefix: {'p' * 40}\nsplit_by: type\n", ":2: a prefix has at most 31 characters"),
        ("paths: [x]\ncollection: a\nreader: telepathy\n", ":3: there is no reader named telepathy"),
        ("paths: [x]\ncollection: a\nchunking: {chunk_sise: 1}\n", ":3: chunking.chunk_sise"),
        ("paths: [x]\ncollection: a\nsplit_by: page\ncollection_prefix: b\n", "one of section, type"),
        ("paths: x\ncollection: a\n", ":1: paths"),
        ("paths: [x]\ncollection: a\nmetadata: {a: {b: c}}\n", ":3: metadata.a"),
        ("paths: [x]\ncollection: a\ncolumns: {entty: X}\n", ":3: unknown key 'entty'"),
        (
            "paths: [x]\ncollection: a\ncolumns: {definition: X}\n",
            ":3: for a data dictionary, name the column that contains the entity",
        ),
        (
            "paths: [x]\ncollection: a\nreader: dictionary\n",
            "for a data dictionary, name the column that contains the entity",
        ),
        ("jobs: []\n", ":1: jobs"),
    ],
)
def test_a_job_file_error_names_the_line_of_the_mistake(yaml: str, expected: str, project: JobProject) -> None:
    file = project.job("wrong", yaml)
    with pytest.raises(SettingsError) as caught:
        load_jobs(file, project.loaded)
    assert expected in str(caught.value)
    assert str(caught.value).startswith("config/ingest/wrong.yaml")


def test_a_job_is_found_by_its_name_or_by_a_path(project: JobProject) -> None:
    file = project.job("ships", "collection: ships\npaths: [docs]\n")
    elsewhere = project.folder / "mine.yaml"
    elsewhere.write_text(file.read_text())
    for given in ("ships", "config/ingest/ships.yaml", str(file)):
        assert find_job_file(given, project.loaded, project.folder).samefile(file)
    assert find_job_file("mine.yaml", project.loaded, project.folder) == elsewhere
    [job] = load_jobs(elsewhere, project.loaded)
    assert job.name == "mine.yaml"
    with pytest.raises(UsageError, match="no job 'shipps'") as caught:
        find_job_file("shipps", project.loaded, project.folder)
    assert caught.value.hint == "Did you mean ships?"


def test_a_list_of_jobs_that_contains_an_unreadable_job_keeps_the_other_jobs(project: JobProject) -> None:
    project.job("good", "collection: good\npaths: [docs]\n")
    project.job("bad", "collection: bad\npaths: 3\n")
    project.job("nested", "jobs: [good]\n")
    file = project.job("all", "jobs: [good, bad, nested, nowhere, ../good, good]\n")
    jobs = load_jobs(file, project.loaded)
    assert [(job.name, type(job)) for job in jobs] == [
        ("good", LoadedJob),
        ("bad", UnreadableJob),
        ("nested", UnreadableJob),
        ("nowhere", UnreadableJob),
        ("../good", UnreadableJob),
    ]


def test_the_example_files_are_valid_jobs(project: JobProject) -> None:
    project.write({f"config/{name}": text for name, text in example_jobs().items()})
    jobs = load_jobs(find_job_file("load_all", project.loaded, project.folder), project.loaded)
    assert [type(job) for job in jobs] == [LoadedJob, LoadedJob, LoadedJob]

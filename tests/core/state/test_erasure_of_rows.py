"""Deleting a document also erases its words from job rows and reviews."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.collection.purging import purge
from elt_llm_core.progress import SilentListener
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.jobs import (
    ANY_DOCUMENT,
    JobName,
    JobReviewTable,
    JobRowTable,
    OutputRow,
    QuotedDocument,
    RowId,
    StoredReview,
    StoredRow,
)
from elt_llm_core.store.database import Database, SqliteDatabase
from elt_llm_core.store.migrations import apply_schema_step
from elt_llm_core.store.store import open_store
from stored.shelf import COLLECTION, put, some_documents, writing

NAME = JobName("rules", "glossary")
CANARY = "zuckerrohrdschungel"
SAMPLE = f"The text tells of {CANARY}."


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a data directory with two documents. Each has a row of a job, which was also output and reviewed."""
    documents = {"a.md": ["Nothing to tell."], "b.md": [SAMPLE]}
    with writing(tmp_path / "data") as store:
        put(store, documents)
    for path, texts in documents.items():
        _keep(tmp_path / "data", path, _quoted(tmp_path / "data", path), " ".join(texts))
    return tmp_path / "data"


@pytest.fixture
def state(data_dir: Path) -> Iterator[Database]:
    with closing(open_state(data_dir)) as opened:
        yield opened


def _quoted(data_dir: Path, path: str) -> QuotedDocument:
    with open_store(data_dir) as store:
        record = store.collections.get(COLLECTION)
        found = store.documents.in_generation(record.id, record.published or 0)
        return next((COLLECTION, it.document_id, it.document_hash) for it in found if it.source == path)


def _keep(data_dir: Path, key: str, quoted: QuotedDocument, text: str, comment: str = "") -> None:
    place, documents = RowId("terms", key), frozenset({quoted})
    with closing(open_state(data_dir)) as state:
        JobRowTable(state).put(NAME, StoredRow(place, "made", text, documents))
        shown = JobRowTable(state).shown(NAME)
        JobRowTable(state).show(NAME, [*shown.values(), OutputRow(place, text, "seen", documents)])
        JobReviewTable(state).put(NAME, [StoredReview(place, "APPROVED", "kim", comment or text, "seen", documents)])


def _keys(state: Database) -> tuple[list[str], list[str], list[str]]:
    found = (JobRowTable(state).all(NAME), JobRowTable(state).shown(NAME), JobReviewTable(state).all(NAME))
    kept, shown, reviewed = ([place.key for place in places] for places in found)
    return kept, shown, reviewed


def _canary_in_state(data_dir: Path) -> bool:
    return any(CANARY.encode() in path.read_bytes() for path in data_dir.glob(f"{STATE_NAME}*"))


def test_forgetting_a_document_erases_job_rows_and_reviews_that_quote_the_document(
    data_dir: Path, state: Database
) -> None:
    with writing(data_dir) as store:
        report = forget(store, COLLECTION, "b.md", SilentListener())
    assert (report.rows, report.reviews) == (1, 1)
    assert _keys(state) == (["a.md"], ["a.md"], ["a.md"])


def test_a_purge_erases_job_rows_that_quote_an_earlier_version_of_a_document(data_dir: Path) -> None:
    with writing(data_dir) as store:
        put(store, {"a.md": ["Nothing to tell."], "b.md": ["It was changed."]})
        receipt = purge(store, [], SilentListener())
    assert (receipt.rows, receipt.reviews) == (1, 1)
    assert receipt.is_clean
    assert not _canary_in_state(data_dir)
    with closing(open_state(data_dir)) as state:
        assert _keys(state) == (["a.md"], ["a.md"], ["a.md"])


def test_dropping_a_collection_erases_the_job_rows_and_reviews_of_the_collection(
    data_dir: Path, state: Database
) -> None:
    _keep(data_dir, "other", ("other", "id", "hash"), "Other.")
    with writing(data_dir) as store:
        drop(store, COLLECTION)
    assert _keys(state) == (["other"], ["other"], ["other"])


def test_a_review_keeps_its_status_but_loses_its_comment_on_an_erased_document(data_dir: Path, state: Database) -> None:
    place = RowId("terms", "a.md")
    documents = frozenset({_quoted(data_dir, "b.md")})
    JobReviewTable(state).put(NAME, [StoredReview(place, "REJECTED", "kim", f"It said {CANARY}.", "seen", documents)])
    with writing(data_dir) as store:
        assert forget(store, COLLECTION, "b.md", SilentListener()).reviews == 2
    review = JobReviewTable(state).all(NAME)[place]
    assert (review.status, review.reviewer, review.comment) == ("REJECTED", "kim", "")


def test_a_purge_erases_a_review_comment_with_erased_words_whatever_row_it_is_about(data_dir: Path) -> None:
    _keep(data_dir, "c", _quoted(data_dir, "a.md"), "Nothing.", comment=f"Compare: {SAMPLE}")
    with writing(data_dir) as store:
        put(store, {"a.md": ["Nothing to tell."]})
        receipt = purge(store, [], SilentListener())
    assert receipt.reviews == 2
    assert not _canary_in_state(data_dir)


def test_a_job_row_that_may_quote_any_document_is_erased_when_any_document_is_forgotten(
    data_dir: Path, state: Database
) -> None:
    _keep(data_dir, "any", (COLLECTION, ANY_DOCUMENT, ""), "Written by a model.")
    with writing(data_dir) as store:
        assert purge(store, [], SilentListener()).rows == 0
        assert forget(store, COLLECTION, "b.md", SilentListener()).rows == 2


def test_a_purge_keeps_job_rows_that_quote_another_collection(data_dir: Path, state: Database) -> None:
    with writing(data_dir) as store:
        put(store, some_documents(2), name="other")
        put(store, {"a.md": ["Nothing to tell."]})
        receipt = purge(store, ["other"], SilentListener())
    assert (receipt.rows, receipt.reviews) == (0, 0)
    assert _keys(state)[0] == ["a.md", "b.md"]


def test_a_state_database_with_the_first_schema_gets_the_job_tables(tmp_path: Path) -> None:
    with closing(SqliteDatabase(tmp_path / STATE_NAME, for_writing=True)) as state:
        apply_schema_step(state, "elt_llm_core.state", 1)
    with closing(open_state(tmp_path)) as state:
        assert JobRowTable(state).all(NAME) == {}
        assert JobReviewTable(state).all(NAME) == {}
    assert (tmp_path / STATE_NAME).stat().st_mode & 0o777 == 0o600

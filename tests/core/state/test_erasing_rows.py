"""Rows of jobs and what reviewers said of them hold words of documents: what is gone leaves them too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection import drop
from elt_llm_core.forgetting import forget
from elt_llm_core.progress import SilentProgress
from elt_llm_core.purging import purge
from elt_llm_core.state.database import STATE_NAME, STEPS, open_state
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import ANY_DOCUMENT, JobName, JobRows, KeptRow, Place, Quoted, ShownRow
from elt_llm_core.store.database import Database
from elt_llm_core.store.store import open_store
from shelf import COLLECTION, put, some_documents, writing

NAME = JobName("rules", "glossary")
CANARY = "zuckerrohrdschungel"
SAMPLE = f"The text tells of {CANARY}."


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A collection of two documents with a kept, shown and reviewed row of each."""
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


def _quoted(data_dir: Path, path: str) -> Quoted:
    with open_store(data_dir) as store:
        record = store.collections.get(COLLECTION)
        found = store.documents.in_generation(record.id, record.published or 0)
        return next((COLLECTION, it.document_id, it.document_hash) for it in found if it.source == path)


def _keep(data_dir: Path, key: str, quoted: Quoted, text: str, comment: str = "") -> None:
    place, documents = Place("terms", key), frozenset({quoted})
    with closing(open_state(data_dir)) as state:
        JobRows(state).put(NAME, KeptRow(place, "made", text, documents))
        shown = JobRows(state).shown(NAME)
        JobRows(state).show(NAME, [*shown.values(), ShownRow(place, text, "seen", documents)])
        JobReviews(state).put(NAME, [KeptReview(place, "APPROVED", "kim", comment or text, "seen", documents)])


def _keys(state: Database) -> tuple[list[str], list[str], list[str]]:
    found = (JobRows(state).all(NAME), JobRows(state).shown(NAME), JobReviews(state).all(NAME))
    kept, shown, reviewed = ([place.key for place in places] for places in found)
    return kept, shown, reviewed


def _told(data_dir: Path) -> bool:
    return any(CANARY.encode() in path.read_bytes() for path in data_dir.glob(f"{STATE_NAME}*"))


def test_forgetting_a_document_erases_the_rows_and_reviews_that_quote_it(data_dir: Path, state: Database) -> None:
    with writing(data_dir) as store:
        report = forget(store, COLLECTION, "b.md", SilentProgress())
    assert (report.rows, report.reviews) == (1, 1)
    assert _keys(state) == (["a.md"], ["a.md"], ["a.md"])


def test_purging_erases_what_quotes_an_earlier_version_of_a_document(data_dir: Path) -> None:
    with writing(data_dir) as store:
        put(store, {"a.md": ["Nothing to tell."], "b.md": ["It was changed."]})
        receipt = purge(store, [], SilentProgress())
    assert (receipt.rows, receipt.reviews) == (1, 1)
    assert receipt.is_clean
    assert not _told(data_dir)
    with closing(open_state(data_dir)) as state:
        assert _keys(state) == (["a.md"], ["a.md"], ["a.md"])


def test_dropping_a_collection_erases_its_rows_and_reviews(data_dir: Path, state: Database) -> None:
    _keep(data_dir, "other", ("other", "id", "hash"), "Other.")
    with writing(data_dir) as store:
        drop(store, COLLECTION)
    assert _keys(state) == (["other"], ["other"], ["other"])


def test_of_a_row_that_stays_the_status_is_kept_and_the_words_about_what_is_gone_are_not(
    data_dir: Path, state: Database
) -> None:
    place = Place("terms", "a.md")
    documents = frozenset({_quoted(data_dir, "b.md")})
    JobReviews(state).put(NAME, [KeptReview(place, "REJECTED", "kim", f"It said {CANARY}.", "seen", documents)])
    with writing(data_dir) as store:
        assert forget(store, COLLECTION, "b.md", SilentProgress()).reviews == 2
    review = JobReviews(state).all(NAME)[place]
    assert (review.status, review.reviewer, review.comment) == ("REJECTED", "kim", "")


def test_a_comment_with_words_of_what_is_purged_goes_whatever_it_was_said_of(data_dir: Path) -> None:
    _keep(data_dir, "c", _quoted(data_dir, "a.md"), "Nothing.", comment=f"Compare: {SAMPLE}")
    with writing(data_dir) as store:
        put(store, {"a.md": ["Nothing to tell."]})
        receipt = purge(store, [], SilentProgress())
    assert receipt.reviews == 2
    assert not _told(data_dir)


def test_a_row_that_may_hold_words_of_any_document_goes_with_the_first_of_them(data_dir: Path, state: Database) -> None:
    _keep(data_dir, "any", (COLLECTION, ANY_DOCUMENT, ""), "Written by a model.")
    with writing(data_dir) as store:
        assert purge(store, [], SilentProgress()).rows == 0
        assert forget(store, COLLECTION, "b.md", SilentProgress()).rows == 2


def test_what_quotes_a_collection_that_is_not_purged_stays(data_dir: Path, state: Database) -> None:
    with writing(data_dir) as store:
        put(store, some_documents(2), name="other")
        put(store, {"a.md": ["Nothing to tell."]})
        receipt = purge(store, ["other"], SilentProgress())
    assert (receipt.rows, receipt.reviews) == (0, 0)
    assert _keys(state)[0] == ["a.md", "b.md"]


def test_a_database_of_the_first_step_gets_the_tables_of_jobs(tmp_path: Path) -> None:
    with closing(Database(tmp_path / STATE_NAME, for_writing=True)) as state:
        for statement in STEPS[0]:
            state.execute(statement)
        state.execute("PRAGMA user_version = 1")
    with closing(open_state(tmp_path)) as state:
        assert JobRows(state).all(NAME) == {}
        assert JobReviews(state).all(NAME) == {}
    assert (tmp_path / STATE_NAME).stat().st_mode & 0o777 == 0o600

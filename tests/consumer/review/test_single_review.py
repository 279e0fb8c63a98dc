"""A review of a single row is stored in the same way as the reviews of a sheet."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_consumer.review.reviews import MAX_COMMENT_LENGTH, RowChanged, save_review
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, OutputRow, RowId
from elt_llm_core.store.database import Database
from row_jobs.fake_jobs import KIND, outputs_of, project, run, some_terms

NAME = JobName("rules", KIND)
PLACE = RowId("terms", "Term 01")


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return a project in which a glossary of two terms was written."""
    loaded = project(tmp_path, {"a/one.md": some_terms(2)})
    run(loaded)
    return loaded


@pytest.fixture
def state(loaded: LoadedSettings) -> Iterator[Database]:
    """Open the state database of the project."""
    with closing(open_state(loaded.data_dir)) as state:
        yield state


def _shown(state: Database) -> OutputRow:
    return JobRowTable(state).shown(NAME)[PLACE]


def test_a_review_of_one_row_is_shown_in_the_next_outputs(loaded: LoadedSettings, state: Database) -> None:
    kept = save_review(state, NAME, _shown(state), "APPROVED", "Registrar", " Good. ", _shown(state).digest)
    assert (kept.status, kept.reviewer, kept.comment, bool(kept.reviewed_at)) == (
        "APPROVED",
        "Registrar",
        "Good.",
        True,
    )
    run(loaded, choice=RowSelection(anew=True))
    terms = json.loads(outputs_of(loaded)["rules-glossary.json"])["tables"]["terms"]
    rows = {
        row["key"]: row["review"] for one in terms["domains"] for sub in one["subgroups"] for row in sub["entities"]
    }
    assert (rows["Term 01"]["status"], rows["Term 01"]["stale"], rows["Term 00"]["status"]) == (
        "APPROVED",
        False,
        "PENDING",
    )


def test_a_review_of_a_row_that_changed_after_it_was_shown_is_refused(state: Database) -> None:
    with pytest.raises(RowChanged, match="changed since"):
        save_review(state, NAME, _shown(state), "APPROVED", "Registrar", "", "0" * 64)
    assert JobReviewTable(state).all(NAME) == {}


@pytest.mark.parametrize(("reviewer", "comment"), [("R" * 201, ""), ("R", "c" * (MAX_COMMENT_LENGTH + 1))])
def test_a_review_too_long_for_a_sheet_is_refused(state: Database, reviewer: str, comment: str) -> None:
    with pytest.raises(UsageError, match="at most"):
        save_review(state, NAME, _shown(state), "REJECTED", reviewer, comment)
    assert JobReviewTable(state).all(NAME) == {}

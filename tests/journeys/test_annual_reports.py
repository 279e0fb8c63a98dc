"""Figures of financial statements in three annual reports, which draw their tables in different ways."""

from collections.abc import Iterator

import pytest
from corpora.statements import QUESTIONS, REPORTS, FigureQuestion, write_reports
from optional import needs
from served.project import Asker, Project

pytestmark = [pytest.mark.network, pytest.mark.halved]
_FEWEST_RIGHT = 36


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A client of a server with a collection for each report."""
    needs("fpdf")
    folder = tmp_path_factory.mktemp("reports")
    project = Project(folder, {"embedding": {"provider": "embedded"}})
    write_reports(folder)
    for name in REPORTS:
        project.run("ingest", f"{name}.pdf", "-c", name, "--json")
    with project.served() as asker:
        yield asker


def _is_right(asker: Asker, asked: FigureQuestion) -> bool:
    """Whether the answer has the figure, and its first citation is to the page of the figure."""
    answer = asker.ask(asked.question, collections=[asked.report])
    return asked.figure in answer["answer"] and [one["page"] for one in answer["citations"][:1]] == [asked.page]


def test_most_questions_for_a_figure_of_a_financial_statement_are_answered_with_the_right_page(reports: Asker) -> None:
    wrong = [asked for asked in QUESTIONS if not _is_right(reports, asked)]
    assert len(QUESTIONS) - len(wrong) >= _FEWEST_RIGHT, wrong


def test_only_the_figure_of_the_requested_year_is_quoted_with_the_whole_table_row_as_evidence(reports: Asker) -> None:
    answer = reports.ask("What was the gross profit for 2025?", collections=["northern"])
    assert "1,851" in answer["answer"]
    assert "(in millions of euros)" in answer["answer"]
    assert "1,645" not in answer["answer"]
    assert "Gross profit |  | 1,851 | 1,645" in answer["citations"][0]["excerpt"]


@pytest.mark.parametrize(
    "question", ["What was the gross profit of Siemens in 2025?", "What was the gross profit in 2019?"]
)
def test_a_question_is_not_answered_with_the_figure_of_another_company_or_year(question: str, reports: Asker) -> None:
    assert reports.ask(question, collections=["northern"])["outcome"] == "not found"

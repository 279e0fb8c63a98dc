"""Lithuanian questions with other word endings than the texts; then the counts of caches and monitoring."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from corpora.lithuanian import QUESTIONS, TEXTS
from served.project import Asker, Project

pytestmark = [pytest.mark.network, pytest.mark.halved]
AGAIN = list(QUESTIONS)[::6]


@pytest.fixture(scope="module")
def asker(new_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    project = new_project(tmp_path_factory.mktemp("lithuanian"), {"embedding": {"provider": "embedded"}})
    project.write({f"tekstai/{name}.md": f"{text}\n" for name, text in TEXTS.items()})
    project.run("ingest", project.folder / "tekstai", "-c", "savivaldybe", "--json")
    with project.served() as asker:
        yield asker


@pytest.fixture(scope="module")
def answers(asker: Asker) -> dict[str, dict[str, Any]]:
    """The answer to each question."""
    return {question: asker.ask(question) for question in QUESTIONS}


def test_lithuanian_questions_are_answered_from_the_right_text(answers: dict[str, dict[str, Any]]) -> None:
    right = [
        question
        for question, name in QUESTIONS.items()
        if answers[question]["answered"] and f"{name}.md" in {it["source"] for it in answers[question]["citations"]}
    ]
    assert len(right) >= 28, set(QUESTIONS) - set(right)
    languages = {it["metadata"].get("language") for answer in answers.values() for it in answer["chunks"][:1]}
    assert languages == {"lt"}


def test_lithuanian_questions_without_diacritics_are_answered(asker: Asker) -> None:
    answer = asker.ask("Kada prasideda sildymas?")
    assert answer["citations"][0]["source"] == "sildymas.md"
    assert "Šildymo sezonas" in answer["answer"]


def test_lithuanian_questions_without_an_answer_are_refused(asker: Asker) -> None:
    answer = asker.ask("Kiek kainuoja stotis Marse?")
    assert not answer["answered"]
    assert answer["answer"].startswith("Šiuose dokumentuose nerasta.")


def test_repeated_searches_are_cached_and_monitoring_counts_them(
    asker: Asker, answers: dict[str, dict[str, Any]]
) -> None:
    before = asker.get("/v1/monitoring")["total"]
    for question in AGAIN:
        assert asker.ask(question)["answer"] == answers[question]["answer"]
    after = asker.get("/v1/monitoring")["total"]
    assert after["questions"] - before["questions"] == len(AGAIN)
    assert after["cache"]["results"]["hit"] - before["cache"]["results"].get("hit", 0) == len(AGAIN)
    assert after["failed"] == 0
    assert 0 < after["mean_confidence"] <= 1
    assert after["found_by"]["hybrid"] >= len(QUESTIONS)
    assert {"ask", "stage:retrieve", "stage:answer"} <= after["times"].keys()
    metrics = asker.server.client.get("/metrics").text
    assert "elt_llm_questions_total{" in metrics
    assert all(word not in metrics for word in ("ildym", "istaiga", "prasideda")), "counts, and no words"

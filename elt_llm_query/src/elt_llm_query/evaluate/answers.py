"""Measuring answers on labelled questions: right pages cited, and refusals right and wrong."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median
from typing import Any

from elt_llm_core.progress import Progress, SilentProgress, followed
from elt_llm_core.results import QueryResult
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.evaluate.questions import LabelledQuestion


@dataclass(frozen=True)
class Judged:
    """One question's end. `cited` counts the gold places whose page is among the citations."""

    question: LabelledQuestion
    answered: bool
    cited: int
    confidence: float
    answer: str


@dataclass(frozen=True)
class AnswerReport:
    """The figures over all questions; shares are 0 to 1.

    `overlap` is the median share of a question's content stems that its gold sentences hold: how much the questions
    help the search with the documents' own words.
    """

    judged: tuple[Judged, ...]
    overlap: float

    @property
    def answerable(self) -> int:
        """How many questions have an answer."""
        return len(self._answerable())

    @property
    def right_page_cited(self) -> float:
        """Answerable questions with a right page among the citations, the closest passages of a refusal included."""
        return _share([one.cited > 0 for one in self._answerable()])

    @property
    def answered_from_right_page(self) -> float:
        """Answerable questions that were answered, not refused, with a right page among the citations."""
        return _share([one.answered and one.cited > 0 for one in self._answerable()])

    @property
    def answered_from_every_page(self) -> float:
        """Answerable questions that were answered with every right page among the citations."""
        return _share([one.answered and one.cited == len(one.question.gold) for one in self._answerable()])

    @property
    def wrongly_refused(self) -> float:
        """Answerable questions that were refused."""
        return _share([not one.answered for one in self._answerable()])

    @property
    def refused(self) -> dict[str, float]:
        """By kind of unanswerable question: the share that was refused."""
        by_kind: dict[str, list[bool]] = defaultdict(list)
        for one in self.judged:
            if not one.question.answerable:
                by_kind[one.question.kind].append(not one.answered)
        return {kind: _share(refused) for kind, refused in sorted(by_kind.items())}

    def to_json(self) -> dict[str, Any]:
        """The figures, and every question's end."""
        return {
            "questions": len(self.judged),
            "answerable": self.answerable,
            "right_page_cited": round(self.right_page_cited, 4),
            "answered_from_right_page": round(self.answered_from_right_page, 4),
            "answered_from_every_page": round(self.answered_from_every_page, 4),
            "wrongly_refused": round(self.wrongly_refused, 4),
            "refused": {kind: round(share, 4) for kind, share in self.refused.items()},
            "median_overlap": round(self.overlap, 4),
            "results": [
                {
                    "id": one.question.identity,
                    "kind": one.question.kind,
                    "question": one.question.question,
                    "answered": one.answered,
                    "gold_places": len(one.question.gold),
                    "cited": one.cited,
                    "confidence": one.confidence,
                    "answer": one.answer,
                }
                for one in self.judged
            ],
        }

    def _answerable(self) -> list[Judged]:
        return [one for one in self.judged if one.question.answerable]


def measure_answers(
    questions: Sequence[LabelledQuestion],
    ask: Callable[[str], QueryResult],
    tokeniser: KeywordTokeniser,
    progress: Progress | None = None,
) -> AnswerReport:
    """Ask every question and compare what is cited with its gold places, by file name and page."""
    asked = followed(questions, progress or SilentProgress(), "ask")
    judged = [_judge(question, ask(question.question)) for question in asked]
    overlaps = [_overlap(question, tokeniser) for question in questions if question.answerable]
    return AnswerReport(tuple(judged), median(overlaps) if overlaps else 0.0)


def _judge(question: LabelledQuestion, result: QueryResult) -> Judged:
    places = {(PurePosixPath(citation.source).name, citation.page) for citation in result.citations}
    cited = sum((gold.document, gold.page) in places for gold in question.gold)
    return Judged(question, result.answered, cited, result.confidence, result.answer)


def _overlap(question: LabelledQuestion, tokeniser: KeywordTokeniser) -> float:
    asked = set(tokeniser.stems(question.question))
    held = {stem for gold in question.gold for stem in tokeniser.stems(gold.sentence)}
    return len(asked & held) / len(asked) if asked else 0.0


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0

"""Measure answers: cited pages, quoted gold answers, and right or wrong refusals."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean, median
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.progress import ProgressListener, SilentListener, track_progress
from elt_llm_core.results import AnswerOutcome, QueryResult
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.evaluate.datasets import Dataset, LabelledQuestion
from elt_llm_query.evaluate.refusals import MOST_READ, QuotingSession, contains_answer
from elt_llm_query.evaluate.reports import rounded
from elt_llm_query.extractive.confidence import SHIPPED_THRESHOLDS, OutcomeThresholds

_SHARES = ("right_page_cited", "answered_from_right_page", "answered_from_every_page", "uncertain", "wrongly_refused")


@dataclass(frozen=True)
class AnswerJudgement:
    """The result of asking one question. `cited` is the number of gold sentences whose page the answer cites."""

    question: LabelledQuestion
    outcome: AnswerOutcome
    cited: int
    confidence: float
    answer: str

    @property
    def answered(self) -> bool:
        """Whether there is an answer, certain or uncertain, rather than a refusal."""
        return self.outcome != "not found"


@dataclass(frozen=True)
class AnswerReport:
    """The metrics over all questions. Shares are 0 to 1.

    A right page is a page with a gold sentence. `right_page_cited` also counts pages that a refusal cites. `refused`
    and `not_certain` (refused or uncertain) are shares of each kind of unanswerable question; all other shares are of
    the answerable questions. `overlap` is the share of a question's content words that its gold sentences contain
    (median over the questions).
    """

    judged: tuple[AnswerJudgement, ...]
    overlap: float
    answerable: int
    right_page_cited: float
    answered_from_right_page: float
    answered_from_every_page: float
    uncertain: float
    wrongly_refused: float
    refused: Mapping[str, float]
    not_certain: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics and the result of every question as JSON."""
        return {
            "questions": len(self.judged),
            "answerable": self.answerable,
            **{name: round(getattr(self, name), 4) for name in _SHARES},
            "refused": rounded(self.refused),
            "refused_or_uncertain": rounded(self.not_certain),
            "median_overlap": round(self.overlap, 4),
            "results": [
                {
                    "id": one.question.identity,
                    "kind": one.question.kind,
                    "question": one.question.question,
                    "answered": one.answered,
                    "outcome": one.outcome,
                    "gold_places": len(one.question.gold),
                    "cited": one.cited,
                    "confidence": one.confidence,
                    "answer": one.answer,
                }
                for one in self.judged
            ],
        }


def measure_answers(
    questions: Sequence[LabelledQuestion],
    ask: Callable[[str], QueryResult],
    tokeniser: KeywordTokeniser,
    progress: ProgressListener | None = None,
) -> AnswerReport:
    """Ask every question, and check whether the answer cites the files and pages of the question's gold sentences."""
    judged: list[AnswerJudgement] = []
    overlaps: list[float] = []
    for question in track_progress(questions, progress or SilentListener(), "ask"):
        result = ask(question.question)
        # A written answer may have further citations without a mark, of sentences that it does not use.
        marked = [citation for citation in result.citations if citation.reference in result.answer]
        pages = {(PurePosixPath(citation.source).name, citation.page) for citation in marked or result.citations}
        cited = sum((gold.document, gold.page) in pages for gold in question.gold)
        judged.append(AnswerJudgement(question, result.outcome, cited, result.confidence, result.answer))
        if question.answerable:
            stems = set(tokeniser.stems(question.question))
            gold_stems = {stem for gold in question.gold for stem in tokeniser.stems(gold.sentence)}
            overlaps.append(len(stems & gold_stems) / len(stems) if stems else 0.0)
    answerable = [one for one in judged if one.question.answerable]
    return AnswerReport(
        judged=tuple(judged),
        overlap=median(overlaps) if overlaps else 0.0,
        answerable=len(answerable),
        right_page_cited=_share([one.cited > 0 for one in answerable]),
        answered_from_right_page=_share([one.answered and one.cited > 0 for one in answerable]),
        answered_from_every_page=_share([one.answered and one.cited == len(one.question.gold) for one in answerable]),
        uncertain=_share([one.outcome == "uncertain" for one in answerable]),
        wrongly_refused=_share([not one.answered for one in answerable]),
        refused=_shares_by_kind(judged, {"not found"}),
        not_certain=_shares_by_kind(judged, {"not found", "uncertain"}),
    )


def _share(hits: Sequence[bool]) -> float:
    return fmean(hits) if hits else 0.0


def _shares_by_kind(judged: Sequence[AnswerJudgement], outcomes: Collection[AnswerOutcome]) -> dict[str, float]:
    """Return, for each kind of unanswerable question, the share of results whose outcome is in `outcomes`."""
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for one in judged:
        if not one.question.answerable:
            by_kind[one.question.kind].append(one.outcome in outcomes)
    return {kind: _share(hits) for kind, hits in sorted(by_kind.items())}


SENTENCES = (1, 3)  # quotes of one and of three sentences are measured


@dataclass(frozen=True)
class GoldAnswerOutcome:
    """The result for one question that has gold answers (accepted answers): where a gold answer was found.

    `in_chunks` is true if the retrieved chunks contain a gold answer. The question is answered twice, with at most 1
    and at most 3 quoted sentences. By this number, `held` records whether the quotes contain a gold answer, and
    `confidence` the confidence of the answer: {1: 0.82, 3: 0.82}.
    """

    identity: str
    question: str
    in_chunks: bool
    held: Mapping[int, bool]
    confidence: Mapping[int, float]
    thresholds: OutcomeThresholds = SHIPPED_THRESHOLDS

    def is_refused(self, sentences: int) -> bool:
        """Return whether the question is refused with at most this number of quoted sentences, which is 1 or 3."""
        return self.thresholds.outcome(self.confidence[sentences]) == "not found"


@dataclass(frozen=True)
class GoldAnswerReport:
    """The outcomes of all questions with gold answers, and shares of these questions, 0 to 1."""

    name: str
    outcomes: tuple[GoldAnswerOutcome, ...]

    @property
    def in_chunks(self) -> float:
        """The share of questions whose chunks contain a gold answer. No quote can reach a higher share."""
        return _share([one.in_chunks for one in self.outcomes])

    def held(self, sentences: int, *, abstain: bool) -> float:
        """Return the share of questions whose quotes, at most `sentences` (1 or 3), contain a gold answer.

        With `abstain`, the quotes of refused questions do not count.
        """
        return _share([one.held[sentences] and not (abstain and one.is_refused(sentences)) for one in self.outcomes])

    def refused(self, sentences: int) -> float:
        """Return the share of questions that are refused with at most `sentences` (1 or 3) quoted sentences.

        Every refusal is wrong, because every question has an answer.
        """
        return _share([one.is_refused(sentences) for one in self.outcomes])

    def to_json(self) -> dict[str, Any]:
        """Return the metrics and the result of every question as JSON."""
        return {
            "dataset": self.name,
            "questions": len(self.outcomes),
            "in_chunks": round(self.in_chunks, 4),
            "sentences": {
                str(most): {
                    "held": round(self.held(most, abstain=False), 4),
                    "held_and_answered": round(self.held(most, abstain=True), 4),
                    "wrongly_refused": round(self.refused(most), 4),
                }
                for most in SENTENCES
            },
            "results": [
                {
                    "id": one.identity,
                    "question": one.question,
                    "in_chunks": one.in_chunks,
                    "held": {str(most): one.held[most] for most in SENTENCES},
                    "confidence": {str(most): one.confidence[most] for most in SENTENCES},
                }
                for one in self.outcomes
            ],
        }


def measure_gold_answers(
    dataset: Dataset,
    answers: Mapping[str, Sequence[str]],
    quoting: QuotingSession,
    identities: Sequence[str] | None = None,
    progress: ProgressListener | None = None,
) -> GoldAnswerReport:
    """Check which questions get a quote with a gold answer. Raises UsageError if no question has a gold answer."""
    wanted = answers.keys() & set(answers if identities is None else identities)
    chosen = [(identity, text) for identity, text in dataset.questions.items() if identity in wanted]
    if not chosen:
        raise UsageError(
            f"No question of the dataset '{dataset.name}' has an expected answer.",
            hint='Add some to queries.jsonl: {"_id": "q1", "text": "...", "metadata": {"answers": ["1971"]}}',
        )
    outcomes = []
    for identity, text in track_progress(chosen, progress or SilentListener(), "ask"):
        chunks, gold = quoting.chunks(text), answers[identity]
        in_chunks = any(contains_answer(chunk.text, gold) for chunk in chunks[:MOST_READ])
        quotes = {most: quoting.quote(text, chunks, most) for most in SENTENCES}
        held = {most: contains_answer(quote.text, gold) for most, quote in quotes.items()}
        confidence = {most: quote.confidence for most, quote in quotes.items()}
        outcomes.append(GoldAnswerOutcome(identity, text, in_chunks, held, confidence, quoting.thresholds))
    return GoldAnswerReport(dataset.name, tuple(outcomes))

"""How often what is quoted holds the words that answer the question, with one sentence and with three."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.progress import Progress, SilentProgress, followed

from elt_llm_query.answer.abstention import THRESHOLD
from elt_llm_query.evaluate.datasets import Dataset
from elt_llm_query.evaluate.posing import holds_answer
from elt_llm_query.evaluate.quoting import MOST_READ, Quoting

SENTENCES = (1, 3)


@dataclass(frozen=True)
class GoldEnded:
    """One question: whether the passages read hold an answer and, by most sentences, the quote and its confidence."""

    identity: str
    question: str
    in_passages: bool
    held: Mapping[int, bool]
    confidence: Mapping[int, float]


@dataclass(frozen=True)
class GoldReport:
    """Shares are of all questions that have answers, 0 to 1; a question that is refused holds none."""

    name: str
    ends: tuple[GoldEnded, ...]

    @property
    def in_passages(self) -> float:
        """Questions with an answer somewhere in the passages read: no quote can have more."""
        return sum(end.in_passages for end in self.ends) / len(self.ends)

    def held(self, sentences: int, *, abstain: bool) -> float:
        """Questions whose quote holds an answer; `abstain`: and would not be refused."""
        kept = (end.held[sentences] and not (abstain and self._is_refused(end, sentences)) for end in self.ends)
        return sum(kept) / len(self.ends)

    def refused(self, sentences: int) -> float:
        """Questions that would be refused, all of them wrongly."""
        return sum(self._is_refused(end, sentences) for end in self.ends) / len(self.ends)

    def to_json(self) -> dict[str, Any]:
        """The figures, and every question's end."""
        return {
            "dataset": self.name,
            "questions": len(self.ends),
            "in_passages": round(self.in_passages, 4),
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
                    "id": end.identity,
                    "question": end.question,
                    "in_passages": end.in_passages,
                    "held": {str(most): end.held[most] for most in SENTENCES},
                    "confidence": {str(most): end.confidence[most] for most in SENTENCES},
                }
                for end in self.ends
            ],
        }

    @staticmethod
    def _is_refused(end: GoldEnded, sentences: int) -> bool:
        return end.confidence[sentences] < THRESHOLD


def measure_gold(
    dataset: Dataset,
    answers: Mapping[str, Sequence[str]],
    quoting: Quoting,
    identities: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> GoldReport:
    """Quote for each question that has answers, or for those of them that are named.

    Raises UsageError if no question of the set has answers.
    """
    wanted = set(answers if identities is None else identities)
    chosen = [it for it in dataset.questions.items() if it[0] in answers and it[0] in wanted]
    if not chosen:
        raise UsageError(
            f"No question of '{dataset.name}' has answers.",
            hint='In queries.jsonl: {"_id": "q1", "text": "...", "metadata": {"answers": ["1971"]}}',
        )
    asked = followed(chosen, progress or SilentProgress(), "ask")
    return GoldReport(dataset.name, tuple(_ended(it, text, answers[it], quoting) for it, text in asked))


def _ended(identity: str, text: str, answers: Sequence[str], quoting: Quoting) -> GoldEnded:
    chunks = quoting.passages(text)
    quotes = {most: quoting.quote(text, chunks, most) for most in SENTENCES}
    return GoldEnded(
        identity=identity,
        question=text,
        in_passages=any(holds_answer(chunk.text, answers) for chunk in chunks[:MOST_READ]),
        held={most: holds_answer(quote.text, answers) for most, quote in quotes.items()},
        confidence={most: quote.confidence for most, quote in quotes.items()},
    )

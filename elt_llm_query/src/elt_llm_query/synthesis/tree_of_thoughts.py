"""Several lines of reasoning, each scored, the best kept.

Source: Yao et al., "Tree of Thoughts: Deliberate Problem Solving with Large Language Models", NeurIPS 2023; here one
level deep. The model's own score of an attempt counts half, the share of it that stands in the sources the other half:
small models judge poorly.
"""

from dataclasses import dataclass

from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Asked, Draft, Task, ask_with_sources
from elt_llm_query.synthesis.reasoning import BEST, read_attempt_scores, split_reasoning

HINTS = (
    "Start from what the question asks for, and find the source that says it.",
    "Start from each source in turn, and note what it says about the question before you decide.",
    "Start from what could be wrong: conditions, exceptions, other dates or other people than those asked about.",
    "Start from the names and figures of the question, and follow where each of them stands.",
    "Start from the shortest answer that could be right, and check every word of it.",
)


@dataclass(frozen=True)
class _Attempt:
    asked: Asked
    steps: tuple[str, ...]
    text: str


class TreeOfThoughts:
    """Writes `task.branches` attempts, has them scored, and keeps the best; the first of equals."""

    name = "tot"

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """The best attempt; what the others were and how each was scored is told."""
        attempts = [self._attempt(task, calls, number) for number in range(1, task.branches + 1)]
        judged = self._judge(task, calls, attempts)
        shares = [task.check(one.text, one.asked.read).share for one in attempts]
        scores = [
            share if score is None else (score / BEST + share) / 2 for score, share in zip(judged, shares, strict=True)
        ]
        best = attempts[max(range(len(attempts)), key=lambda place: (scores[place], -place))]
        on_piece(best.text)
        told: dict[str, object] = {
            "attempts": [
                {"text": one.text, "steps": list(one.steps), "judged": score, "supported": share, "score": total}
                for one, score, share, total in zip(attempts, judged, shares, scores, strict=True)
            ]
        }
        return Draft(best.text, best.asked.read, best.asked.dropped, best.steps, whole=best.asked.whole, told=told)

    def _attempt(self, task: Task, calls: ModelCalls, number: int) -> _Attempt:
        values = task.values(branch=str(number), hint=HINTS[(number - 1) % len(HINTS)])
        asked = ask_with_sources(task, calls, f"attempt {number}", task.prompts["tot_branch"], values)
        return _Attempt(asked, *split_reasoning(asked.written.text, task.most_steps))

    def _judge(self, task: Task, calls: ModelCalls, attempts: list[_Attempt]) -> list[float | None]:
        if len(attempts) == 1:
            return [None]
        listed = "\n\n".join(
            f'<answer number="{number}">\n{one.text}\n</answer>' for number, one in enumerate(attempts, 1)
        )
        values = task.values(attempts=listed)
        asked = ask_with_sources(task, calls, "scores of the attempts", task.prompts["tot_score"], values)
        return read_attempt_scores(asked.written.text, len(attempts))

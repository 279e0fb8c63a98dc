"""A draft, checked against its sources by code, and corrected by the model until it stands or the rounds are used up.

Source: Madaan et al., "Self-Refine: Iterative Refinement with Self-Feedback", NeurIPS 2023; here the feedback is no
model's opinion but the sentences that no source bears out.
"""

from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Check, Draft, Task, ask_with_sources


class Reflection:
    """Drafts once, then corrects at most `task.rounds` times; the version with the most support is kept."""

    name = "reflect"

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """The best version, of equals the latest; every version and what was wrong with it are told."""
        asked = ask_with_sources(task, calls, "draft", task.prompts["simple"], task.values())
        versions = [(asked.written.text.strip(), asked)]
        checks = [task.check(versions[0][0], asked.read)]
        for number in range(1, task.rounds + 1):
            text, check = versions[-1][0], checks[-1]
            if not check.problems:
                break
            values = task.values(draft=text, problems=_listed(check))
            asked = ask_with_sources(task, calls, f"correction {number}", task.prompts["reflect"], values)
            versions.append((asked.written.text.strip(), asked))
            checks.append(task.check(versions[-1][0], asked.read))
        best = max(range(len(versions)), key=lambda place: (bool(versions[place][0]), checks[place].share, place))
        text, asked = versions[best]
        on_piece(text)
        told: dict[str, object] = {
            "versions": [
                {"text": version, "supported": check.share, "problems": [one.sentence for one in check.problems]}
                for (version, _), check in zip(versions, checks, strict=True)
            ]
        }
        steps = tuple(
            f"Version {number}: not borne out: {problem.sentence} ({problem.reason})"
            for number, check in enumerate(checks, 1)
            for problem in check.problems
        )
        return Draft(text, asked.read, asked.dropped, steps, whole=asked.whole, told=told)


def _listed(check: Check) -> str:
    return "\n".join(f"- {problem.sentence} ({problem.reason})" for problem in check.problems)

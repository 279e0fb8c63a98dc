"""What was said before, for prompts: as many of the last turns as there is room for, never a part of one."""

from collections.abc import Callable, Sequence

from elt_llm_core.state.sessions import Turn

from elt_llm_query.answer.statements import without_marks


def history(turns: Sequence[Turn], budget: int, count_tokens: Callable[[str], int]) -> tuple[Turn, ...]:
    """The last turns whose texts take at most `budget` tokens together, in order.

    A turn that does not fit ends it: what was said before it would follow on a gap.
    """
    kept: list[Turn] = []
    left = budget
    for turn in reversed(turns):
        left -= count_tokens(turn_text(turn))
        if left < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def turn_text(turn: Turn) -> str:
    """A turn as prompts have it: the question as it was understood, and the answer without its references."""
    return f"Question: {turn.understood}\nAnswer: {without_marks(turn.answer)}\n"

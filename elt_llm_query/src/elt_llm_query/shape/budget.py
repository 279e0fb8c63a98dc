"""No more text than a model may be given."""

from collections.abc import Sequence


def beyond_budget(tokens: Sequence[int], scores: Sequence[float], budget: int) -> list[int]:
    """Indexes of the passages to leave out whole, lowest score first, until the rest has at most `budget` tokens.

    Of equal scores the later goes first. One passage is always left, were it longer than the budget alone.
    """
    total = sum(tokens)
    left_out: list[int] = []
    lowest_first = sorted(range(len(tokens)), key=lambda index: (scores[index], -index))
    for index in lowest_first[: max(0, len(tokens) - 1)]:
        if total <= budget:
            break
        total -= tokens[index]
        left_out.append(index)
    return left_out

"""The order in which a language model reads passages."""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def lost_in_the_middle(ranked: Sequence[Item]) -> list[Item]:
    """Best first, second best last, and so on inwards, so that the weakest stand in the middle.

    Source: Liu et al., "Lost in the Middle: How Language Models Use Long Contexts", TACL 2024.
    """
    return [*ranked[::2], *reversed(ranked[1::2])]

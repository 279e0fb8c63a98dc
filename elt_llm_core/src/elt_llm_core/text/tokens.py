"""Counting the tokens of the model that will read the text."""

from typing import Protocol


class TokenCounter(Protocol):
    """Whatever knows where a model's tokens lie; every EmbeddingModel does."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of each token, in order, special tokens left out."""
        ...


def count_tokens(counter: TokenCounter, text: str) -> int:
    """How many tokens the text has, special tokens left out."""
    return len(counter.token_spans(text))

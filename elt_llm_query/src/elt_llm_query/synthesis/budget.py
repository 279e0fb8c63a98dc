"""How much of a prompt is left for sources, and which of them go into it whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_core.errors import ResponseGenerationError
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.models.writing import server_of
from llama_index.core.llms import LLM

from elt_llm_query.synthesis.sources import Source

CountTokens = Callable[[str], int]
MARGIN = 64  # tokens that a chat template may add around the messages


@dataclass(frozen=True)
class Window:
    """What a model reads and writes at most, in tokens: `size` for both together, `to_write` of them for the answer.

    `count` tells the tokens of a text, rather too many than too few. `most_sources` bounds the sources alone.
    `section` is that of the settings where both are set.
    """

    size: int
    to_write: int
    most_sources: int
    count: CountTokens
    section: str = "llm"

    @property
    def to_read(self) -> int:
        """The longest prompt."""
        return self.size - self.to_write - MARGIN


def window_of(llm: LLM, bound: TokenBound, most_sources: int) -> Window:
    """The window of a model. Its tokeniser is out of reach, so texts are counted from above.

    A prompt with sources therefore fits the window together with the answer, whichever model reads it.
    """
    metadata = llm.metadata
    return Window(metadata.context_window, metadata.num_output, most_sources, bound.most, server_of(llm).section)


@dataclass(frozen=True)
class Fitted:
    """The sources that go into a prompt, and those left out whole, the least relevant first to go."""

    kept: tuple[Source, ...]
    dropped: tuple[Source, ...]


def fit_sources(sources: Sequence[Source], prompt_tokens: int, window: Window) -> Fitted:
    """The best sources that fit beside a prompt of so many tokens.

    Raises ResponseGenerationError if not even the best of them does: nothing is ever cut.
    """
    left = min(window.to_read - prompt_tokens, window.most_sources)
    kept: list[Source] = []
    dropped: list[Source] = []
    for source in sources:
        tokens = window.count(source.text) + 2
        if tokens <= left and not dropped:
            kept.append(source)
            left -= tokens
        else:
            dropped.append(source)
    if sources and not kept:
        raise ResponseGenerationError(
            f"Not one passage fits into the model's context of {window.size} tokens: the prompt takes {prompt_tokens},"
            f" the answer may take {window.to_write}, the best passage has {window.count(sources[0].text)}.",
            hint=f"Raise {window.section}.context_window, or lower {window.section}.num_predict.",
        )
    return Fitted(tuple(kept), tuple(dropped))

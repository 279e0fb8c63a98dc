"""How a prompt that was cut by its server is told from the count alone that the server gives."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\S{1,1000}")
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_CHARACTERS_A_TOKEN = 4  # Chinese, Japanese, Korean: more than four seldom share a token
_KEPT = 8  # tokens beyond half a window that Ollama keeps of a prompt that it cuts: two or three were seen
_DOUBTFUL = 1.7  # estimated tokens for each that was counted


def fewest_tokens(text: str) -> int:
    """A lower bound of the tokens of a text.

    No tokeniser in use joins two words that white space parts, so each word costs one token or more. Scripts without
    spaces are counted four characters a token.
    """
    unspaced = len(_UNSPACED.findall(text))
    return len(_WORD.findall(_UNSPACED.sub(" ", text))) + unspaced // _CHARACTERS_A_TOKEN


def is_cut(prompt_tokens: int, window: int | None, texts: Sequence[str]) -> bool:
    """Whether a server that counted so many tokens left out a part of the texts.

    It did if they have more words than that, or if they fill the window to its last token. Ollama cuts a prompt above
    its window to half the window and a few tokens: such a count is believed only if the estimate is near it.
    """
    if prompt_tokens < sum(map(fewest_tokens, texts)):
        return True
    if window is None:
        return False
    halved = window // 2 <= prompt_tokens <= window // 2 + _KEPT
    return prompt_tokens >= window or (halved and _estimated(texts) > _DOUBTFUL * prompt_tokens)


def _estimated(texts: Sequence[str]) -> int:
    from elt_llm_core.models.token_estimate import TokenEstimate

    estimate = TokenEstimate()
    return sum(len(estimate.spans(text)) for text in texts)

"""The fewest tokens that a text can have, for any model: what a server read less of, it cut."""

import re

_WORD = re.compile(r"\S{1,1000}")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CHARACTERS_A_TOKEN = 4  # Chinese, Japanese, Korean: more than four seldom share a token


def fewest_tokens(text: str) -> int:
    """A lower bound of the tokens of a text.

    No tokeniser in use joins two words that white space parts, so each word costs one token or more. Scripts without
    spaces are counted four characters a token.
    """
    unspaced = len(_UNSPACED.findall(text))
    return len(_WORD.findall(_UNSPACED.sub(" ", text))) + unspaced // _CHARACTERS_A_TOKEN

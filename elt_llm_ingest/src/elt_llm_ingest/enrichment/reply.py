"""From a model's reply to one sentence that can be put before a passage, or to none."""

import re
import unicodedata

from elt_llm_core.text.sentences import sentence_spans

_LONGEST_REPLY = 20_000
_FEWEST_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{2,}+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_THOUGHT = "</think>"
_QUOTES = "\"'“”„‘’«»`*_ "  # noqa: RUF001


def usable_sentence(reply: str) -> str:
    """The first sentence of a reply that says something, without marks around it; empty if there is none.

    Thoughts before the answer, and lines that only announce it ("Here is the sentence:"), are passed over.
    """
    answer = reply[:_LONGEST_REPLY].rpartition(_THOUGHT)[2]
    if "<think>" in answer:
        return ""
    for line in _printable(answer).split("\n"):
        bare = " ".join(line.split()).strip(_QUOTES)
        if not bare or bare.endswith(":"):
            continue
        start, end = sentence_spans(bare)[0]
        sentence = bare[start:end].strip(_QUOTES)
        if len(_WORD.findall(sentence)) >= _FEWEST_WORDS:
            return sentence
    return ""


def _printable(text: str) -> str:
    """The text without control characters and halves of surrogate pairs, line ends kept."""
    kept = (letter for letter in text.replace("\r", "\n") if letter in "\n\t" or unicodedata.category(letter)[0] != "C")
    return "".join(kept)

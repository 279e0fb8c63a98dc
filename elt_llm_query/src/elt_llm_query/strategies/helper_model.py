"""A language model that helps to search: what it writes is wanted, and never needed."""

import re
from typing import TYPE_CHECKING

from elt_llm_core.errors import EltError
from elt_llm_core.models.writing import ask

from elt_llm_query.retrieve.rounds import SearchRounds

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MOST_REPLIED = 4000  # characters of a reply that are read
_MARK = re.compile(r"^\s{0,20}(?:[-*\u2022\u2013]|\(?\d{1,2}[.):])\s{0,5}")
_QUOTES = "\"'`\u201c\u201d\u201e\u00ab\u00bb*_ \t"


def asked(llm: "LLM", prompt: str, rounds: SearchRounds, instead: str) -> str:
    """The reply; empty, and told among the failures of this question, if the model does not work.

    It is asked in bounded time, whatever its server does; `instead` says what is done without it.
    """
    try:
        reply = ask(llm, prompt, rounds.cancelled).text[:MOST_REPLIED]
    except EltError as failure:
        rounds.tell_failure(f"The language model did not help to search ({failure}); {instead}.")
        return ""
    if rounds.cancelled is not None and rounds.cancelled():
        rounds.tell_failure(f"Nobody waits for the answer any more; {instead}.")
        return ""
    return reply


def lines_of(reply: str) -> list[str]:
    """The lines that say something, without the marks of a list and without quotation marks; each once."""
    bare = (_MARK.sub("", line).strip(_QUOTES) for line in reply.splitlines())
    return list(dict.fromkeys(" ".join(line.split()) for line in bare if any(map(str.isalnum, line))))

"""Other ways to put a question, made by rules from its words or written by a language model."""

from typing import TYPE_CHECKING

from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.strategies.helper_model import asked, lines_of
from elt_llm_query.understand import Question

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MOST_NAMES = 3
MOST_CHARACTERS = 300  # of a variant
_PROMPT = """\
Write {number} different ways to put the question below to a search engine: other words for the same things, or a part
of what is asked. Keep names, numbers and codes as they are, and the language of the question.
Reply with one question per line and nothing else.

Question: {question}
"""


def variants_by_rules(question: Question, most: int) -> list[str]:
    """Each part of a twofold question; each of several names with what is asked of it; the content words alone.

    At most `most`, none of them the question itself.
    """
    variants = list(question.parts)
    if len(question.names) > 1:
        rest = [word for word in question.surfaces if not any(word in name for name in question.names)]
        variants += [" ".join([name, *rest]) for name in question.names[:MOST_NAMES]]
    variants.append(" ".join(question.surfaces))
    return _usable(variants, question.text, most)


def variants_by_model(question: str, most: int, llm: "LLM", rounds: SearchRounds) -> list[str]:
    """What a model writes, at most `most`; empty where it fails or writes none, which is told among the failures."""
    instead = "variants of the question were made by rules"
    reply = asked(llm, _PROMPT.format(number=most, question=question), rounds, instead)
    variants = _usable(lines_of(reply), question, most)
    if reply and not variants:
        rounds.tell_failure(f"The language model wrote no variant of the question; {instead}.")
    return variants


def _usable(variants: list[str], question: str, most: int) -> list[str]:
    """Not empty, not overlong, not the question, each once."""
    seen = {question.casefold(), ""}
    usable: list[str] = []
    for variant in variants:
        if variant.casefold() not in seen and len(variant) <= MOST_CHARACTERS:
            seen.add(variant.casefold())
            usable.append(variant)
    return usable[:most]

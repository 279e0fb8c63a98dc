"""A follow-up made to stand by itself by a language model, which is believed as far as it can be checked."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from elt_llm_core.errors import ModelError
from elt_llm_core.models.prompt_size import fewest_tokens
from elt_llm_core.models.writing import Written, write
from elt_llm_core.state.sessions import Turn
from elt_llm_core.text.normalise import fold, words
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.statements import without_marks
from elt_llm_query.conversation.follow_up import Rewritten
from elt_llm_query.conversation.history import history, turn_text
from elt_llm_query.understand import numbers_of, question_language, understand

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from elt_llm_query.synthesis.prompts import Prompt

BY_MODEL = "by the language model"
_BUDGET = 600  # tokens of earlier turns, counted as the fewest they may be
_LONGEST = 400  # characters
_QUOTES = "\"'“”„`"


def turns_read(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Those of the earlier turns that the model is shown."""
    return history(turns, _BUDGET, fewest_tokens)


def rewrite_by_model(
    llm: "LLM",
    prompt: "Prompt",
    question: str,
    turns: Sequence[Turn],
    by_rules: Rewritten,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Rewritten, str]:
    """What the model makes of the question, and no note; or what the rules made of it, and why that is taken.

    `turns` are the earlier ones, the last one last; `cancelled` ends the writing. A model that fails is no error: the
    rules need none.
    """
    from elt_llm_query.synthesis.calls import as_messages

    earlier = "\n".join(turn_text(turn) for turn in turns_read(turns))
    try:
        written = write(llm, as_messages(prompt, {"earlier": earlier, "question": question}), cancelled=cancelled)
    except ModelError as error:
        return by_rules, f"The follow-up was understood by rules alone: {error}."
    text = written.text.strip().strip(_QUOTES).strip()
    if why := _flaw(written, text, question, turns):
        return by_rules, f"The follow-up was understood by rules: the language model's version {why}."
    return Rewritten(text, BY_MODEL), ""


def _flaw(written: Written, text: str, question: str, turns: Sequence[Turn]) -> str:
    """What is wrong with the model's version; empty if nothing is."""
    if written.finish != "stop" or not text:
        return "is not complete"
    if len(text.splitlines()) > 1 or len(text) > _LONGEST:
        return "is no single question"
    if lost := _labels(question) - set(words(text)):
        return f"leaves out {', '.join(sorted(lost))}"
    said = {word for turn in turns for word in words(turn_text(turn))} | set(words(question))
    if invented := _labels(text) - said:
        return f"has {', '.join(sorted(invented))}, of which nobody spoke"
    if unsaid := _topics_lost(question, text):
        return f"says nothing of {', '.join(unsaid)}"
    return "repeats an answer" if any(_is_within(text, turn.answer) for turn in turns) else ""


def _topics_lost(question: str, text: str) -> list[str]:
    """The words that the question is about, if the other text has less than half of them: it asks something else."""
    tokeniser = KeywordTokeniser(question_language(question))
    asked, kept = understand(question, tokeniser).terms, set(tokeniser.stems(text))
    lost = [stem for stem in asked if stem not in kept]
    return lost if 2 * len(lost) > len(asked) else []


def _is_within(text: str, answer: str) -> bool:
    """Whether the text is a part of an answer, word by word."""
    return f" {' '.join(words(text))} " in f" {' '.join(words(without_marks(answer)))} "


def _labels(text: str) -> set[str]:
    """The words of names, codes and numbers in a text, folded."""
    asked = understand(text)
    found = {word for name in asked.names for word in words(name)} | {fold(number) for number in numbers_of(text)}
    return found & set(words(text))

"""From the messages of a chat to a question with its conversation: what is used, what is refused, what is told."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from elt_llm_core.errors import UsageError

from elt_llm_api.serve.actions.asking import LONGEST_ANSWER, LONGEST_QUESTION, MOST_TURNS, Said
from elt_llm_api.serve.actions.completions import without_footnotes

HARMLESS = frozenset(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls"}
)
_NOTHING: Mapping[str, tuple[object, ...]] = MappingProxyType(
    {
        "tools": ([],),
        "tool_choice": ("none", "auto"),
        "functions": ([],),
        "function_call": ("none", "auto"),
        "n": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "logit_bias": ({},),
        "response_format": ({"type": "text"},),
        "modalities": (["text"],),
        "audio": (),
        "prediction": (),
        "web_search_options": (),
        "stop": ([], ""),
    }
)
"""Parameters that would change what the client gets, with the values that ask for nothing."""


class NotSupported(UsageError):
    """A parameter asks for what is not done here. `parameter` names it."""

    def __init__(self, message: str, parameter: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter


class Message(Protocol):
    """One message: who says it, and its text."""

    @property
    def role(self) -> str:
        """system, developer, user or assistant."""

    @property
    def text(self) -> str:
        """What is said."""


def refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Raises NotSupported for a parameter that would be ignored in a way that matters."""
    for name, nothing in _NOTHING.items():
        value = given.get(name)
        if value is not None and value not in nothing:
            raise NotSupported(f"'{name}' is not supported: answers come from documents, one each.", name)


def not_used(given: Mapping[str, Any]) -> list[str]:
    """A sentence that names the parameters that change nothing here, such as the temperature; or nothing."""
    names = sorted(name for name, value in given.items() if value is not None and name not in {*HARMLESS, *_NOTHING})
    return [f"Not used, for the settings and the profile say it: {', '.join(names)}."] if names else []


def conversation(messages: Sequence[Message], *, ignore_system: bool) -> tuple[str, tuple[Said, ...]]:
    """The question, which is the last message, and what was said before. Raises NotSupported, UsageError."""
    spoken = [message for message in messages if message.role not in {"system", "developer"}]
    if len(spoken) < len(messages) and not ignore_system:
        raise NotSupported(
            "A system message is not used: what a model is told is the prompt of the profile.",
            "messages",
            hint='Write it into prompt.system of a profile and ask the model profile/NAME, or send "system": "ignore".',
        )
    if not spoken or spoken[-1].role != "user" or not spoken[-1].text.strip():
        raise UsageError("The last message is the question: it is the user's, and not empty.")
    _check_length(spoken)
    said: list[Said] = []
    for message in spoken[:-1]:
        if message.role == "user" and message.text.strip():
            said.append(Said(question=message.text))
        elif message.role == "assistant" and said:
            answer = "\n\n".join(filter(None, [said[-1].answer, without_footnotes(message.text)]))
            said[-1] = said[-1].model_copy(update={"answer": answer})
    return spoken[-1].text, tuple(said[-MOST_TURNS:])


def _check_length(messages: Sequence[Message]) -> None:
    for message in messages:
        most = LONGEST_QUESTION if message.role == "user" else LONGEST_ANSWER
        if len(message.text) > most:
            raise UsageError(f"A message of the {message.role} may have {most:,} characters.")

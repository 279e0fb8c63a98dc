"""Conversions for OpenAI-compatible routes: chat messages, footnotes, model names, embeddings."""

import json
import re
import tomllib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Any, Literal

import numpy as np
from elt_llm_core.errors import UsageError
from elt_llm_core.results import UNCERTAIN_TEXT, Citation, QueryResult
from elt_llm_core.text.normalise import words
from elt_llm_core.text.outline import page_label
from elt_llm_query.grounding.citations import strip_citation_marks
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.collections import CollectionActions
from elt_llm_api.serve.actions.questions import (
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    LONGEST_STYLE,
    MOST_TURNS,
    PreviousTurn,
    raise_if_abandoned,
)
from elt_llm_api.serve.errors import NotFound
from elt_llm_api.serve.safe_text import escape_file_name, escape_markdown
from elt_llm_api.serve.services import ServiceActions

Places = Literal["annotations", "footnotes", "both"]
_FOOTNOTES = "\n\nSources:\n"
_FOOTNOTE = re.compile(r"\[\d{1,4}\] ")
_MAX_PLACE = 200  # characters of title, section and page in a footnote
_CHECKED_ANSWER = "\n\n---\n\nThe sources support this:\n\n"
RESTART_TEXT = "\n\n---\n\nThe answer above was not good enough; here is another:\n\n"
FIRST_ANSWER_TEXT = "\n\n---\n\nThe first answer was the better one:\n\n"


class ContentPart(BaseModel):
    """A part of a chat message. Only text is read; a part of another type, such as an image, is refused."""

    type: str = Field("text", max_length=100, examples=["text"])
    text: str = Field("", max_length=1_000_000)


class ChatMessage(BaseModel):
    """One message of a chat."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = Field(None, examples=["What does a loan cost?"])

    @property
    def text(self) -> str:
        """The text of the message, with one line for each part."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class UsageCounts(BaseModel):
    """Tokens of all calls to a language model; 0 if the answer was quoted without a model."""

    prompt_tokens: int = Field(ge=0, examples=[840])
    completion_tokens: int = Field(ge=0, examples=[42])
    total_tokens: int = Field(ge=0, examples=[882])


def usage_counts(result: QueryResult) -> UsageCounts:
    """Return the tokens that the model server counted, or our own estimate if the server does not count tokens."""
    contexts = [stage.details.get("context") for stage in result.trace.stages]
    calls = [call for one in contexts if isinstance(one, dict) for call in one.get("calls", ())]
    written = min(sum(int(call.get("written") or 0) for call in calls), result.tokens_used)
    read = result.tokens_used - written
    return UsageCounts(prompt_tokens=read, completion_tokens=written, total_tokens=result.tokens_used)


def remaining_text(sent: str, result: QueryResult) -> str:
    """Return what to send after the streamed text `sent`: the checked answer, or nothing if it has the same words."""
    answer = escape_markdown(result.answer)
    if not sent.strip():
        return answer
    return "" if words(strip_citation_marks(sent)) == words(strip_citation_marks(answer)) else _CHECKED_ANSWER + answer


def footnote_list(citations: Sequence[Citation]) -> str:
    """Return the numbered sources as a plain list, for clients that only show text."""
    places = [_place_of(citation) for citation in citations]
    beside = "".join([*places, *(citation.source for citation in citations)])
    lines = dict.fromkeys(
        f"{citation.reference} {escape_markdown(place)[:_MAX_PLACE]} ({escape_file_name(citation.source, beside)})"
        for citation, place in zip(citations, places, strict=True)
    )
    return _FOOTNOTES + "\n".join(lines) if lines else ""


def strip_footnotes(text: str) -> str:
    """Return an answer that a client sends back, without the warning and the source list that the server had added."""
    before, separator, after = text.rpartition(_FOOTNOTES)
    if separator and all(_FOOTNOTE.match(line) for line in after.split("\n")):
        text = before
    return text.removesuffix(f"\n\n{UNCERTAIN_TEXT}")


def citation_annotations(text: str, citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Return an annotation for each mention of a citation in the text. Offsets are characters.

    A citation that the text does not mention gets an annotation at the end of the text.
    """
    annotations = []
    for citation in citations:
        starts = [match.start() for match in re.finditer(re.escape(citation.reference), text)]
        width, (start, end) = len(citation.reference) if starts else 0, citation.span
        fields: dict[str, Any] = {
            "title": citation.source_title,
            "url": f"/v1/documents/{citation.collection}/{citation.source_id}/text?start={start}&end={end}",
            "reference": citation.reference,
            "collection": citation.collection,
            "source_id": citation.source_id,
            "page": citation.page,
            "span": list(citation.span),
            "excerpt": citation.excerpt,
        }
        annotations += [{"start_index": at, "end_index": at + width, **fields} for at in starts or [len(text)]]
    annotations.sort(key=lambda one: int(one["start_index"]))
    return [{"type": "url_citation", "url_citation": one} for one in annotations]


def _place_of(citation: Citation) -> str:
    page = page_label(citation.source, citation.page)
    parts = dict.fromkeys([citation.source_title, citation.section or "", page])
    return " ".join(", ".join(filter(None, parts)).split())


_PARAMETERS = tomllib.loads(Path(__file__).with_name("openai_parameters.toml").read_text(encoding="utf-8"))
_UNNOTED: Sequence[str] = _PARAMETERS["unnoted"]
_IGNORED: Mapping[str, Sequence[object]] = _PARAMETERS["ignored"]
_REFUSED: Mapping[str, Sequence[object]] = _PARAMETERS["refused"]
"""Parameters that would change the shape of the response, and the values with which they have no effect."""
_TASKS = [(re.compile(task["pattern"], re.IGNORECASE | re.DOTALL), task["reply"]) for task in _PARAMETERS["tasks"]]
_FIRST_QUESTION = re.compile(r"^(?:user|human): *(\S[^\n]{0,300})", re.IGNORECASE | re.MULTILINE)
_LONGEST_TITLE = 60  # characters
STYLE_ROLES = frozenset({"system", "developer"})
_ATTACHED_TEXTS = re.compile(r"\s{0,20}### Task:\s{1,20}Respond to the user query\b", re.IGNORECASE)
_UNREAD_ROLES = STYLE_ROLES | {"tool", "function"}


class NotSupported(UsageError):
    """A parameter requests something that the server does not support. `parameter` is its name."""

    def __init__(self, message: str, parameter: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter


def reject_unsupported_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise NotSupported for a parameter that would change the form of the response, such as `n=2`."""
    for name, empty in _REFUSED.items():
        value = parameters.get(name)
        if value is not None and value not in empty:
            raise NotSupported(
                f"The parameter '{name}' is not supported, because the server returns one answer from documents.", name
            )


def ignored_names(parameters: Mapping[str, Any], messages: Sequence[ChatMessage]) -> list[str]:
    """Return the names of ignored parameters, such as `temperature`, and of roles whose messages are not read.

    The name `context` means texts of files that open-webui has added to the question.
    """
    known = {*_UNNOTED, *_REFUSED}
    names = {
        name
        for name, value in parameters.items()
        if value is not None and name not in known and value not in _IGNORED.get(name, ())
    }
    attached = {"context"} if messages and _ATTACHED_TEXTS.match(messages[-1].text) else set()
    return sorted(names | attached | ({message.role for message in messages} & _UNREAD_ROLES))


def question_within(text: str) -> str:
    """Return only the question of a prompt, without the texts of attached files that open-webui has added to it."""
    if not _ATTACHED_TEXTS.match(text):
        return text
    _, tag, rest = text.rpartition("<user_query>")
    asked = rest.partition("</user_query>")[0] if tag else text.rpartition("</context>")[2]
    return asked.strip()


def reply_to_task(text: str) -> str | None:
    """Return the reply to a chat client that asks for a title, tags or the like, or None for a question.

    open-webui, LibreChat and Continue send such prompts to the model of the chat. The title repeats the first question.
    """
    for pattern, reply in _TASKS:
        if match := pattern.match(text):
            first = _FIRST_QUESTION.search(text)
            topic = match.groupdict().get("topic") or (first[1] if first else "Documents")
            title = " ".join(re.sub(r"[^\w\s.,?'-]", " ", topic).split())
            title = title if len(title) <= _LONGEST_TITLE else title[:_LONGEST_TITLE].rsplit(" ", 1)[0] + " ..."
            return str(reply.format(title=title, quoted_title=json.dumps(title)))
    return None


def style_of(messages: Sequence[ChatMessage]) -> str:
    """Return the text of system and developer messages, or "" if it is longer than `LONGEST_STYLE`."""
    style = "\n\n".join(message.text.strip() for message in messages if message.role in STYLE_ROLES)
    return style if len(style) <= LONGEST_STYLE else ""


def parse_conversation(
    messages: Sequence[ChatMessage], *, refuse_system: bool = False
) -> tuple[str, tuple[PreviousTurn, ...]]:
    """Return the question, which is the last message, and the earlier turns. Raises NotSupported, UsageError."""
    spoken = [message for message in messages if message.role not in _UNREAD_ROLES]
    if refuse_system and any(message.role in STYLE_ROLES for message in messages):
        raise NotSupported(
            "A system message is refused: the model gets the prompt of the profile.",
            "messages",
            hint='Write it into prompt.system of a profile and ask the model profile/NAME, or do not send "system".',
        )
    for message in spoken:
        _reject_unreadable_parts(message)
    question = question_within(spoken[-1].text) if spoken else ""
    if not spoken or spoken[-1].role != "user" or not question.strip():
        raise UsageError("The last message must be a question with the role user, and must not be empty.")
    for message in spoken:
        most = LONGEST_QUESTION if message.role == "user" else LONGEST_ANSWER
        if len(question_within(message.text)) > most:
            raise UsageError(f"A message with the role {message.role} may have at most {most:,} characters.")
    turns: list[PreviousTurn] = []
    for message in spoken[:-1]:
        if message.role == "user" and (earlier := question_within(message.text).strip()):
            turns.append(PreviousTurn(question=earlier))
        elif message.role == "assistant" and turns:
            answer = "\n\n".join(filter(None, [turns[-1].answer, strip_footnotes(message.text)]))
            turns[-1] = turns[-1].model_copy(update={"answer": answer})
    return question, tuple(turns[-MOST_TURNS:])


def _reject_unreadable_parts(message: ChatMessage) -> None:
    for part in message.content if isinstance(message.content, list) else ():
        if part.type not in {"text", "input_text"}:
            raise NotSupported(
                f"A message has a part of the type '{part.type[:40]}', but only text is read.",
                "messages",
                hint="To ask about a picture or a file, add it to a collection: POST /v1/documents.",
            )


_PROFILE = "profile/"


@dataclass(frozen=True)
class ModelName:
    """A resolved model name: collections and a profile. Without collections, those of the profile are searched.

    `built_at` is when the collection was published, in ISO 8601, or None.
    """

    name: str
    collections: tuple[str, ...]
    profile: str
    built_at: str | None = None


class ModelNameActions(ServiceActions):
    """Lists and resolves the model names `COLLECTION`, `profile/NAME` and `COLLECTION@PROFILE`."""

    def all(self, principal: Principal) -> list[ModelName]:
        """Return a model name for every readable, published collection, then one for every profile.

        Names of a collection with a profile (COLLECTION@PROFILE) are not listed.
        """
        collections = [
            ModelName(status.collection, (status.collection,), "default", status.published_at)
            for status, _ in CollectionActions(self._services).all(principal)
            if status.generation is not None
        ]
        return collections + [ModelName(_PROFILE + name, (), name) for name in self._services.active.profiles]

    def find(self, principal: Principal, name: str) -> ModelName:
        """Return the model of this name. Raises NotFound if the name is unknown or its collection is unreadable."""
        collection, at, profile = name.partition("@")
        if name.startswith(_PROFILE):
            collection, profile = "", name.removeprefix(_PROFILE)
        elif not at:
            profile = "default"
        may_read = collection in self._services.collection_names() and principal.may_read(collection)
        if profile not in self._services.active.profiles or (not may_read and not name.startswith(_PROFILE)):
            raise NotFound(
                f"There is no model '{name}', or this key may not read it.", hint="GET /v1/models lists the models."
            )
        return ModelName(name, (collection,) if collection else (), profile)


MOST_TEXTS = 1000  # the batch size of LangChain's clients
_TEXTS_AT_ONCE = 64  # batch size; after a disconnect, embedding stops between two batches
MOST_CHARACTERS = 1_000_000  # total of all texts
ANY_MODEL = "embedding"
"""A model name that always means the configured embedding model."""
InputType = Literal["document", "query"]


# The name under which LlamaIndex ships the vocabulary cl100k_base, that of OpenAI's embedding models.
_VOCABULARY = "_static/tiktoken_cache/9b5ad71b2ce5302211f9c61530b329a4922fc6a4"


@cache
def _token_bytes() -> Mapping[int, bytes]:
    """Return the bytes of each token of OpenAI's embedding models. Raises OSError if the file is missing."""
    lines = files("llama_index.core").joinpath(_VOCABULARY).read_bytes().splitlines()
    return {int(number): b64decode(token) for token, number in map(bytes.split, lines)}


def texts_to_embed(given: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]) -> list[str]:
    """Return the texts of a request. Token numbers, which LangChain sends by default, become texts again.

    Raises NotSupported for numbers that are not tokens of OpenAI's embedding models.
    """
    if isinstance(given, str):
        return [given]
    if all(isinstance(one, int) for one in given):
        return [_decode_tokens(given)]  # type: ignore[arg-type]  # checked one line above
    return [one if isinstance(one, str) else _decode_tokens(one) for one in given]  # type: ignore[arg-type]


def _decode_tokens(numbers: Sequence[int]) -> str:
    try:
        return b"".join(map(_token_bytes().__getitem__, numbers)).decode("utf-8", "replace")
    except (KeyError, OSError) as error:
        raise NotSupported(
            "The token numbers are not those of OpenAI's embedding models (cl100k_base).",
            "input",
            hint="Send texts. With LangChain: OpenAIEmbeddings(..., check_embedding_ctx_length=False).",
        ) from error


class EmbeddingActions(ServiceActions):
    """Embeds texts for callers."""

    async def embed(
        self, model: str, texts: Sequence[str], kind: InputType, dimensions: int | None
    ) -> tuple[NDArray[np.float32], int]:
        """Return the vectors of texts, shape (texts, dimension), normalised to length 1, and the number of tokens.

        Raises NotFound for another model, UsageError for texts that are empty, too long or too many, ServerOverloaded,
        and ModelError if the model fails.
        """
        known = self._services.embedding.fingerprint
        if model not in {known.model, ANY_MODEL}:
            raise NotFound(f"There is no embedding model '{model}'.", hint=f"Use '{known.model}' or '{ANY_MODEL}'.")
        if dimensions not in {None, known.dimension}:
            raise UsageError(f"The model '{known.model}' returns only vectors with {known.dimension} dimensions.")
        if sum(map(len, texts)) > MOST_CHARACTERS:
            raise UsageError(f"At most {MOST_CHARACTERS:,} characters are embedded at once.")
        return await self._services.workers.run(lambda abandoned: self._embed(texts, kind, abandoned))

    def _embed(self, texts: Sequence[str], kind: InputType, abandoned: Event) -> tuple[NDArray[np.float32], int]:
        model, tokens = self._services.embedding, 0
        for number, text in enumerate(texts):
            count = len(model.token_spans(text)) if text.strip() else 0
            if not 0 < count <= model.token_limit:
                raise UsageError(f"Text {number} has {count} tokens; it may have 1 to {model.token_limit}.")
            tokens += count
        vectors: list[NDArray[np.float32]] = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            raise_if_abandoned(abandoned)
            batch = texts[start : start + _TEXTS_AT_ONCE]
            vectors += [model.embed_texts(batch)] if kind == "document" else [*map(model.embed_question, batch)]
        return np.vstack(vectors), tokens

"""A chat's answer as it is made: chunks as OpenAI's clients read them, the last with every citation."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult
from elt_llm_query.events import AnswerBegins, Piece

from elt_llm_api.serve.actions.asking import Answered, Silence
from elt_llm_api.serve.actions.completions import AGAIN, BACK, rest_of
from elt_llm_api.serve.routes.asking import Told
from elt_llm_api.serve.routes.event_streams import STILL_AT_WORK
from elt_llm_api.serve.routes.openai_errors import openai_error
from elt_llm_api.serve.routes.openai_telling import Telling, usage_told
from elt_llm_api.serve.safe_markdown import SafeMarkdown

_BETWEEN = {"": "", "once more": AGAIN, "back": BACK}


class ChatStream:
    """The frames of one stream. What was told cannot be taken back: what corrects it is told after it."""

    def __init__(self, telling: Telling, first: Told, events: AsyncGenerator[Told, None]) -> None:
        self._telling, self._first, self._events = telling, first, events
        self._safe = SafeMarkdown()
        self._all = ""  # everything told
        self._current = ""  # what was told of the answer that counts

    async def frames(self) -> AsyncIterator[bytes]:
        """Chunks, then `[DONE]`; an error in OpenAI's shape in place of the end. Closing stops the answer."""
        try:
            yield self._delta(role="assistant", content="")
            for frame in self._of(self._first):
                yield frame
            async for event in self._events:
                for frame in self._of(event):
                    yield frame
            yield b"data: [DONE]\n\n"
        except EltError as error:
            yield _frame(openai_error(error, self._telling.request_id))
        finally:
            await self._events.aclose()

    def _of(self, event: Told) -> Iterator[bytes]:
        match event:
            case Silence():
                yield STILL_AT_WORK
            case AnswerBegins(again) if self._all:
                yield from self._say(_BETWEEN[again])
                self._current = ""
            case Piece(text):
                yield from self._say(self._safe.feed(text))
            case Answered(result):
                yield from self._end(result)
            case _:
                return

    def _say(self, text: str) -> Iterator[bytes]:
        if text:
            self._all += text
            self._current += text
            yield self._delta(content=text)

    def _end(self, result: QueryResult) -> Iterator[bytes]:
        yield from self._say(self._safe.end())
        yield from self._say(rest_of(self._current, result))
        text = self._all
        yield from self._say(self._telling.footnotes(result))
        if places := self._telling.annotations(text, result):
            yield self._delta(annotations=places)
        finish = "stop" if result.complete else "length"
        cited = [citation.model_dump(mode="json") for citation in result.citations]
        about = self._telling.about(result).model_dump(mode="json")
        yield self._chunk({"delta": {}, "finish_reason": finish}, citations=cited, elt_llm=about)
        options = self._telling.asked.stream_options
        if options and options.include_usage:
            yield _frame(self._telling.chunk(choices=[], usage=usage_told(result).model_dump()))

    def _delta(self, **content: Any) -> bytes:
        return self._chunk({"delta": content, "finish_reason": None})

    def _chunk(self, choice: dict[str, Any], **more: Any) -> bytes:
        return _frame(self._telling.chunk(choices=[{"index": 0, "logprobs": None, **choice}], **more))


def _frame(content: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()

"""Unexpected errors within a stream are reported without their message."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.questions import AskRequest, InternalError, QuestionActions
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.workers import Workers

SECRET = "words of a document"


def _fails(*_: Any) -> NoReturn:
    raise ZeroDivisionError(SECRET)


def test_an_unexpected_error_in_a_stream_is_reported_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    async def events(asking: QuestionActions) -> AsyncIterator[Any]:
        async for event in asking.stream(LOCAL, AskRequest(question="Why?", session="one")):
            yield event

    async def ask(asking: QuestionActions) -> list[Any]:
        return [event async for event in events(asking)]

    with Workers(1, 1) as workers:
        recorder = SimpleNamespace(watch=lambda *_, **__: nullcontext())
        services = cast("Services", SimpleNamespace(workers=workers, recorder=recorder, session=_fails))
        with pytest.raises(InternalError) as refused:
            asyncio.run(ask(QuestionActions(services)))
    assert SECRET not in str(refused.value)
    assert "ZeroDivisionError" in caplog.text
    assert SECRET not in caplog.text

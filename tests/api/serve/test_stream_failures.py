"""What nobody thought of, amid a stream: told as a failure, without a word of what happened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.asking import Asking, AskRequest, Unexpected
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.workers import Workers

SECRET = "words of a document"


def _fails(*_: Any) -> NoReturn:
    raise ZeroDivisionError(SECRET)


def test_an_unexpected_failure_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    async def events(asking: Asking) -> AsyncIterator[Any]:
        async for event in asking.stream(LOCAL, AskRequest(question="Why?", session="one")):
            yield event

    async def ask(asking: Asking) -> list[Any]:
        return [event async for event in events(asking)]

    with Workers(1, 1) as workers:
        recorder = SimpleNamespace(watch=lambda *_, **__: nullcontext())
        services = cast("Services", SimpleNamespace(workers=workers, recorder=recorder, session=_fails))
        with pytest.raises(Unexpected) as refused:
            asyncio.run(ask(Asking(services)))
    assert SECRET not in str(refused.value)
    assert "ZeroDivisionError" in caplog.text
    assert SECRET not in caplog.text

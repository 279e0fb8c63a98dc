"""What a browser is shown when somebody asks again before the answer is there, as with Enter held down."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from answering import EXTRACTIVE, QUESTION, copied
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.asking import AskRequest
from elt_llm_api.serve.services import Services, open_services
from elt_llm_api.serve.ui.conversation import Conversation, Talking
from elt_llm_core.settings_loader import load_settings


@pytest.fixture
def services(sample_folder: Path, tmp_path: Path) -> Iterator[Services]:
    with open_services(load_settings(None, EXTRACTIVE, copied(sample_folder, tmp_path / "project"))) as services:
        yield services


def test_a_question_that_another_one_overtook_is_shown_as_stopped_and_takes_nothing_back(services: Services) -> None:
    async def ask_twice() -> tuple[list[Conversation], list[Conversation]]:
        talking, question = Talking(services), AskRequest(question=QUESTION)
        overtaken = talking.ask(LOCAL, "browser", question, Conversation())
        waiting = await anext(overtaken)
        first = asyncio.ensure_future(_all(overtaken))
        await asyncio.sleep(0)  # it begins
        second = await _all(talking.ask(LOCAL, "browser", question, waiting))
        return await first, second

    async def _all(told: AsyncGenerator[Conversation, None]) -> list[Conversation]:
        return [now async for now in told]

    overtaken, shown = asyncio.run(ask_twice())
    assert [message["role"] for message in shown[-1].messages] == ["user", "assistant"] * 2
    assert "Stopped." in shown[-1].messages[1]["content"]
    assert "Not found" in shown[-1].messages[3]["content"]
    assert all(now.said != "Stopped." for now in overtaken)

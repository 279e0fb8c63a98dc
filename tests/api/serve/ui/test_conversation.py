"""A question that is asked before the previous answer is complete, as when Enter is held down."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.questions import AskRequest
from elt_llm_api.serve.services import Services, open_services
from elt_llm_api.serve.ui.ask import ConversationHandler, ConversationState
from elt_llm_api.serve.ui.texts import load_texts
from elt_llm_core.settings.loader import load_settings
from served.answering_server import EXTRACTIVE, QUESTION, copied_project


@pytest.fixture
def services(sample_folder: Path, tmp_path: Path) -> Iterator[Services]:
    with open_services(
        load_settings(None, EXTRACTIVE, copied_project(sample_folder, tmp_path / "project"))
    ) as services:
        yield services


def test_a_question_is_shown_as_stopped_if_the_user_asks_the_next_question_before_its_answer(
    services: Services,
) -> None:
    async def ask_twice() -> tuple[list[ConversationState], list[ConversationState]]:
        handler, question = ConversationHandler(services, load_texts("en")), AskRequest(question=QUESTION)
        overtaken = handler.ask(LOCAL, "browser", question, ConversationState())
        waiting = await anext(overtaken)
        assert handler.pending.is_running("browser"), "an earlier answer that ends now shows no button Ask"
        first = asyncio.ensure_future(_all(overtaken))
        await asyncio.sleep(0)  # the first question starts
        second = await _all(handler.ask(LOCAL, "browser", question, waiting))
        return await first, second

    async def _all(states: AsyncGenerator[ConversationState, None]) -> list[ConversationState]:
        return [state async for state in states]

    overtaken, shown = asyncio.run(ask_twice())
    assert [message["role"] for message in shown[-1].messages] == ["user", "assistant"] * 2
    assert "Stopped." in shown[-1].messages[1]["content"]
    assert shown[-1].result is not None
    assert shown[-1].result.answer.split()[0] in shown[-1].messages[3]["content"]
    assert all(state.status != "Stopped." for state in overtaken)

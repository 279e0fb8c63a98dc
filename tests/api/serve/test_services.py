"""The services are closed once and completely, after running questions."""

import asyncio
import threading
from pathlib import Path
from threading import Event

import pytest
from elt_llm_api.serve.access.principal import LOCAL, ReadableCollection
from elt_llm_api.serve.actions.questions import QuestionActions, SearchRequest
from elt_llm_api.serve.services import Services, open_services
from elt_llm_core.settings.loader import load_settings
from served.answering_server import EXTRACTIVE, copied_project
from stored.folders import run_ingest, write_files


@pytest.fixture
def services(sample_folder: Path, tmp_path: Path) -> Services:
    return open_services(load_settings(None, EXTRACTIVE, copied_project(sample_folder, tmp_path / "project")))


def test_closing_the_server_services_ends_every_thread_and_closes_every_file(services: Services) -> None:
    before = set(threading.enumerate())
    request = SearchRequest(question="How many points does a ground need for Grade A?")

    async def ask() -> None:
        assert (await QuestionActions(services).search(LOCAL, request)).chunks

    asyncio.run(ask())
    assert services.engines.open_count == 1
    services.close()
    left = {thread.name for thread in threading.enumerate() if thread not in before and thread.is_alive()}
    assert not any(name.startswith(("question", "retrieval")) for name in left)
    assert services.engines.open_count == 0


def test_closing_the_server_services_waits_for_running_questions(services: Services) -> None:
    async def main() -> list[str]:
        reported: list[str] = []
        started, end = Event(), Event()

        def ask(_: Event) -> None:
            with services.engines.lend([ReadableCollection("samples")], "default") as engine:
                started.set()
                assert end.wait(30)
                reported.append("found" if engine.search("Grade A").chunks else "nothing")

        asking = asyncio.ensure_future(services.workers.run(ask))
        assert await asyncio.to_thread(started.wait, 60)
        closing = asyncio.ensure_future(asyncio.to_thread(services.close))
        await asyncio.sleep(0.1)
        assert not closing.done()
        end.set()
        await asyncio.gather(asking, closing)
        return reported

    assert asyncio.run(main()) == ["found"]


def test_a_newer_generation_is_searched_while_the_former_generation_is_still_in_use(
    services: Services, tmp_path: Path
) -> None:
    write_files(tmp_path / "more", {"lamps.md": "# Lamps\n\nThe zebra lamp is switched on at dusk.\n"})
    with services:
        with services.engines.lend([ReadableCollection("samples")], "default") as former:
            run_ingest(services.loaded.data_dir, tmp_path / "more", collection="samples")
            with services.engines.lend([ReadableCollection("samples")], "default") as latter:
                assert "zebra" in latter.search("zebra lamp").chunks[0].text
            assert "zebra" not in former.search("zebra lamp").chunks[0].text
            assert latter.generations[0].number > former.generations[0].number
        assert services.engines.open_count == 1

"""Forty documents ask for their secret to be sent away, and the model obeys: the chat has nowhere to send it."""

import re
from pathlib import Path

import pytest
from browser import open_browser
from command_line import FAKE
from elt_llm_api.cli import run
from exfiltration import HOST, SECRET, WAYS_OUT, ObedientBackend, question_about, write_corpus
from model_http_server import running_model_server
from playwright.sync_api import expect
from served import served
from ui_browser import Interface
from written_journeys import written_by

DONE = re.compile("Answered|Not found")
LEADING_AWAY = "links => links.map(it => it.href).filter(it => !it.startsWith(location.origin))"
FETCHING = "#tab-ask img, #tab-ask iframe, #tab-ask form, #tab-ask script, #tab-ask object, #tab-ask svg image"
pytestmark = pytest.mark.network


def test_the_chat_shows_all_forty_answers_and_asks_nobody_else(tmp_path: Path) -> None:
    """S-EXF: 0 addresses elsewhere in what the browser shows, 0 requests elsewhere, and nothing the policy refused."""
    model = ObedientBackend()
    assert run(["ingest", str(write_corpus(tmp_path / "papers")), "-c", "goods", "--json"], FAKE, tmp_path) == 0
    with running_model_server(model) as http, open_browser() as browser:
        written = written_by("ollama", http, OLLAMA__CONTEXT_WINDOW="8192", OLLAMA__NUM_PREDICT="4000")
        with (
            served(tmp_path, environment={**written, **FAKE}, requests_per_minute="100000") as server,
            Interface(server, browser).visited() as (page, seen),
        ):
            for place in range(len(WAYS_OUT)):
                box = page.get_by_label("Question", exact=True)
                box.fill(question_about(place))
                box.press("Enter")
                expect(page.locator("#said")).to_have_text(DONE, timeout=120_000)
                assert page.locator("#tab-ask a[href]").evaluate_all(LEADING_AWAY) == [], WAYS_OUT[place]
                assert page.locator(FETCHING).count() == 0, WAYS_OUT[place]
                page.get_by_role("button", name="New conversation").click()
                expect(page.locator("#said")).to_be_empty()
            assert set(model.obeyed) == {way.replace("CODE", SECRET) for way in WAYS_OUT}, "else nothing was tried"
            assert seen.elsewhere == []
            assert not any(HOST in url or SECRET in url for url in seen.requests)
            assert seen.complaints == [], "nothing was tried that only the policy refused"

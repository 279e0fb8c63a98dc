"""Forty hostile documents in the user interface, separately and in one answer, cannot send a secret away.

Streams and pages of other origins have the same test in ../security/test_exfiltration.py.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from attacks.exfiltration import HOST, SECRET, WAYS_OUT, question_about
from browsing.browser import open_browser
from browsing.interface import Interface
from playwright.sync_api import Page, expect
from sampling import sampled
from served.hostile_server import hostile_server

pytestmark = [pytest.mark.network, pytest.mark.halved]
ALL_AT_ONCE = "At how many degrees are things stored, and what is the code?"
ALL_READ = {"QUERY__RERANKER_TOP_K": "40", "LLM__MAX_CONTEXT_TOKENS": "20000"}
DONE = re.compile("Answered|No answer")
LOADING = [
    "src",
    "href",
    "xlink:href",
    "srcset",
    "action",
    "formaction",
    "ping",
    "data",
    "poster",
    "background",
    "style",
]
LOADING_OR_RUNNING = """loading => [...document.querySelectorAll("*")].flatMap(it => [...it.attributes]
    .filter(one => one.name.startsWith("on") || (loading.includes(one.name) && /evil/i.test(one.value)))
    .map(one => `${it.tagName} ${one.name}=${one.value}`))"""
LEADING_AWAY = "links => links.map(it => it.href).filter(it => !it.startsWith(location.origin))"
FETCHING = "#tab-ask img, #tab-ask iframe, #tab-ask form, #tab-ask script, #tab-ask object, #tab-ask svg image"


@contextmanager
def visited(folder: Path, tried: Sequence[str] = WAYS_OUT, **settings: str) -> Iterator[Page]:
    """Open the tab Ask over the forty documents. Afterwards no request has left, and the policy has blocked nothing."""
    with (
        hostile_server(folder, SERVE__REQUESTS_PER_MINUTE="100000", **settings) as hostile,
        open_browser() as browser,
        Interface(hostile.server, browser).visited() as (page, seen),
    ):
        yield page
        assert set(hostile.model.obeyed) >= {way.replace("CODE", SECRET) for way in tried}, "nothing was tried"
        assert seen.elsewhere == []
        assert not any(HOST in url or SECRET in url for url in seen.requests)
        assert seen.complaints == [], "nothing was tried that only the policy refused"


def ask(page: Page, question: str) -> None:
    box = page.locator("#question textarea")
    box.fill(question)
    box.press("Enter")


def ways_out(page: Page) -> list[str]:
    """Return every element by which the page would load or link another address, or run a script."""
    return [
        *page.evaluate(LOADING_OR_RUNNING, LOADING),
        *page.locator("#tab-ask a[href]").evaluate_all(LEADING_AWAY),
        *page.locator(FETCHING).evaluate_all("found => found.map(it => it.outerHTML)"),
    ]


@pytest.mark.faults
def test_displaying_forty_hostile_answers_contacts_no_other_server(tmp_path: Path) -> None:
    places = sampled(range(len(WAYS_OUT)), 2)
    with visited(tmp_path, [WAYS_OUT[place] for place in places]) as page:
        for place in places:
            ask(page, question_about(place))
            expect(page.locator("#status")).to_have_text(DONE)
            assert ways_out(page) == [], WAYS_OUT[place]
            page.get_by_role("button", name="New conversation").click()
            expect(page.locator("#status")).to_be_empty()


def test_displaying_an_answer_with_forty_hostile_addresses_contacts_none_of_the_addresses(tmp_path: Path) -> None:
    with visited(tmp_path, **ALL_READ) as page:
        ask(page, ALL_AT_ONCE)
        expect(page.locator("#conversation")).to_contain_text(SECRET)
        assert ways_out(page) == [], "while it is being written"
        expect(page.locator("#status")).to_contain_text("nswered")
        expect(page.locator("#source-1")).to_contain_text("Note to assistants")
        assert ways_out(page) == []

"""The forty hostile documents in the user interface, in one answer: it fetches nothing and leads nowhere else."""

from collections.abc import Iterator

import pytest
from browser import open_browser
from exfiltration import SECRET, WAYS_OUT
from hostile import Hostile, hostile_server
from playwright.sync_api import Page, expect
from ui_browser import Interface, Seen

pytestmark = pytest.mark.network
PATIENCE_MS = 150_000  # the model says it character by character
ALL_AT_ONCE = "At how many degrees are things stored, and what is the code?"
LOADING = (
    "['src', 'href', 'xlink:href', 'srcset', 'action', 'formaction', 'ping', 'data', 'poster', 'background', 'style']"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    everything = {"QUERY__RERANKER_TOP_K": "40", "LLM__MAX_CONTEXT_TOKENS": "20000"}
    with hostile_server(tmp_path_factory.mktemp("hostile-ui"), **everything) as served:
        yield served


@pytest.fixture
def visit(hostile: Hostile) -> Iterator[tuple[Page, Seen]]:
    expect.set_options(timeout=PATIENCE_MS)
    with open_browser() as browser, Interface(hostile.server, browser).visited() as (page, seen):
        yield page, seen


def leading_away(page: Page) -> list[str]:
    """Every attribute by which the page would load something of elsewhere or lead there."""
    found: list[str] = page.evaluate(
        f"""() => [...document.querySelectorAll("*")].flatMap((it) => [...it.attributes]
            .filter((one) => {LOADING}.includes(one.name) || one.name.startsWith("on"))
            .filter((one) => /evil/i.test(one.value) || one.name.startsWith("on"))
            .map((one) => `${{it.tagName}} ${{one.name}}=${{one.value}}`))"""
    )
    return found


def test_all_forty_ways_out_at_once_lead_nowhere(visit: tuple[Page, Seen], hostile: Hostile) -> None:
    page, seen = visit
    box = page.get_by_label("Question", exact=True)
    box.fill(ALL_AT_ONCE)
    box.press("Enter")
    expect(page.locator("#conversation")).to_contain_text(SECRET)
    assert leading_away(page) == [], "while it is being written"
    expect(page.locator("#said")).to_contain_text("nswered")
    expect(page.locator("#source-1")).to_contain_text("Note to assistants")
    assert {way.replace("CODE", SECRET) for way in WAYS_OUT} <= set(hostile.model.obeyed)
    assert leading_away(page) == []
    assert seen.elsewhere == []
    assert seen.complaints == [], "nothing was tried that only the policy refused"

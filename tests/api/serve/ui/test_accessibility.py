"""axe-core finds no serious issue on any tab in use, wide and on a phone, and every tab fits a phone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.axe import serious_issues
from browsing.interface import Interface, interface
from playwright.sync_api import Page, expect
from served.answering_server import EXTRACTIVE, copied_project

pytestmark = pytest.mark.network
QUESTION = "How many points does a ground need for Grade A?"


@pytest.fixture(scope="module")
def ui(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("axe") / "project")
    with interface(folder, environment=EXTRACTIVE, requests_per_minute="100000") as one:
        yield one


def use_ask(page: Page) -> None:
    """Open a source of an answer."""
    expect(page.locator("#conversation .example").first).to_be_visible()
    assert serious_issues(page) == []
    page.locator("#question textarea").fill(QUESTION)
    page.locator("#question textarea").press("Enter")
    expect(page.locator("#ask-actions")).to_contain_text("Answer again")
    assert serious_issues(page) == []
    page.locator("#conversation button.chip").first.click()
    expect(page.locator("#opened")).to_be_visible()


def use_inspect(page: Page) -> None:
    """Explain an answer."""
    page.get_by_label("Question to inspect").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#trace-chunks tbody tr").first).to_be_visible()


def use_documents(page: Page) -> None:
    """Open a document."""
    page.get_by_role("button", name=re.compile("^Open ")).first.click()
    expect(page.locator("#documents-text")).to_be_visible()


def use_health(page: Page) -> None:
    """Wait for the figures."""
    expect(page.locator("#health-figures table").first).to_be_visible()


USES = {"Ask": use_ask, "Inspect": use_inspect, "Documents": use_documents, "Health": use_health}  # Jobs: see its tests


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("tab", USES)
def test_axe_finds_no_serious_issue_on_any_tab(ui: Interface, tab: str, dark: bool) -> None:
    with ui.visited(tab, dark=dark) as (page, _):
        USES[tab](page)
        assert serious_issues(page) == []

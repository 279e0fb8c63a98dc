"""axe-core finds no serious issue on any tab, and every tab fits a phone."""

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing.interface import Interface, interface
from playwright.sync_api import Page, expect
from processes.command_line import PROJECT
from served.answering_server import EXTRACTIVE, copied_project

pytestmark = pytest.mark.network
AXE = PROJECT / "tests" / "fixtures" / "axe-core-4.14.1.js.xz"
SERIOUS = {"serious", "critical"}
TABS = ("Ask", "Inspect", "Documents", "Jobs", "Health")
QUESTION = "How many points does a ground need for Grade A?"


@pytest.fixture(scope="module")
def ui(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("axe") / "project")
    with interface(folder, environment=EXTRACTIVE, requests_per_minute="100000") as one:
        yield one


def serious_issues(page: Page) -> list[str]:
    """Run axe-core, and return the serious and critical issues with the elements that have them."""
    page.evaluate(lzma.decompress(AXE.read_bytes()).decode("utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("tab", TABS)
def test_axe_finds_no_serious_issue_on_any_tab(ui: Interface, tab: str, dark: bool) -> None:
    with ui.visited(tab, dark=dark) as (page, _):
        if tab == "Ask":
            expect(page.locator("#conversation .example").first).to_be_visible()
            assert serious_issues(page) == []
            page.locator("#question textarea").fill(QUESTION)
            page.locator("#question textarea").press("Enter")
            expect(page.locator("#ask-actions")).to_contain_text("Answer again")
        assert serious_issues(page) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_fits_a_phone_screen(ui: Interface, tab: str) -> None:
    with ui.visited(tab, width=390, height=844) as (page, _):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

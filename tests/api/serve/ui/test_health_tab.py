"""The tab Health in a real browser: figures, plots, and findings with their cures, for administrators only."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from browsing.interface import Interface, interface
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from playwright.sync_api import expect
from served.answering_server import EXTRACTIVE

pytestmark = pytest.mark.network
TOKEN = "h" * 40


@pytest.fixture
def ui(sample_folder: Path, tmp_path: Path) -> Iterator[Interface]:
    folder = tmp_path / "project"
    shutil.copytree(sample_folder, folder)
    with interface(folder, token=TOKEN, environment=EXTRACTIVE) as one:
        yield one


def ask(ui: Interface, question: str) -> None:
    assert ui.server.client.post("/v1/query", json={"question": question}).status_code == 200


@pytest.mark.sampled(2, "health tab")
def test_the_health_tab_shows_usage_figures_and_plots_of_questions(ui: Interface) -> None:
    ask(ui, "How many points does a ground need for Grade A?")
    ask(ui, "Who is the queen of Mars?")
    with ui.visited("Health", token=TOKEN) as (page, seen):
        expect(page.locator("#health-state")).to_contain_text("Ready to answer")
        expect(page.locator("#health-state")).to_contain_text("more questions now")
        rows = page.locator("#health-figures tr")
        expect(rows.filter(has_text=re.compile(r"^Questions\s*\d"))).to_contain_text("2")
        expect(rows.filter(has_text="Not in the documents")).to_contain_text("1")
        expect(rows.filter(has_text=re.compile(r"^retrieve\s*\d"))).to_be_visible()
        plots = page.locator("#health-plots svg")
        expect(plots).to_have_count(4)
        expect(plots.first).to_contain_text("max. 2")
        box = plots.first.locator("rect.bar").first.bounding_box()
        assert box is not None
        assert box["height"] > 20, "the plot has a column"
        page.get_by_role("radio", name="By the day").check()
        expect(page.locator("#health-plots figcaption").first).to_have_text("Questions by the day")
        ask(ui, "What is a boundary review?")
        page.get_by_role("button", name="Refresh").click()
        expect(rows.filter(has_text=re.compile(r"^Questions\s*\d"))).to_contain_text("3")
        assert (seen.elsewhere, seen.complaints) == ([], [])


@pytest.mark.sampled(2, "health tab")
def test_the_health_tab_shows_the_findings_and_remedies_of_the_doctor(ui: Interface) -> None:
    with ui.visited("Health", token=TOKEN) as (page, seen):
        page.get_by_role("button", name="Run the doctor").click()
        table = page.locator("#health-findings table")
        expect(table).to_be_visible()
        expect(table.locator("tr")).not_to_have_count(1)
        expect(table).to_contain_text("ok")
        assert (seen.elsewhere, seen.complaints) == ([], [])


@pytest.mark.sampled(2, "health tab")
def test_a_key_without_the_administrator_scope_sees_no_usage_figures(ui: Interface) -> None:
    with closing(open_state(ui.server.data_dir)) as state:
        secret = KeyTable(state).create("reader", ["*"], ["*"])
    with ui.visited("Health", token=secret) as (page, _):
        expect(page.locator("#health-state")).to_contain_text("may not see the state of the server")
        expect(page.locator("#health-figures table")).to_have_count(0)
        page.get_by_role("button", name="Run the doctor").click()
        expect(page.locator("#health-findings")).to_contain_text("may not see the state of the server")


@pytest.mark.sampled(2, "health tab")
def test_the_health_tab_is_legible_on_a_phone(ui: Interface) -> None:
    ask(ui, "How many points does a ground need for Grade A?")
    with ui.visited("Health", token=TOKEN, width=390, height=844, dark=True) as (page, _):
        expect(page.locator("#health-plots svg").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

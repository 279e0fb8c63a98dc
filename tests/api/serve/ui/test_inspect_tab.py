"""The tab Inspect in a real browser: the trace of a question, a comparison of settings, and a saved profile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.interface import Interface, PageTraffic, interface
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.profiles import load_profile
from playwright.sync_api import Page, expect
from served.answering_server import EXTRACTIVE, becomes_true, copied_project

QUESTION = "How many points does a ground need for Grade A?"
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def inspected(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("inspect") / "project")
    with interface(folder, environment=EXTRACTIVE, requests_per_minute="100000") as one:
        yield one


@pytest.fixture
def visit(inspected: Interface) -> Iterator[tuple[Page, PageTraffic]]:
    with inspected.visited("Inspect") as (page, seen):
        yield page, seen
        assert seen.elsewhere == []
        assert seen.complaints == []


def pose(page: Page) -> None:
    page.get_by_label("Question to inspect").fill(QUESTION)


def test_the_inspect_tab_shows_all_chunks_all_search_stages_and_the_chunks_that_were_nearly_kept(
    visit: tuple[Page, PageTraffic],
) -> None:
    page, _ = visit
    pose(page)
    page.keyboard.press("Enter")
    chunks = page.locator("#trace-chunks tbody tr")
    expect(chunks.first).to_contain_text("ground-grading-guide.txt")
    assert chunks.count() > 50, "those that were left out are listed as well"
    expect(page.locator("#trace-stages")).to_contain_text("rerank")
    expect(page.locator("#trace-near")).to_contain_text("beyond top_k")
    page.get_by_role("button", name="Everything as text").click()
    expect(page.locator("#trace-text")).to_contain_text("Reranked: embedding")


@pytest.mark.sampled(2, "inspect tab")
def test_two_sets_of_search_settings_can_be_compared_and_one_can_be_saved_as_a_profile(
    visit: tuple[Page, PageTraffic], inspected: Interface
) -> None:
    page, _ = visit
    pose(page)
    weight = page.locator("#b-dense_weight input[type=number]")
    weight.fill("0.9")
    weight.press("Tab")
    page.locator("#b-reranker_top_k input[type=number]").fill("3")
    page.get_by_role("button", name="Compare A and B").click()
    expect(page.locator("#compared")).to_contain_text("A: 8 chunks")
    expect(page.locator("#compared")).to_contain_text("B: 3 chunks")
    expect(page.locator("#compared")).to_contain_text("chunks found by both")
    page.get_by_label("Name of the profile").fill("few-and-near")
    page.get_by_label("Description").fill("Three chunks, vectors first.")
    page.get_by_role("button", name="Save as a profile").click()
    expect(page.locator("#lab-status")).to_contain_text("config/profiles/few-and-near.yaml")
    loaded = load_settings(None, EXTRACTIVE, inspected.server.folder)
    saved = load_profile("few-and-near", loaded)
    assert saved.query is not None
    assert saved.query.model_dump(exclude_unset=True) == {"dense_weight": 0.9, "reranker_top_k": 3}


@pytest.mark.sampled(2, "inspect tab")
def test_an_invalid_profile_name_is_refused(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    page.get_by_label("Name of the profile").fill("../../evil")
    page.get_by_role("button", name="Save as a profile").click()
    expect(page.locator("#lab-status")).to_contain_text("cannot be a profile's name")


@pytest.mark.sampled(2, "inspect tab")
def test_a_deleted_profile_is_reported(inspected: Interface) -> None:
    def is_known() -> bool:
        return "brief" in inspected.server.client.get("/v1/profiles").text

    profile = inspected.server.folder / "config" / "profiles" / "brief.yaml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text("description: Few chunks.\nquery: {reranker_top_k: 3}\n", encoding="utf-8")
    assert becomes_true(is_known)
    with inspected.visited("Inspect") as (page, seen):
        page.get_by_label("B: start with the profile").click()
        page.get_by_role("option", name="brief").click()
        expect(page.locator("#b-reranker_top_k input[type=number]")).to_have_value("3")
        profile.unlink()
        assert becomes_true(lambda: not is_known())
        page.get_by_label("Name of the profile").fill("later")
        page.get_by_role("button", name="Save as a profile").click()
        expect(page.locator("#lab-status")).to_contain_text("brief")
        assert seen.complaints == []


@pytest.mark.sampled(2, "inspect tab")
def test_the_inspect_tab_fits_a_phone_screen_in_dark_mode(inspected: Interface) -> None:
    with inspected.visited("Inspect", width=390, height=844, dark=True) as (page, seen):
        pose(page)
        page.keyboard.press("Enter")
        expect(page.locator("#trace-stages")).to_contain_text("rerank")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it must not scroll sideways"
        assert seen.complaints == []

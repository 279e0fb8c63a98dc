"""The tab Inspect in a real browser: the trace of a question, two ways of searching, and a profile that comes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import EXTRACTIVE, copied, soon
from elt_llm_core.settings_loader import load_profile, load_settings
from playwright.sync_api import Page, expect
from ui_browser import Interface, Seen, interface, open_tab

QUESTION = "How many points does a ground need for Grade A?"
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def inspected(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = copied(sample_folder, tmp_path_factory.mktemp("inspect") / "project")
    with interface(folder, environment=EXTRACTIVE, requests_per_minute="100000") as one:
        yield one


@pytest.fixture
def visit(inspected: Interface) -> Iterator[tuple[Page, Seen]]:
    with inspected.visited("Inspect") as (page, seen):
        yield page, seen
        assert seen.elsewhere == []
        assert seen.complaints == []


def pose(page: Page) -> None:
    page.get_by_label("Question to inspect").fill(QUESTION)


def test_a_question_shows_every_passage_stage_and_near_miss(visit: tuple[Page, Seen]) -> None:
    page, _ = visit
    pose(page)
    page.keyboard.press("Enter")
    passages = page.locator("#trace-passages tbody tr")
    expect(passages.first).to_contain_text("ground-grading-guide.txt")
    assert passages.count() > 50, "those that were left out are listed as well"
    expect(page.locator("#trace-stages")).to_contain_text("rerank")
    expect(page.locator("#trace-near")).to_contain_text("beyond top_k")
    page.get_by_role("button", name="All of it as text").click()
    expect(page.locator("#trace-text")).to_contain_text("Reranked: embedding")


def test_two_ways_are_compared_and_one_is_saved_as_a_profile_that_can_be_chosen(
    visit: tuple[Page, Seen], inspected: Interface
) -> None:
    page, _ = visit
    pose(page)
    weight = page.locator("#b-dense_weight input[type=number]")
    weight.fill("0.9")
    weight.press("Tab")
    page.locator("#b-reranker_top_k input[type=number]").fill("3")
    page.get_by_role("button", name="Compare A and B").click()
    expect(page.locator("#compared")).to_contain_text("A: 8 passages")
    expect(page.locator("#compared")).to_contain_text("B: 3 passages")
    expect(page.locator("#compared")).to_contain_text("passages are found by both")
    page.get_by_label("Name of the profile").fill("few-and-near")
    page.get_by_label("What it is for").fill("Three passages, vectors first.")
    page.get_by_role("button", name="Save as a profile").click()
    expect(page.locator("#lab-told")).to_contain_text("config/profiles/few-and-near.yaml")
    loaded = load_settings(None, EXTRACTIVE, inspected.server.folder)
    saved = load_profile("few-and-near", loaded)
    assert saved.query is not None
    assert saved.query.model_dump(exclude_unset=True) == {"dense_weight": 0.9, "reranker_top_k": 3}


def test_a_name_that_cannot_be_one_is_refused_with_what_can(visit: tuple[Page, Seen]) -> None:
    page, _ = visit
    page.get_by_label("Name of the profile").fill("../../evil")
    page.get_by_role("button", name="Save as a profile").click()
    expect(page.locator("#lab-told")).to_contain_text("cannot be a profile's name")


def test_a_profile_that_is_gone_is_said_to_be(visit: tuple[Page, Seen], inspected: Interface) -> None:
    def is_known() -> bool:
        return "brief" in inspected.server.client.get("/v1/profiles").text

    page, _ = visit
    profile = inspected.server.folder / "config" / "profiles" / "brief.yaml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text("description: Few passages.\nquery: {reranker_top_k: 3}\n", encoding="utf-8")
    assert soon(is_known)
    page.reload()
    open_tab(page, "Inspect")
    page.get_by_label("B: begin with the profile").click()
    page.get_by_role("option", name="brief").click()
    expect(page.locator("#b-reranker_top_k input[type=number]")).to_have_value("3")
    profile.unlink()
    assert soon(lambda: not is_known())
    page.get_by_label("Name of the profile").fill("later")
    page.get_by_role("button", name="Save as a profile").click()
    expect(page.locator("#lab-told")).to_contain_text("brief")


def test_it_can_be_read_on_a_phone_in_the_dark(inspected: Interface) -> None:
    with inspected.visited("Inspect", width=390, height=844, dark=True) as (page, seen):
        pose(page)
        page.keyboard.press("Enter")
        expect(page.locator("#trace-stages")).to_contain_text("rerank")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it must not scroll sideways"
        assert seen.complaints == []

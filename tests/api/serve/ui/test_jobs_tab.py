"""The tab Jobs in a real browser: a job is run and watched, its rows are reviewed, its files downloaded."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.axe import serious_issues
from browsing.interface import PATIENCE_MS, Interface, interface, open_tab
from elt_llm_api.serve.actions.rows import QuoteView
from elt_llm_api.serve.ui.jobs import numbered_quotes
from elt_llm_consumer.evidence import Evidence
from playwright.sync_api import Locator, Page, expect
from stored.folders import write_files

pytestmark = [pytest.mark.network, pytest.mark.halved]
_JOB = "description: Terms of the samples.\nsources: {handbook: [samples]}\noutputs: {formats: [json, xlsx, html]}\n"


@pytest.fixture(scope="module")
def ui(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = tmp_path_factory.mktemp("jobs-tab") / "project"
    shutil.copytree(sample_folder, folder)
    write_files(folder / "config", {"rag_config.yaml": "", "consumer/terms.yaml": _JOB})
    with interface(folder) as one:
        yield one


@pytest.fixture(scope="module")
def has_run(ui: Interface) -> Interface:
    """Return the interface after the job was run from its tab."""
    with ui.visited("Jobs") as (page, seen):
        _choose_job(page)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("#jobs-status")).to_contain_text("is done", timeout=4 * PATIENCE_MS)
        expect(page.locator("#rows-count")).to_contain_text("Rows 1 to")
        expect(page.locator("#jobs-stop")).to_be_hidden()
        assert (seen.elsewhere, seen.complaints) == ([], [])
    return ui


def _choose(page: Page, identity: str, text: str) -> None:
    """Choose from a dropdown with the keyboard alone: type the name and press Enter."""
    box = page.locator(f"#{identity} input")
    box.focus()
    box.fill(text)
    page.get_by_role("option", name=text).first.wait_for(state="visible")
    box.press("ArrowDown")
    box.press("Enter")


def _choose_job(page: Page) -> None:
    _choose(page, "jobs-job", "terms")
    expect(page.locator("#jobs-kind input")).to_have_value("glossary")


def _opened_row(page: Page, words: str) -> Locator:
    """Open the row whose name contains these words, with the keyboard alone."""
    expect(page.locator("#rows tbody tr").first).to_be_visible()
    box = page.locator("#rows-text textarea, #rows-text input")
    box.fill(words)
    box.press("Enter")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    page.locator("#rows tbody button", has_text=words).first.press("Enter")
    row = page.locator("#row")
    expect(row).to_contain_text(words)
    return row


def test_an_approved_row_is_still_approved_after_a_reload(has_run: Interface) -> None:
    term = "Averell Cup"
    with has_run.visited("Jobs") as (page, seen):
        _choose_job(page)
        row = _opened_row(page, term)
        expect(row.locator("mark.cited").first).to_be_visible()
        expect(row).to_contain_text("SHA-256")
        page.get_by_role("radio", name="Approved").check()
        page.get_by_label("Comment").fill("As the <b>rule</b> says.")
        page.get_by_role("button", name="Save the review").click()
        expect(page.locator("#review-result")).to_contain_text("Saved.")
        page.reload()
        open_tab(page, "Jobs")
        _choose_job(page)
        row = _opened_row(page, term)
        expect(row).to_contain_text("✓ approved by local")
        expect(row).to_contain_text("As the <b>rule</b> says.")
        expect(page.get_by_role("radio", name="Approved")).to_be_checked()
        expect(page.locator("#rows")).to_contain_text("✓ approved")
        assert (seen.elsewhere, seen.complaints) == ([], [])


def test_a_click_on_a_table_cell_opens_its_row(has_run: Interface) -> None:
    with has_run.visited("Jobs") as (page, _):
        _choose_job(page)
        line = page.locator("#rows tbody tr", has_text="Amateur Player").first
        cell = line.locator("td.found button").first
        expect(cell).to_contain_text("✓")
        cell.click()
        expect(page.locator("#row")).to_contain_text("Amateur Player")
        expect(page.locator("#row mark.cited").first).to_be_visible()
        expect(line).to_have_class(re.compile("is-open"))


def test_rows_are_opened_and_reviewed_with_the_keys_j_k_a_and_r(has_run: Interface) -> None:
    with has_run.visited("Jobs") as (page, seen):
        _choose_job(page)
        expect(page.locator("#rows tbody tr").first).to_be_visible()
        page.locator("#rows-count").click()  # the focus leaves the dropdown
        lines = page.locator("#rows tbody tr")
        for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            expect(lines.nth(place)).to_have_class(re.compile("is-open"))
        page.keyboard.press("a")
        expect(lines.nth(1)).to_contain_text("✓ approved")
        expect(lines.nth(2)).to_have_class(re.compile("is-open"))
        page.keyboard.press("r")
        expect(lines.nth(2)).to_contain_text("✗ rejected")
        expect(lines.nth(3)).to_have_class(re.compile("is-open"))
        page.keyboard.press("Escape")
        expect(page.locator("#row")).to_be_hidden()
        assert (seen.elsewhere, seen.complaints) == ([], [])


def test_a_quote_that_supports_several_cells_is_listed_once() -> None:
    quotes = [quote_of("term", 3), quote_of("definition", 3), quote_of("definition", 40)]
    assert [(one.number, one.fields) for one in numbered_quotes(quotes)] == [
        (1, ("term", "definition")),
        (2, ("definition",)),
    ]


def quote_of(field: str, start: int) -> QuoteView:
    evidence = Evidence(
        collection="rules", source="a.md", document_id="a", document_hash="0" * 64, span=(start, start + 5),
        quote="words", quote_hash="0" * 64, score=1.0,
    )  # fmt: skip
    return QuoteView(field=field, evidence=evidence, found=True, before="", after="")


def test_export_links_download_the_files(has_run: Interface) -> None:
    with has_run.visited("Jobs") as (page, _):
        _choose_job(page)
        link = page.get_by_role("link", name="terms-glossary.json", exact=True)
        with page.expect_download() as download:
            link.click()
        told = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
        assert told["job"] == "terms"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_issue_beside_an_open_row(has_run: Interface, dark: bool) -> None:
    with has_run.visited("Jobs", dark=dark) as (page, seen):
        _choose_job(page)
        _opened_row(page, "Amateur Player")
        assert serious_issues(page) == []
        assert (seen.elsewhere, seen.complaints) == ([], [])


def test_a_job_whose_file_was_added_later_can_be_chosen_and_an_invalid_file_is_named_without_a_reload(
    ui: Interface,
) -> None:
    with ui.visited("Jobs") as (page, _):
        write_files(ui.server.folder / "config", {"consumer/later.yaml": _JOB, "consumer/odd.yaml": "odd: 1"})
        jobs, added = page.locator("#jobs-job input"), page.get_by_role("option", name="later")
        for _ in range(20):  # a list that is open does not change, so the list is opened again
            page.evaluate("window.dispatchEvent(new Event('focus'))")  # the user returns from an editor
            page.wait_for_timeout(1000)
            jobs.click()
            page.wait_for_timeout(500)
            if added.is_visible():
                expect(page.locator("#tab-jobs")).to_contain_text("odd.yaml:1: odd")
                return
            jobs.blur()
        pytest.fail("the added job is not in the list")

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browsing.browser import open_browser
from elt_llm_consumer.evidence import JobResult, Review, Row, Table, absent_cell, found_cell
from elt_llm_consumer.export.html import html_report
from playwright.sync_api import Browser, Page

from tests.consumer.export.sample_results import evidence_of, glossary_result

HOSTILE = [
    "</script><script>document.title='run'</script>",
    "<img src=http://example.com/x.png onerror=document.title='run'>",
    "<!--<script>",
    "{{ 7 * 7 }}",
    "javascript:alert(1)",
    "\u2028\u202e&lt;b&gt;",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@dataclass
class OpenedPage:
    """A page in the browser, with the requests and errors that were recorded for it."""

    page: Page
    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def opened(browser: Browser, result: JobResult, folder: Path, width: int = 1200) -> OpenedPage:
    path = folder / "report.html"
    path.write_text(html_report(result), encoding="utf-8")
    it = OpenedPage(browser.new_page(viewport={"width": width, "height": 900}))
    it.page.on("request", lambda request: it.asked.append(request.url))
    it.page.on("pageerror", lambda error: it.faults.append(str(error)))
    it.page.on("console", lambda message: it.faults.append(message.text) if message.type == "error" else None)
    it.page.goto(path.as_uri())
    return it


def related_result() -> JobResult:
    def entity(name: str, domain: str, coverage: str) -> Row:
        return Row(
            key=f"entity/{name}",
            name=name,
            group=(domain,) if domain else (),
            cells={"coverage": found_cell(coverage, [evidence_of(f"{name} is ruled on.")])},
        )

    def related(source: str, target: str) -> Row:
        cells = {
            "source": found_cell(source, [evidence_of(source)]),
            "target": found_cell(target, [evidence_of(target)]),
        }
        return Row(key=f"relationship/{source}-{target}", name=f"{source} holds {target}", cells=cells)

    entities = [
        entity("Member", "People", "STRONG"),
        entity("Guest", "People", "ABSENT"),
        entity("Town", "Places", "THIN"),
        entity("Stray", "", "THIN"),
    ]
    tables = (
        Table(name="coverage", columns=("coverage",), rows=tuple(entities)),
        Table(name="relationships", columns=("source", "target"), rows=(related("Member", "Town"),)),
    )
    return JobResult(job="related", kind="coverage", tables=tables)


def test_the_html_report_opens_without_errors_and_without_further_requests(browser: Browser, tmp_path: Path) -> None:
    for result in (glossary_result(), related_result()):
        it = opened(browser, result, tmp_path)
        for tab in it.page.get_by_role("tab").all():
            tab.click()
        assert (it.faults, it.asked) == ([], [(tmp_path / "report.html").as_uri()])


def test_a_click_on_a_row_shows_its_evidence(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, glossary_result(), tmp_path).page
    page.get_by_role("button", name=re.compile("^Board")).click()
    assert page.locator("#term\\/board .badge").all_inner_texts() == ["conflict", "absent"]
    page.get_by_role("button", name="policy.md").click()
    quote = page.locator("blockquote").inner_text()
    assert quote.startswith("Seven directors.")
    assert "Part A > A3 Definitions" in quote


def test_an_absent_field_is_shown_with_a_reason_and_the_page_explains_the_verdicts(
    browser: Browser, tmp_path: Path
) -> None:
    row = Row(key="k", name="Clerk", cells={"definition": absent_cell("The texts do not define it.")})
    table = Table(name="terms", columns=("definition",), rows=(row,))
    page = opened(browser, JobResult(job="j", kind="glossary", tables=(table,)), tmp_path).page
    page.get_by_role("button", name=re.compile("^Clerk")).click()
    assert page.locator("#k .field p").first.inner_text() == "absentThe texts do not define it."
    page.get_by_text("How to read this").click()
    assert page.locator("header dt").all_inner_texts()[:4] == ["found", "inferred", "conflict", "absent"]
    assert page.get_by_label("Any domain").is_hidden()


def test_the_html_report_shows_the_names_of_groups(browser: Browser, tmp_path: Path) -> None:
    cells = {"kind": found_cell("role", [evidence_of("A role.")])}
    row = Row(key="k", name="Clerk", group=("role",), cells=cells)
    table = Table(name="candidates", columns=("kind", "definition"), rows=(row,), groups=("kind",))
    page = opened(browser, JobResult(job="j", kind="handbook", tables=(table,)), tmp_path).page
    assert page.get_by_label("Any kind").count() == 1
    page.get_by_role("tab", name="Map by kind").click()
    assert page.locator("table.heat thead tr").inner_text().split() == ["Kind", "Kind"]


def test_search_and_filters_show_only_the_matching_rows(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, glossary_result(), tmp_path).page
    names = page.locator(".row .name")
    page.get_by_role("searchbox").fill("seven DIRECTORS")
    assert names.all_inner_texts() == ["Board"]
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Any review status").select_option("REJECTED")
    assert names.all_inner_texts() == ["Rate_of; Pay v1.2"]
    assert page.get_by_role("status").inner_text() == "1 of 4"


def test_the_filter_by_review_status_separates_stale_reviews(browser: Browser, tmp_path: Path) -> None:
    cells = {"definition": found_cell("30 months.", [evidence_of("30 months.")])}
    reviews = {"Window": Review(status="APPROVED", stale=True), "Fee": Review(status="APPROVED")}
    rows = tuple(Row(key=name, name=name, cells=cells, review=review) for name, review in reviews.items())
    table = Table(name="terms", columns=("definition",), rows=rows)
    page = opened(browser, JobResult(job="j", kind="glossary", tables=(table,)), tmp_path).page
    for status, name in (("APPROVED", "Fee"), ("APPROVED (the row has changed since)", "Window")):
        page.get_by_label("Any review status").select_option(status)
        assert page.locator(".row .name").all_inner_texts() == [name]


def test_the_coverage_map_counts_coverage_classes_by_domain_and_links_to_their_rows(
    browser: Browser, tmp_path: Path
) -> None:
    page = opened(browser, related_result(), tmp_path).page
    page.get_by_role("tab", name="Map by domain").click()
    assert page.locator("table.heat tbody tr").all_inner_texts() == [
        "People\t1\t0\t0\t1",
        "Places\t0\t0\t1\t0",
        "(no domain)\t0\t0\t1\t0",
    ]
    page.locator("table.heat tbody tr").nth(2).get_by_role("button").nth(2).click()
    assert page.locator(".row .name").all_inner_texts() == ["Stray"]


def test_the_graph_shows_the_relationship_names_of_the_selected_entity(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, related_result(), tmp_path).page
    page.get_by_role("tab", name="Relationship graph").click()
    page.locator("svg .node").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Member holds Town").last.click()
    assert page.locator(".row .name").all_inner_texts() == ["Member holds Town"]


def test_tabs_and_rows_can_be_used_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, related_result(), tmp_path).page
    page.get_by_role("tab", name="Coverage").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", selected=True).inner_text() == "Relationships (1)"
    page.locator(".row button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".row .body").count() == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_document_text_in_the_html_report_runs_no_script_and_loads_nothing(
    text: str, browser: Browser, tmp_path: Path
) -> None:
    cells = {"definition": found_cell(text, [evidence_of(text, source=text)], note=text)}
    row = Row(key=text, name=text, group=(text,), cells=cells, notes=(text,))
    table = Table(name="terms", columns=("definition",), rows=(row,))
    hostile = JobResult(job=text, kind="glossary", description=text, tables=(table,), notes=(text,))
    it = opened(browser, hostile, tmp_path)
    it.page.locator(".row button").first.click()
    it.page.locator(".places button").first.click()
    assert it.page.locator("blockquote").evaluate("it => it.firstChild.textContent") == text
    assert (it.faults, len(it.asked)) == ([], 1)
    assert it.page.title().split() == f"Glossary: {text}".split()
    assert it.page.locator("img").count() == 0


def test_the_html_report_is_not_wider_than_a_phone_screen(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, glossary_result(), tmp_path, width=360).page
    page.locator(".row button").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_equal_results_give_equal_html_pages() -> None:
    assert html_report(related_result()) == html_report(related_result())

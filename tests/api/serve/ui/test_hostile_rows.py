"""Rows of hostile documents stay text in the browser, in the table and when opened."""

from collections.abc import Iterator

import pytest
from browsing.interface import Interface, interface
from playwright.sync_api import Dialog, expect
from row_jobs.fake_jobs import project, run

pytestmark = pytest.mark.network
_BAIT = (
    "Bait <img src=http://evil.example/a onerror=alert(1)> ![x](http://evil.example/b) means"
    " [a lure](http://evil.example/c) <script>fetch('http://evil.example/d')</script> <iframe src=http://evil.example/e>"
    " ${alert(2)} {{alert(3)}} http://evil.example/f <svg onload=alert(4)>.\n"
)


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    folder = tmp_path_factory.mktemp("hostile-rows")
    run(project(folder, {"a/bait.txt": _BAIT}))
    with interface(folder, environment={}) as one:
        yield one


def test_document_text_in_rows_runs_no_script_and_contains_no_links(ui: Interface) -> None:
    with ui.visited("Jobs") as (page, seen):
        dialogs: list[str] = []

        def opened(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", opened)
        box = page.locator("#jobs-job input")
        box.fill("rules")
        page.get_by_role("option", name="rules").wait_for(state="visible")
        box.press("ArrowDown")
        box.press("Enter")
        cell = page.locator("#rows tbody button", has_text="Bait").first
        expect(cell).to_contain_text("<img src=http://evil.example/a")
        cell.click()
        row = page.locator("#row")
        expect(row).to_contain_text("<script>fetch('http://evil.example/d')</script>")
        expect(row).to_contain_text("${alert(2)}")
        shown = page.locator("#row, #rows")
        assert shown.locator("img, script, iframe, svg[onload], a").count() == 0
        assert (seen.elsewhere, seen.complaints, dialogs) == ([], [], [])

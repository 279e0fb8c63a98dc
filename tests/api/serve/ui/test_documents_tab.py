"""The tab Documents in a real browser: files are uploaded, listed, shown and forgotten."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.browser import open_browser
from browsing.interface import Interface, PageTraffic
from playwright.sync_api import Browser, Page, expect
from served.documents import documents
from served.server import RunningServer, served

pytestmark = pytest.mark.network
HOSTILE = "# <img src=x onerror=alert(1)> Storks\n\n<script>alert(1)</script> Storks nest in April on every roof.\n"


@pytest.fixture(scope="module")
def a_browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with served(tmp_path_factory.mktemp("tab"), requests_per_minute="100000") as server:
        yield server


@pytest.fixture
def visit(a_browser: Browser, server: RunningServer) -> Iterator[Page]:
    """Yield the opened tab. Afterwards check that no request left the server and the console has no errors."""
    seen: PageTraffic
    with Interface(server, a_browser).visited("Documents") as (page, seen):
        page.on("dialog", lambda dialog: pytest.fail(f"a script of a document ran: {dialog.message}"))
        yield page
        assert seen.elsewhere == []
        assert seen.complaints == []


def choose(page: Page, collection: str) -> None:
    """Enter the name of an existing or a new collection."""
    box = page.get_by_label("Collection", exact=True)
    box.fill(collection)
    box.press("Enter")
    box.press("Tab")


def upload(page: Page, collection: str, *files: Path) -> None:
    choose(page, collection)
    page.locator("#documents-files input[type=file]").set_input_files(list(files))
    for file in files:
        expect(page.locator("#documents-files")).to_contain_text(file.stem)
    page.get_by_role("button", name="Upload", exact=True).click()


def test_a_file_can_be_uploaded_searched_displayed_and_forgotten(
    visit: Page, server: RunningServer, tmp_path: Path
) -> None:
    for name, text in (("herons.md", "# Herons\n\nHerons nest in March.\n"), ("storks.md", HOSTILE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    upload(visit, "birds", tmp_path / "herons.md", tmp_path / "storks.md")
    status = visit.locator("#documents-status")
    expect(status).to_contain_text("is done")
    expect(status).to_contain_text("2 ok")
    expect(visit.locator("#documents-table")).to_contain_text("herons.md")
    answer = server.client.post("/v1/query", json={"question": "When do storks nest?", "collections": ["birds"]}).json()
    assert [citation["source"] for citation in answer["citations"]] == ["storks.md"]

    visit.get_by_label("Document", exact=True).click()
    visit.get_by_role("option", name="storks.md").click()
    visit.get_by_role("button", name="Show text").click()
    expect(visit.locator("#documents-text textarea")).to_have_value(re.compile("Storks nest in April"))

    visit.get_by_role("button", name="Forget", exact=True).click()
    expect(status).to_contain_text("Tick the box to confirm")
    visit.get_by_label("Forget it for good").check()
    visit.get_by_role("button", name="Forget", exact=True).click()
    expect(status).to_contain_text("is forgotten")
    assert documents(server.client, "birds").keys() == {"herons.md"}
    expect(visit.locator("#documents-table")).not_to_contain_text("storks.md")


def test_a_refused_upload_is_shown_with_the_file_name_and_the_reason(visit: Page, tmp_path: Path) -> None:
    (tmp_path / "note.pdf").write_text("no PDF at all", encoding="utf-8")
    upload(visit, "refused", tmp_path / "note.pdf")
    expect(visit.locator("#documents-status")).to_contain_text(
        "ends in .pdf, but its content is that of another file type"
    )

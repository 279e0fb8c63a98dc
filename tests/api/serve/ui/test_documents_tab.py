"""The tab Documents in a real browser: files are uploaded, listed, shown and forgotten."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.browser import open_browser
from browsing.html_effects import ShownHtml
from browsing.interface import Interface, PageTraffic, open_tab
from elt_llm_api.serve.actions.documents import DocumentEntry
from elt_llm_api.serve.actions.uploads import safe_file_name
from elt_llm_api.serve.ui.documents import DocumentRow, document_list, document_rows
from elt_llm_api.serve.ui.texts import load_texts
from elt_llm_core.state.jobs import QueuedJob
from playwright.sync_api import Browser, Page, expect
from processes.command_line import CommandLine
from served.documents import documents
from served.server import RunningServer, served

pytestmark = [pytest.mark.network, pytest.mark.halved]
HOSTILE = "# <img src=x onerror=alert(1)> Storks\n\n<script>alert(1)</script> Storks nest in April on every roof.\n"


@pytest.fixture(scope="module")
def a_browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with served(tmp_path_factory.mktemp("tab"), requests_per_minute="100000") as server:
        yield server


@pytest.fixture(scope="module")
def ui(a_browser: Browser, server: RunningServer) -> Interface:
    return Interface(server, a_browser)


@pytest.fixture
def visit(ui: Interface) -> Iterator[Page]:
    """Yield the opened tab. Afterwards check that no request left the server and the console has no errors."""
    seen: PageTraffic
    with ui.visited("Documents") as (page, seen):
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
    expect(status).to_contain_text("Reading files into birds ✓ is done")
    expect(status).to_contain_text("2 ok")
    expect(visit.locator("#documents-table")).to_contain_text("herons.md")
    answer = server.client.post("/v1/query", json={"question": "When do storks nest?", "collections": ["birds"]})
    assert answer.status_code == 200, answer.text
    assert [citation["source"] for citation in answer.json()["citations"]] == ["storks.md"]

    row = visit.locator("#documents-table tr", has_text="storks.md")
    row.get_by_role("button", name="Open").click()
    expect(visit.locator("#documents-text")).to_contain_text("Storks nest in April")
    visit.get_by_role("button", name="Close").click()
    expect(visit.locator("#documents-text")).to_be_hidden()

    row.get_by_role("button", name="Forget").click()
    expect(row).to_contain_text("Forget it for good")
    row.get_by_role("button", name="Keep").click()
    expect(row).not_to_contain_text("Forget it for good")
    row.get_by_role("button", name="Forget").click()
    row.get_by_role("button", name="Yes, forget").click()
    expect(status).to_contain_text("is forgotten")
    assert documents(server.client, "birds").keys() == {"herons.md"}
    expect(visit.locator("#documents-table")).not_to_contain_text("storks.md")


@pytest.mark.sampled(3, "documents tab")
def test_files_whose_names_differ_in_a_forbidden_sign_are_both_kept(
    visit: Page, server: RunningServer, tmp_path: Path
) -> None:
    for name in ("Who pays?.md", "Who pays.md", "Who *pays*.md"):
        (tmp_path / name).write_text(f"# Paying\n\nIn the file {name} it is the buyer.\n", encoding="utf-8")
        upload(visit, "payers", tmp_path / name)
        expect(visit.locator("#documents-status")).to_contain_text("is done")
        expect(visit.locator("#documents-status")).not_to_contain_text("replaced")
        expect(visit.locator("#documents-files")).not_to_contain_text("Who")
    assert documents(server.client, "payers").keys() == {
        safe_file_name(name) for name in ("Who pays?.md", "Who pays.md", "Who *pays*.md")
    }


@pytest.mark.sampled(3, "documents tab")
def test_a_long_file_name_stays_within_its_column(visit: Page, tmp_path: Path) -> None:
    file = tmp_path / "Donaudampfschifffahrtsgesellschaftskapitänsmützenverordnung.md"
    file.write_text("# Caps\n\nThe cap of a captain is blue.\n", encoding="utf-8")
    upload(visit, "caps", file)
    expect(visit.locator("#documents-status")).to_contain_text("is done")
    visit.set_viewport_size({"width": 700, "height": 900})
    assert visit.locator("#documents-table td.name").evaluate("cell => cell.scrollWidth <= cell.clientWidth")


@pytest.mark.sampled(3, "documents tab")
def test_a_new_collection_appears_in_the_other_tabs_without_a_reload(visit: Page, tmp_path: Path) -> None:
    (tmp_path / "owls.md").write_text("# Owls\n\nOwls nest in May.\n", encoding="utf-8")
    upload(visit, "night_owls", tmp_path / "owls.md")
    expect(visit.locator("#documents-status")).to_contain_text("is done")
    open_tab(visit, "Ask")
    expect(visit.get_by_role("checkbox", name="night_owls (1)")).to_be_visible()
    open_tab(visit, "Inspect")
    visit.get_by_label("Collections to search").click()
    expect(visit.get_by_role("option", name="night_owls")).to_be_visible()


@pytest.mark.sampled(3, "documents tab")
def test_a_typed_collection_name_is_kept_even_if_it_is_part_of_another_collections_name(
    ui: Interface, tmp_path: Path
) -> None:
    (tmp_path / "tern.md").write_text("# Terns\n\nTerns nest in June.\n", encoding="utf-8")
    for name in ("arctic_sea", "sea"):
        with ui.visited("Documents") as (page, _):
            box = page.get_by_label("Collection", exact=True)
            box.fill("arctic_sea")
            box.press("Enter")
            box.fill(name)
            box.press("Enter")
            page.locator("#documents-files input[type=file]").set_input_files(tmp_path / "tern.md")
            expect(page.locator("#documents-files")).to_contain_text("tern")
            page.get_by_role("button", name="Upload", exact=True).click()
            expect(page.locator("#documents-status")).to_contain_text(f"Reading files into {name} ✓ is done")


@pytest.mark.sampled(3, "documents tab")
def test_a_file_that_cannot_be_read_stays_in_the_list_with_the_reason_and_can_be_read_again(
    visit: Page, tmp_path: Path
) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nThis text can be read.\n", encoding="utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing that follows is a document\n")
    upload(visit, "mixed", tmp_path / "good.md", tmp_path / "broken.pdf")
    expect(visit.locator("#documents-status")).to_contain_text("1 failed")
    row = visit.locator("#documents-table tr", has_text="broken.pdf")
    expect(row).to_contain_text("✗ could not be read: ")
    row.get_by_role("button", name="Read again").click()
    expect(visit.locator("#documents-status")).to_contain_text("Nothing could be read from one file")
    expect(row).to_contain_text("✗ could not be read: ")


@pytest.mark.sampled(3, "documents tab")
def test_files_that_an_ingest_skipped_are_listed_with_the_reason_and_the_command(
    visit: Page, server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nThis text can be read.\n", encoding="utf-8")
    (tmp_path / "plan <b>.dwg").write_bytes(b"AC1015")
    CommandLine(server.folder, capsys).done("ingest", tmp_path, "-c", "drawings")
    choose(visit, "drawings")
    skipped = visit.locator("#documents-table details")
    skipped.get_by_text("The last ingest skipped 1 file").click()
    expect(skipped).to_contain_text("plan <b>.dwg: no reader for .dwg")
    expect(skipped).to_contain_text("elt-llm ingest -c drawings --dry-run")


@pytest.mark.sampled(3, "documents tab")
def test_files_dropped_anywhere_on_the_tab_are_chosen_for_the_upload(visit: Page) -> None:
    drop_file(visit, "#documents-table", "dropped.md", "# Dropped")
    expect(visit.locator("#documents-files")).to_contain_text("dropped")


def drop_file(page: Page, area: str, name: str, text: str) -> None:
    """Drop a file on an element, as a file manager does."""
    transfer = page.evaluate_handle(
        """([name, text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], name, { type: "text/markdown" }));
            return transfer;
        }""",
        [name, text],
    )
    page.locator(area).dispatch_event("dragover", {"dataTransfer": transfer})
    page.locator(area).dispatch_event("drop", {"dataTransfer": transfer})


@pytest.mark.sampled(3, "documents tab")
def test_the_filter_lists_only_documents_with_its_words(visit: Page, tmp_path: Path) -> None:
    for name in ("kite red.md", "kite black.md"):
        (tmp_path / name).write_text(f"# {name}\n\nIt nests in May.\n", encoding="utf-8")
    upload(visit, "kites", tmp_path / "kite red.md", tmp_path / "kite black.md")
    expect(visit.locator("#documents-status")).to_contain_text("2 ok")
    visit.get_by_label("Filter").press_sequentially("kite red", delay=30)  # each letter while the former one is applied
    expect(visit.locator("#documents-table")).to_contain_text("1 document")
    expect(visit.locator("#documents-table")).not_to_contain_text("kite black.md")


@pytest.mark.sampled(3, "documents tab")
def test_a_refused_upload_is_shown_with_the_file_name_and_the_reason(visit: Page, tmp_path: Path) -> None:
    (tmp_path / "note.pdf").write_text("no PDF at all", encoding="utf-8")
    upload(visit, "refused", tmp_path / "note.pdf")
    expect(visit.locator("#documents-status")).to_contain_text(
        "ends in .pdf, but its content is that of another file type"
    )
    expect(visit.locator("#documents-files")).to_contain_text("note")
    expect(visit.get_by_role("button", name="Upload", exact=True)).to_be_enabled()


def test_each_file_of_an_unfinished_job_has_a_line_with_its_progress() -> None:
    progress = {"stage": "read", "done": 0, "total": 2, "detail": "b.md"}
    job = QueuedJob(
        "0", "ingest", {"uploads": ["a.md", "b.md"]}, "local", "running", 1, None,
        progress=progress, result={}, error="", created_at="", updated_at="",
    )  # fmt: skip
    rows = document_rows([], job, load_texts("en"))
    assert [(row.name, row.status) for row in rows] == [("a.md", "… waiting"), ("b.md", "▶ being read")]


def test_unread_uploads_and_the_owners_of_documents_with_the_same_name_are_listed() -> None:
    entries = [
        DocumentEntry(
            id=tenant, title="a.md", source="a.md", size=1, outcome="ok", reason="", uploaded=True, owner_fields=owner
        )
        for tenant, owner in (("1", {"tenant_id": "acme"}), ("2", {"tenant_id": "globex"}))
    ]
    rows = document_rows(entries, None, load_texts("de"), ["late.md"])
    assert [(row.name, row.status) for row in rows] == [
        ("late.md", "○ gespeichert, noch nicht gelesen"),
        ("a.md · tenant_id=acme", "✓ gelesen"),
        ("a.md · tenant_id=globex", "✓ gelesen"),
    ]
    assert [row.name for row in document_rows(entries[:1], None, load_texts("de"))] == ["a.md"]


def test_the_buttons_of_each_document_name_it() -> None:
    rows = [DocumentRow(name, name, "", 0, 1, "", "") for name in ("a.md", "b.md")]
    html = document_list(rows, "", "", load_texts("en"))
    names = [ShownHtml(button).text for button in re.findall("<button.*?</button>", html)]
    assert names == [f"{word} {name}" for name in ("a.md", "b.md") for word in ("Open", "Read again", "Forget")]

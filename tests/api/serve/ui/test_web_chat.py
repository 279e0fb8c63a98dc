"""The example page in a real browser, from a listed and from an unlisted origin."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.browser import open_browser
from browsing.web_chat import FOLDER, WebChat, served_page, web_chat
from elt_llm_api.cli import run
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from playwright.sync_api import Browser
from processes.command_line import FAKE, PROJECT
from served.scripted_answers import written_by
from served.server import RunningServer, served
from stored.folders import write_files

pytestmark = pytest.mark.halved


TOKEN = "a-token-of-the-tests-0123456789abcdef"
QUESTION = "How many points does a ground need for Grade A?"
INVENTED = "The donkey was paid 900 guineas by Emperor Otto."
ANSWER = f"A ground needs 85 points for Grade A [1]. {INVENTED}"
SCRIPT = "<img src=x onerror=alert(1)>"
NOTES = {
    f"{SCRIPT}.md": f"---\ntitle: '{SCRIPT} ${{alert(1)}}'\nauthors: '{SCRIPT}'\n---\n\n"
    f"# {SCRIPT}\n\nThe late fee for lanterns is 12 pounds {SCRIPT} a week.\n"
}
HOSTILE = "<img src=x onerror=alert(1)> ![x](https://evil.example/) \u202etxet"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with served_page() as address:
        yield address


@pytest.fixture(scope="module")
def model() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend([ANSWER])) as server:
        yield server


@pytest.fixture(scope="module")
def server(
    sample_folder: Path, origin: str, model: ModelHttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("chat") / "project"
    shutil.copytree(sample_folder, folder)
    write_files(folder / "notes", NOTES)
    assert run(["ingest", str(folder / "notes"), "-c", "notes", "--json"], FAKE, folder) == 0
    environment = {**written_by("ollama", model, OLLAMA__CONTEXT_WINDOW="8192"), **FAKE}
    with served(folder, token=TOKEN, environment=environment, cors_origins=f'["{origin}"]') as running:
        yield running


@pytest.fixture
def chat(browser: Browser, origin: str, server: RunningServer) -> Iterator[WebChat]:
    with web_chat(browser, origin, server.address) as opened:
        opened.page.fill("#key", TOKEN)
        opened.page.click("#settings button")
        opened.page.wait_for_selector("#collections input")
        yield opened


def test_a_streamed_answer_has_citation_numbers_that_link_to_its_sources(chat: WebChat) -> None:
    told = chat.ask(QUESTION)
    assert told.startswith("A ground needs 85 points for Grade A")
    turn = chat.page.locator(".turn").last
    assert turn.locator("h2").inner_text() == QUESTION
    number = turn.locator(".answer a.number").first
    number.click()
    focused = chat.page.evaluate("() => document.activeElement.className")
    assert "card" in focused
    card = turn.locator(".card.cited").first
    assert "85 points" in card.locator("blockquote mark").first.inner_text()
    assert "ground-grading-guide.txt" in card.locator(".where").inner_text()
    assert [it for it in chat.seen.complaints if "401" not in it] == []  # before the key was entered


def test_unsupported_sentences_of_an_answer_are_highlighted_with_the_reason_as_tooltip(chat: WebChat) -> None:
    chat.ask(QUESTION)
    marked = chat.page.locator(".answer mark")
    assert [text.strip() for text in marked.all_inner_texts()] == [INVENTED]
    assert "do not say" in str(marked.first.get_attribute("title"))


def test_a_follow_up_question_is_asked_in_the_same_conversation(chat: WebChat, server: RunningServer) -> None:
    before = turns_of(server)
    chat.ask(QUESTION)
    chat.ask("and for Grade B?")
    assert sorted(turns_of(server).values()) == sorted([*before.values(), 2])
    chat.page.click("#anew")
    assert chat.page.locator(".turn").count() == 0
    chat.ask(QUESTION)
    assert sorted(turns_of(server).values()) == sorted([*before.values(), 2, 1])


def turns_of(server: RunningServer) -> dict[str, int]:
    return {it["id"]: it["turns"] for it in server.client.get("/v1/sessions").json()}


def test_the_stop_button_ends_the_answer_and_another_question_can_be_asked(
    chat: WebChat, model: ModelHttpServer
) -> None:
    model.faults.plan("/api/chat", Fault.ENDLESS)
    chat.begin("How long does an inspection take?")
    chat.page.get_by_text("on and on and").first.wait_for()
    chat.page.click("#stop")
    chat.page.get_by_text("Stopped.").wait_for()
    assert "85 points" in chat.ask(QUESTION)


def test_the_chat_page_requires_a_key_and_stores_the_key_neither_in_the_browser_nor_in_urls(
    browser: Browser, origin: str, server: RunningServer, chat: WebChat
) -> None:
    chat.ask(QUESTION)
    assert chat.page.evaluate("() => [localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert not any(TOKEN in url for url in chat.seen.requests)
    with web_chat(browser, origin, server.address) as stranger:
        stranger.page.locator("#trouble:not([hidden])").wait_for()
        assert stranger.page.locator("#collections input").count() == 0
        assert stranger.ask(QUESTION) == ""


def test_a_page_of_an_unlisted_origin_cannot_read_responses(browser: Browser, server: RunningServer) -> None:
    with served_page() as elsewhere, web_chat(browser, elsewhere, server.address) as page:
        page.page.fill("#key", TOKEN)
        page.page.click("#settings button")
        page.page.get_by_text("does not let this page call").wait_for()
        assert page.page.locator("#collections input").count() == 0


def test_hostile_questions_are_shown_as_text(chat: WebChat) -> None:
    chat.ask(HOSTILE)
    shown = chat.page.locator(".turn h2").last.inner_text()
    assert shown.startswith("<img src=x onerror=alert(1)> ![x](https://evil.example/) ⟨U+202E⟩")
    assert "IMG" not in chat.tags
    assert chat.elsewhere == []
    assert chat.leading_away == []


def test_hostile_names_titles_and_texts_of_sources_are_shown_as_text(chat: WebChat) -> None:
    chat.ask("What is the late fee for lanterns?")
    chat.page.evaluate("() => document.querySelectorAll('details').forEach((it) => (it.open = true))")
    cards = chat.page.locator(".turn").last.locator(".card", has_text="late fee for lanterns")
    assert SCRIPT in cards.first.locator(".where").inner_text()
    assert "IMG" not in chat.tags
    assert chat.leading_away == []
    assert chat.elsewhere == []


def test_the_chat_page_fits_a_phone_screen(browser: Browser, origin: str, server: RunningServer) -> None:
    with web_chat(browser, origin, server.address, width=360, height=640) as phone:
        phone.page.fill("#key", TOKEN)
        phone.ask(QUESTION)
        assert phone.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert (PROJECT / "docs" / "images" / "web-chat.png").stat().st_size < 200_000


def test_the_page_builds_no_html_from_text_and_stores_nothing_in_the_browser() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage", "import("):
        assert word not in scripts
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert "https://" not in page + scripts
    assert "default-src 'none'" in page

"""The tab Ask in a real browser: streamed answers, their sources, stopping, rating and copying."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from browsing.browser import open_browser
from browsing.interface import Interface, PageTraffic, open_tab
from elt_llm_core.results import QueryResult
from elt_llm_core.state.database import open_state
from elt_llm_core.state.sessions import SessionTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_servers.faults import Fault
from playwright.sync_api import Browser, Page, Route, expect
from processes.command_line import SAMPLES
from served.answering_server import (
    CHAT,
    EXTRACTIVE,
    QUESTION,
    AnsweringServer,
    answering,
    becomes_true,
    copied_project,
    threads_named,
)
from served.server import served

SAID = "The Association was founded on 9 November 1887 in Quillhaven."
DOUBTFUL = "The Association was founded on 9 November 1887 in Quillhaven [1]. Its first patron was a Spanish king."
pytestmark = [pytest.mark.network, pytest.mark.halved]


@pytest.fixture(scope="module")
def a_browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def asked(
    a_browser: Browser, sample_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnsweringServer]:
    folder = tmp_path_factory.mktemp("ask") / "project"
    with answering(sample_folder, folder, requests_per_minute="100000") as one:
        yield one


@pytest.fixture
def model(asked: AnsweringServer) -> Iterator[AnsweringServer]:
    """Yield the server. Afterwards its model works normally again."""
    yield asked
    asked.model.faults.clear()


@pytest.fixture(scope="module")
def ui(a_browser: Browser, asked: AnsweringServer) -> Interface:
    return Interface(asked.server, a_browser)


@pytest.fixture
def visit(ui: Interface, model: AnsweringServer) -> Iterator[tuple[Page, PageTraffic]]:
    """Yield the opened tab. Afterwards check that no request left the server and the console has no errors."""
    with ui.visited() as (page, seen):
        yield page, seen
        assert seen.elsewhere == []
        assert seen.complaints == []


def ask(page: Page, question: str) -> None:
    box = page.locator("#question textarea")
    box.fill(question)
    box.press("Enter")


@pytest.mark.sampled(8, "ask tab")
def test_an_answer_shows_source_cards_with_the_cited_words(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered with 1 citation.")
    expect(page.locator("#conversation")).to_contain_text(f"{SAID} [")
    expect(page.locator("#sources")).to_be_visible()
    card = page.locator("#source-1")
    expect(card).to_contain_text("page")
    expect(card.locator("mark.cited")).to_contain_text("1887")
    expect(page.locator("#source-2")).to_have_count(0)


@pytest.mark.sampled(8, "ask tab")
def test_an_example_question_made_from_the_documents_is_asked_with_one_click(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    expect(page.locator("#sources")).to_be_hidden()
    example = page.locator("#conversation .example").first
    question = example.inner_text().strip()
    example.click()
    expect(page.locator("#conversation .user")).to_contain_text(question)
    expect(page.locator("#status")).to_have_text(re.compile("Answered|No answer"))


@pytest.mark.sampled(8, "ask tab")
def test_a_source_opens_with_the_cited_words_highlighted(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    quoted = page.locator("#source-1 blockquote").inner_text()
    page.locator("#source-1").get_by_role("button", name="Open source").click()
    opened = page.locator("#opened")
    expect(opened.locator("mark.cited")).to_contain_text("1887")
    assert len(opened.inner_text()) > len(quoted)
    page.get_by_role("button", name="Back to all sources").click()
    expect(opened).to_be_hidden()
    expect(page.locator("#source-1")).to_be_visible()


def test_a_click_on_a_citation_in_the_answer_opens_the_document_beside_the_answer(
    visit: tuple[Page, PageTraffic],
) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    page.locator("#conversation .bot button.chip").first.click()
    opened = page.locator("#opened")
    expect(opened.locator("mark.cited")).to_contain_text("1887")
    answer, beside = page.locator("#conversation").bounding_box(), opened.bounding_box()
    assert answer is not None
    assert beside is not None
    assert beside["x"] >= answer["x"] + answer["width"], "it is beside the answer"
    page.keyboard.press("Escape")
    expect(opened).to_be_hidden()


@pytest.mark.sampled(8, "ask tab")
def test_a_citation_of_an_earlier_answer_still_opens_its_source(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    ask(page, "And who was its first president?")
    expect(page.locator("#conversation .bot .prose")).to_have_count(2)
    expect(page.locator("#ask-actions")).to_contain_text("Answer again")
    page.locator("#conversation .bot").first.locator("button.chip").first.click()
    expect(page.locator("#opened mark.cited")).to_contain_text("1887")


def test_text_is_shown_while_the_model_writes_and_the_ask_button_turns_into_stop(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    model.model.faults.plan(CHAT, Fault.ENDLESS)
    ask(page, f"{QUESTION} Tell it at length.")
    expect(page.locator("#conversation")).to_contain_text("on and on and")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#status")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    assert becomes_true(lambda: threads_named("model") == 0), "the model still runs"


def test_no_update_is_lost_when_several_arrive_before_the_page_has_drawn_the_first(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    question, before = f"{QUESTION} Tell it slowly to a slow page.", len(model.model.bodies(CHAT))
    model.model.faults.always(CHAT, Fault.ENDLESS)

    def answer_late(route: Route) -> None:
        """Return the answer to the page's request only when the model writes, so that several updates are waiting."""
        response = route.fetch()
        if question in (route.request.post_data or ""):
            assert becomes_true(lambda: len(model.model.bodies(CHAT)) > before + 1)
        route.fulfill(response=response)

    ask(
        page, f"{QUESTION} Tell it again."
    )  # its answer, which the next question stops, keeps the stream of updates open
    expect(page.locator("#conversation")).to_contain_text("on and on and")
    page.route("**/queue/join*", answer_late)
    ask(page, question)
    expect(page.locator("#conversation .bot").last).to_contain_text("on and on and")
    expect(page.locator("#question textarea")).to_have_value("")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#status")).to_have_text("Stopped.")


@pytest.mark.sampled(8, "ask tab")
def test_a_question_whose_model_fails_shows_the_reason_without_sources(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    model.model.faults.plan(CHAT, Fault.FULL)
    ask(page, f"{QUESTION} Tell it from memory.")
    expect(page.locator("#conversation .failure")).to_contain_text("requires more system memory")
    expect(page.locator("#ask-actions")).to_contain_text("Answer again")
    expect(page.locator("#sources")).to_be_hidden()


@pytest.mark.sampled(8, "ask tab")
def test_leaving_the_page_stops_the_language_model(ui: Interface, model: AnsweringServer) -> None:
    model.model.faults.plan(CHAT, Fault.ENDLESS)
    with ui.visited() as (page, _):
        ask(page, f"{QUESTION} Tell it and I will not wait.")
        expect(page.locator("#conversation")).to_contain_text("on and on and")
        assert threads_named("model") > 0
    assert becomes_true(lambda: threads_named("model") == 0), "the model still runs"


@pytest.mark.sampled(8, "ask tab")
def test_a_follow_up_question_is_added_to_the_conversation_and_the_conversation_can_be_reopened(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    ask(page, "And who was its first president?")
    expect(page.locator("#conversation .bot .prose")).to_have_count(2)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    expect(page.locator("#status")).to_contain_text(re.compile("Answered|No answer"))
    expect(page.locator("#conversation .bot").last.get_by_text("Understood as: ")).to_have_count(1)
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#conversation .bot")).to_have_count(0)
    page.get_by_label("Earlier conversations").click()
    page.get_by_role("option").first.click()
    expect(page.locator("#conversation .user .prose")).to_have_count(2)
    [latest, *_] = model.server.client.get("/v1/sessions").json()
    assert latest["turns"] == 2


@pytest.mark.sampled(8, "ask tab")
def test_hebrew_is_written_from_the_right_to_the_left(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, "מה הקנס על איחור?")
    question = page.locator("#conversation .user .text")
    style = question.evaluate("it => [getComputedStyle(it).unicodeBidi, getComputedStyle(it).textAlign]")
    assert style == ["plaintext", "start"]


REPORTED = (
    *("is 3*4*5 litres", "costs 10~~00~~ euros", "weighs ~2~ grams", r"in C:\temp\_new\report", "key ab__7__9_x_1"),
    *(r"for 3 \* 10 seconds", "2**3**4", "1*2 and 3*4", "5 &lt; 6", "in __init__.py"),
)
QUOTED = (*REPORTED, "***star***", "3. x\n5. y", "# 1\n> 2\n- 3", "|a|\n|-|\n|1|2|", "`1*2*3`", "[x](y) <b>z</b>")
SIGNS = st.sampled_from([*"*_~\\`<>&;#|[]()!$-+.:= \n", "**", "~~", "***", "3", "4.", "5", "a", "é", "重", "&#52;"])
SIGNED = st.lists(SIGNS, min_size=1, max_size=14).map("".join).filter(str.strip)


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(SIGNED, min_size=30, max_size=30))
def test_a_browser_shows_every_character_of_questions_and_quoted_answers_and_the_signs_that_a_model_wrote(
    model: AnsweringServer, ui: Interface, texts: list[str]
) -> None:
    quoted = [*QUOTED, *texts]
    with closing(open_state(model.server.data_dir)) as state:
        sessions = SessionTable(state)
        session = sessions.create(["samples"])
        for writer, answers in (("extractive", quoted), ("model", REPORTED)):
            for answer in answers:
                result = QueryResult(question="?", answer=answer, answered=True, metadata={"model": writer})
                sessions.add(session, answer, result)
    with ui.visited() as (page, _):
        page.get_by_label("Earlier conversations").click()
        # The answer of an earlier test may end now, so that its conversation is the most recently used one.
        page.get_by_role("option").filter(has_text=quoted[0]).first.click()
        shown = page.locator("#conversation .bot .prose")
        expect(shown).to_have_count(len(quoted) + len(REPORTED))
        expect(shown.last).to_contain_text("confidence")
        answers = [text.rpartition("confidence")[0] for text in shown.all_inner_texts()]
        questions = page.locator("#conversation .user .prose").all_inner_texts()
    expected = [text.split() for text in (*quoted, *REPORTED)]
    assert [text.split() for text in answers] == expected
    assert [text.split() for text in questions] == expected


@pytest.mark.sampled(8, "ask tab")
def test_a_rating_of_an_answer_is_stored_with_its_conversation_turn(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    page.get_by_role("button", name="Like", exact=True).click()
    expect(page.locator("#status")).to_have_text("Thank you: rated as helpful.")
    [given, *_] = model.server.client.get("/v1/feedback").json()
    assert given["verdict"] == "up"
    assert given["turn"] == 1


@pytest.mark.sampled(8, "ask tab")
def test_the_answer_with_its_sources_can_be_copied_as_text(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    page.get_by_role("button", name="Copy with sources").click()
    expect(page.locator("#ask-actions")).to_contain_text("Copied.")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith(f"{SAID} [")
    assert "(handbook.pdf)" in text


@pytest.mark.sampled(8, "ask tab")
def test_an_answer_can_be_asked_for_again_and_replaces_the_former_answer(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    client = model.server.client
    [session, *_] = client.get("/v1/sessions").json()

    def turns() -> list[object]:
        return list(client.get(f"/v1/sessions/{session['id']}").json()["history"])

    before = turns()
    page.get_by_role("button", name="Answer again").click()
    assert becomes_true(lambda: len(turns()) == len(before) == 1 and turns() != before)
    expect(page.locator("#conversation .user .prose")).to_have_count(1)


@pytest.mark.sampled(8, "ask tab")
def test_the_last_question_can_be_edited_and_its_new_answer_replaces_the_old(
    visit: tuple[Page, PageTraffic], model: AnsweringServer
) -> None:
    page, _ = visit
    ask(page, "When was the Association founded?")
    expect(page.locator("#ask-actions")).to_contain_text("Edit the question")
    page.get_by_role("button", name="Edit the question").click()
    box = page.locator("#question textarea")
    expect(box).to_have_value("When was the Association founded?")
    ask(page, QUESTION)
    expect(page.locator("#conversation .user .prose")).to_have_text([QUESTION])
    expect(page.locator("#ask-actions")).to_contain_text("Answer again")
    [latest, *_] = model.server.client.get("/v1/sessions").json()
    assert (latest["turns"], latest["title"]) == (1, QUESTION)


@pytest.mark.sampled(8, "ask tab")
def test_a_conversation_is_exported_as_markdown_with_its_citations(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as Markdown").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith(f"# {QUESTION}\n\n## {QUESTION}\n\n{SAID} [")
    assert "\n- [" in text
    assert "(handbook.pdf, page " in text


@pytest.mark.sampled(8, "ask tab")
def test_a_printed_conversation_consists_of_the_answers_with_their_citations(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    ask(page, QUESTION)
    expect(page.locator("#status")).to_contain_text("Answered")
    expect(page.locator("#conversation .on-paper")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#conversation .on-paper")).to_contain_text("1887")
    for part in ("#question", "#ask-settings", "#sources", "#header"):
        expect(page.locator(part)).to_be_hidden()


@pytest.mark.sampled(8, "ask tab")
def test_a_file_dropped_into_the_question_box_is_read_and_answers_the_question(
    a_browser: Browser, sample_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "founding.md").write_text(f"# The founding\n\n{SAID}\n", encoding="utf-8")
    with (
        answering(sample_folder, tmp_path / "project") as one,  # other tests ask for the same fact without this file
        Interface(one.server, a_browser).visited() as (page, _),
    ):
        page.locator("#question input[type=file]").set_input_files(tmp_path / "founding.md")
        expect(page.get_by_role("listitem", name="File thumbnail")).to_have_attribute("data-name", "founding.md")
        ask(page, QUESTION)
        expect(page.locator("#conversation .user")).to_contain_text(QUESTION)
        expect(page.locator("#status")).to_contain_text("Answered with 1 citation.")
        expect(page.locator("#source-1")).to_contain_text("founding.md")
        expect(page.get_by_role("checkbox", name="documents (1)")).to_be_checked()
        open_tab(page, "Documents")
        page.get_by_label("Collection", exact=True).click()
        page.get_by_role("option", name="documents").click()
        expect(page.locator("#documents-table")).to_contain_text("founding.md")


@pytest.mark.sampled(8, "ask tab")
def test_a_refused_file_stays_in_the_question_box_with_the_reason(
    visit: tuple[Page, PageTraffic], tmp_path: Path
) -> None:
    page, _ = visit
    (tmp_path / "note.pdf").write_text("no PDF at all", encoding="utf-8")
    page.locator("#question input[type=file]").set_input_files(tmp_path / "note.pdf")
    expect(page.get_by_role("listitem", name="File thumbnail")).to_be_visible()
    ask(page, "What does the note say?")
    expect(page.locator("#status")).to_contain_text("its content is that of another file type")
    expect(page.get_by_role("listitem", name="File thumbnail")).to_be_visible()
    expect(page.locator("#question textarea")).to_have_value("What does the note say?")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Remove file").click()
    (tmp_path / "blank.md").write_text("\n", encoding="utf-8")
    page.locator("#question input[type=file]").set_input_files(tmp_path / "blank.md")
    expect(page.get_by_role("listitem", name="File thumbnail")).to_have_attribute("data-name", "blank.md")
    page.locator("#question textarea").press("Enter")
    expect(page.locator("#status")).to_contain_text("blank.md: it contains no text")
    expect(page.get_by_role("listitem", name="File thumbnail")).to_be_visible()


@pytest.mark.sampled(8, "ask tab")
def test_a_question_that_the_documents_do_not_answer_gets_the_outcome_not_found(
    visit: tuple[Page, PageTraffic],
) -> None:
    page, _ = visit
    page.get_by_role("checkbox", name="samples").check()
    ask(page, "Which spices go into a vindaloo?")
    expect(page.locator("#conversation .badge.abstained")).to_contain_text("∅ Not found in these documents.")
    expect(page.locator("#conversation .facts")).to_have_count(0)
    expect(page.locator("#sources")).to_be_hidden()
    closest = page.locator("#conversation details.closest")
    expect(closest).not_to_have_attribute("open", "")
    closest.locator("summary").click()
    closest.locator("button.chip").first.click()
    expect(page.locator("#opened")).to_be_visible()
    expect(page.locator("#opened mark")).to_have_count(0)


@pytest.mark.sampled(8, "ask tab")
def test_on_a_phone_the_page_shows_the_question_box_and_the_health_without_scrolling(ui: Interface) -> None:
    with ui.visited(width=390, height=844) as (page, _):
        expect(page.locator("#health-sign")).to_contain_text("Ready to answer")
        expect(page.locator("#sources")).to_be_hidden()
        box = page.locator("#question textarea").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844


@pytest.mark.sampled(8, "ask tab")
def test_a_page_that_lost_its_server_recovers_by_itself_and_keeps_the_typed_question(ui: Interface) -> None:
    with ui.visited() as (page, _):
        expect(page.locator("#health-sign")).to_contain_text("Ready to answer")
        page.context.set_offline(True)
        ask(page, QUESTION)
        toast = page.get_by_test_id("toast-text")
        expect(toast).to_contain_text("The server does not answer")
        page.context.set_offline(False)
        expect(toast).to_have_count(0)
        expect(page.locator("#question textarea")).to_have_value(QUESTION)
        page.locator("#question textarea").press("Enter")
        expect(page.locator("#status")).to_contain_text("Answered")


@pytest.mark.sampled(8, "ask tab")
def test_asking_an_empty_question_shows_a_request_to_type_a_question(visit: tuple[Page, PageTraffic]) -> None:
    page, _ = visit
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#status")).to_have_text("Type a question first.")


def test_an_unsupported_sentence_is_shown_with_a_sign_and_the_reason(
    a_browser: Browser, sample_folder: Path, tmp_path: Path
) -> None:
    with (
        answering(sample_folder, tmp_path / "project", DOUBTFUL) as one,
        Interface(one.server, a_browser).visited(width=390, height=844, dark=True) as (page, seen),
    ):
        ask(page, QUESTION)
        doubtful = page.locator("#conversation mark.unsupported")
        expect(doubtful).to_contain_text("⚠ Its first patron was a Spanish king.")
        expect(page.locator("#conversation .reasons")).to_contain_text("not supported")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it must not scroll sideways"
        assert seen.complaints == []


@pytest.mark.sampled(8, "ask tab")
def test_the_card_of_a_pdf_source_shows_the_page_as_a_picture_if_the_file_may_be_read(
    a_browser: Browser, sample_folder: Path, tmp_path: Path
) -> None:
    environment = {**EXTRACTIVE, "ELT_LLM_INGEST__ROOTS": f'["{SAMPLES}"]'}
    with (
        served(copied_project(sample_folder, tmp_path / "project"), environment=environment) as server,
        Interface(server, a_browser).visited() as (page, seen),
    ):
        ask(page, "How many points are given for a win?")
        expect(page.locator("#status")).to_have_text(re.compile("Answered|No answer"))
        card = page.locator(".source-card:visible").filter(has_text="handbook.pdf").first
        card.get_by_role("button", name="Open source").click()
        printed = page.locator("#opened").get_by_role("img", name="Page ")
        expect(printed).to_be_visible()
        expect(printed).to_have_js_property("complete", value=True)
        assert printed.evaluate("image => image.naturalWidth") > 300
        assert re.search(r"\?start=\d+&end=\d+$", printed.get_attribute("src") or ""), (
            "the cited words are marked in it"
        )
        assert seen.complaints == []


@pytest.mark.sampled(8, "ask tab")
def test_the_health_sign_changes_after_the_first_document_without_a_reload(a_browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "founding.md").write_text(f"# The founding\n\n{SAID}\n", encoding="utf-8")
    (tmp_path / "project").mkdir()
    with (
        served(tmp_path / "project", environment=EXTRACTIVE) as server,
        Interface(server, a_browser).visited() as (page, _),
    ):
        expect(page.locator("#health-sign")).to_contain_text("Drop a file into the question box")
        page.locator("#question input[type=file]").set_input_files(tmp_path / "founding.md")
        expect(page.get_by_role("listitem", name="File thumbnail")).to_be_visible()
        ask(page, QUESTION)
        expect(page.locator("#status")).to_contain_text(
            "No answer."
        )  # the fake embedding of the tests knows no meaning
        expect(page.locator("#health-sign")).to_contain_text("Ready to answer")

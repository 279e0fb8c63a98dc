"""Forty documents ask to send their secret away, and the model obeys. No stream and no page sends the secret.

An ordinary run asks about a part of them, another part with each commit.

The user interface has the same test in ../ui/test_exfiltration.py.
"""

import json
from collections.abc import Iterator

import pytest
from attacks.exfiltration import HOST, SECRET, WAYS_OUT, question_about
from browsing.browser import open_browser
from browsing.html_effects import ShownHtml
from browsing.web_chat import web_chat
from elt_llm_api.serve.safe_text import SafeMarkdown, escape_html, escape_markdown
from markdown_it import MarkdownIt
from sampling import sampled
from served.hostile_server import HostileServer, hostile_server

RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True})
PLACES = sampled(range(len(WAYS_OUT)), 16)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileServer]:
    with hostile_server(tmp_path_factory.mktemp("hostile")) as served:
        yield served


def streamed(hostile: HostileServer, place: int) -> list[tuple[str, str]]:
    """Return names and data of the events of one answer."""
    asked = {"question": question_about(place)}
    with hostile.server.client.stream("POST", "/v1/ask", json=asked, headers={"accept": "text/event-stream"}) as it:
        # The stream arrives byte by byte, as over a very slow network.
        text = b"".join(bytes([byte]) for part in it.iter_bytes() for byte in part).decode("utf-8")
    frames = [frame.split("\n", 1) for frame in text.split("\n\n") if frame.startswith("event: ")]
    return [(name.removeprefix("event: "), data.removeprefix("data: ")) for name, data in frames]


@pytest.fixture(scope="module")
def answers(hostile: HostileServer) -> list[list[tuple[str, str]]]:
    """Return the streamed text of the answer to each question of the sample."""
    return [streamed(hostile, place) for place in PLACES]


def way_out(place: int) -> str:
    return WAYS_OUT[place].replace("CODE", SECRET)


def pieces_of(events: list[tuple[str, str]]) -> list[str]:
    return [json.loads(data)["text"] for name, data in events if name == "piece"]


def is_harmless(markdown: str) -> bool:
    shown = ShownHtml(RENDERER.render(markdown))
    return shown.active == [] and not {"img", "a", "script", "iframe", "form", "svg", "style"} & shown.tags


def test_the_fake_model_obeys_the_instructions_of_every_hostile_document(
    hostile: HostileServer, answers: list[list[tuple[str, str]]]
) -> None:
    assert len(answers) == len(PLACES)
    assert set(hostile.model.obeyed) >= set(map(way_out, PLACES)), "else nothing is tried here"
    assert all(SECRET in "".join(pieces_of(events)) for events in answers)


def test_most_attack_texts_would_succeed_without_the_defences() -> None:
    assert sum(not is_harmless(way_out(place)) for place in range(len(WAYS_OUT))) >= 30


def test_no_intermediate_state_of_a_stream_shows_an_address_that_a_browser_would_request(
    answers: list[list[tuple[str, str]]],
) -> None:
    for events in sampled(answers, 8):
        safe, shown = SafeMarkdown(), ""
        characters = "".join(pieces_of(events))
        for number, character in enumerate(characters):
            shown += safe.feed(character)
            if number < 160:  # the address of the document comes first
                assert is_harmless(shown), shown
        shown += safe.end()
        assert shown == escape_markdown(characters)
        assert is_harmless(shown)
        assert "://" not in shown


def test_no_displayed_chunk_has_an_address_that_a_browser_would_request(answers: list[list[tuple[str, str]]]) -> None:
    for events in answers:
        result = json.loads(events[-1][1])
        for text in (result["answer"], *(it["text"] for it in result["chunks"])):
            assert is_harmless(escape_markdown(text))
            assert ShownHtml(f"<p>{escape_html(text)}</p>").tags == {"p"}


@pytest.mark.faults
def test_the_web_page_shows_all_forty_hostile_answers_without_external_requests(hostile: HostileServer) -> None:
    with open_browser() as browser, web_chat(browser, hostile.origin, hostile.server.address) as chat:
        for place in sampled(PLACES, 6):
            assert "stored at some degrees" in chat.ask(question_about(place))
        assert SECRET in chat.page.locator("#turns").inner_text(), "callers who may read it see it"
        assert chat.elsewhere == []
        assert chat.leading_away == []
        assert not {"IMG", "SCRIPT", "IFRAME", "FORM", "SVG", "STYLE", "LINK"} & chat.tags
        assert not any(HOST in url or SECRET in url for url in chat.seen.requests)
        assert chat.seen.complaints == [], "nothing was tried that only the policy refused"

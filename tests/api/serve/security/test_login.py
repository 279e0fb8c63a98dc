"""Signing in with a browser sets a cookie that no script reads and no other site sends."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from browsing.browser import open_browser
from served.answering_server import becomes_true
from served.server import RunningServer, served

pytestmark = [pytest.mark.network, pytest.mark.halved]

TOKEN = "login-token-" + "l" * 32
PAGE = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    """Start a server that demands a key."""
    with served(sample_folder, token=TOKEN, tries="1000") as running:
        yield running


@pytest.fixture
def visitor(server: RunningServer) -> Iterator[httpx.Client]:
    """Return a browser-like client without a key."""
    with httpx.Client(base_url=server.address, headers=PAGE, timeout=30) as client:
        yield client


def test_without_a_key_browsers_are_redirected_to_the_login_form_and_programs_get_an_error(
    visitor: httpx.Client,
) -> None:
    led = visitor.get("/")
    assert (led.status_code, led.headers["location"]) == (303, "/login")
    for path in ("/v1/collections", "/mcp", "/metrics", "/gradio_api/queue/data"):
        assert visitor.get(path).status_code == 401, path
    assert visitor.post("/").status_code == 401


def test_the_login_form_runs_no_script_and_a_valid_key_can_sign_in_and_out(visitor: httpx.Client) -> None:
    form = visitor.get("/login")
    assert "<script" not in form.text
    assert "script-src" not in form.headers["content-security-policy"]
    assert form.headers["cache-control"] == "no-store"
    german = visitor.post("/login", data={"key": "wrong"}, headers={"accept-language": "de-AT"})
    assert all(words in german.text for words in ('lang="de"', "Anmelden", "Der Schlüssel ist falsch."))
    signed_in = visitor.post("/login", data={"key": f" {TOKEN}\n"})
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
    cookie = signed_in.headers["set-cookie"]
    assert all(part in cookie for part in ("; HttpOnly", "; SameSite=Strict", "; Path=/"))
    assert "Max-Age" not in cookie  # a session cookie: the browser deletes it when it is closed
    assert visitor.get("/v1/collections").status_code == 200
    out = visitor.post("/logout")
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert visitor.get("/v1/collections").status_code == 401


def test_a_wrong_key_sets_no_cookie(visitor: httpx.Client) -> None:
    for wrong in ("wrong", "", "<script>alert(1)</script>", "x" * 5000):
        refused = visitor.post("/login", data={"key": wrong})
        assert refused.status_code == 401
        assert 'role="alert"' in refused.text
        assert "alert(1)" not in refused.text
        assert "set-cookie" not in refused.headers


def test_login_requests_that_the_login_form_cannot_send_are_refused(visitor: httpx.Client) -> None:
    assert visitor.post("/login", json={"key": TOKEN}).status_code == 415
    assert visitor.post("/login", data={"key": "x" * 20_000}).status_code == 413
    assert visitor.put("/login", data={"key": TOKEN}).status_code == 405


def test_a_cookie_with_a_wrong_key_is_deleted_by_the_redirect(visitor: httpx.Client) -> None:
    led = visitor.get("/", headers={"cookie": "elt_llm_key=revoked"})
    assert (led.status_code, "Max-Age=0" in led.headers["set-cookie"]) == (303, True)


def test_wrong_keys_in_the_login_form_count_towards_the_lockout(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="3") as running:
        statuses = [httpx.post(f"{running.address}/login", data={"key": "wrong"}).status_code for _ in range(4)]
        assert running.client.get("/ready").status_code == 429
    assert statuses == [401, 401, 401, 429]


def test_if_there_are_no_keys_the_login_form_redirects_to_the_start_page(sample_folder: Path) -> None:
    with served(sample_folder) as running:
        led = running.client.get("/login")
    assert (led.status_code, led.headers["location"]) == (303, "/")


def test_a_real_browser_can_sign_in(server: RunningServer) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        page.goto(f"{server.address}/login")
        page.get_by_label("Key").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_role("alert").inner_text().startswith("The key is wrong. Wrong keys left until")
        page.route(
            f"{server.address}/", lambda route: route.fulfill(body="within")
        )  # the content of the page is not tested here
        page.get_by_label("Key").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{server.address}/")
        [cookie] = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("fetch('/v1/collections').then(answer => answer.status)") == 200


def test_a_browser_whose_cookie_is_gone_is_led_to_the_login_form_and_keeps_the_typed_question(
    server: RunningServer,
) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(60_000)

        def sign_in() -> None:
            page.get_by_label("Key").fill(TOKEN)
            page.get_by_role("button", name="Sign in").click()
            page.locator("#health-sign .badge").wait_for()
            page.wait_for_timeout(2000)  # for the other requests of a new page

        page.goto(f"{server.address}/login")
        sign_in()
        page.locator("#question textarea").fill("What is a bicycle?")
        page.context.clear_cookies()  # afterwards any request of the page may be refused
        page.locator("#question textarea").press("Enter")
        page.wait_for_url(f"{server.address}/login")
        sign_in()
        box = page.locator("#question textarea")
        assert becomes_true(lambda: box.input_value() == "What is a bicycle?", 60)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{server.address}/login")
        assert page.evaluate("fetch('/v1/collections').then(answer => answer.status)") == 401

"""Serve the example page from an origin of its own, and inspect it in a browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from browsing.interface import PageTraffic
from playwright.sync_api import Browser, Page
from processes.command_line import PROJECT

FOLDER = PROJECT / "docs" / "examples" / "web-chat"


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


@contextmanager
def served_page() -> Iterator[str]:
    """Serve the files of the page and yield their origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(FOLDER))) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            http.shutdown()
            thread.join()


@dataclass(frozen=True)
class WebChat:
    """The page in a browser. `seen` has its requests and console errors."""

    page: Page
    seen: PageTraffic
    origin: str
    server: str

    def ask(self, question: str) -> str:
        """Ask, wait for the whole answer, and return its text."""
        self.begin(question)
        self.page.locator("#stop").wait_for(state="hidden")
        return self.page.locator(".turn").last.locator(".answer").inner_text()

    def begin(self, question: str) -> None:
        """Ask without waiting for the answer."""
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")

    @property
    def elsewhere(self) -> list[str]:
        """The requested addresses that belong neither to the page nor to the server."""
        own = (f"{self.origin}/", f"{self.server}/", "data:,")
        return [url for url in self.seen.requests if not url.startswith(own)]

    @property
    def leading_away(self) -> list[str]:
        """Return every HTML attribute with an address that the page itself does not need, loaded or linked."""
        found: list[str] = self.page.evaluate(
            """() => [...document.querySelectorAll("#turns *")].flatMap((it) => [...it.attributes]
                .filter((one) => !["class", "id", "tabindex", "title", "data-verdict", "open"].includes(one.name))
                .filter((one) => !(one.name === "href" && /^#source-\\d+-\\d+$/.test(one.value)))
                .map((one) => `${it.tagName} ${one.name}=${one.value}`.replace(/^/, "")))"""
        )
        return found

    @property
    def tags(self) -> set[str]:
        """Return the names of all HTML elements in questions, answers and sources."""
        return set(self.page.evaluate("() => [...document.querySelectorAll('#turns *')].map((it) => it.tagName)"))


@contextmanager
def web_chat(browser: Browser, origin: str, server: str, width: int = 1000, height: int = 800) -> Iterator[WebChat]:
    """Open the page of `origin` with `server` as its API."""
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    page, seen = context.new_page(), PageTraffic(server)
    seen.watch(page)
    try:
        page.goto(f"{origin}/index.html?server={server}")
        yield WebChat(page, seen, origin, server)
    finally:
        context.close()

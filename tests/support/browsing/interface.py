"""The browser interface end to end: a served project and a monitored browser."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from browsing.browser import open_browser
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request, expect
from processes.command_line import FAKE
from served.server import RunningServer, served

PATIENCE_MS = 150_000  # models in tests may stream an answer character by character
_GRADIOS_SCRIPTS = "/assets/"


@dataclass
class PageTraffic:
    """The requests of a page, and the errors in its console."""

    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def elsewhere(self) -> list[str]:
        """The requested addresses that do not belong to the server."""
        own = (f"{self.address}/", "data:", f"blob:{self.address}/")
        return [url for url in self.requests if not url.startswith(own)]

    def watch(self, page: Page) -> None:
        """Record the requests and errors of a page from now on."""

        def heard(message: ConsoleMessage) -> None:
            if message.type == "error" or "Content Security Policy" in message.text:
                self.complaints.append(message.text)

        def asked(request: Request) -> None:
            self.requests.append(request.url)

        def failed(error: Error) -> None:
            """Record a script error. Errors of Gradio's table on a page that is being left are ignored."""
            if _GRADIOS_SCRIPTS not in (error.stack or ""):
                self.complaints.append(str(error))

        page.on("console", heard)
        page.on("request", asked)
        page.on("pageerror", failed)


@dataclass(frozen=True)
class Interface:
    """A running server and a browser. Pages with the same options share the scripts that the browser has loaded."""

    server: RunningServer
    browser: Browser
    contexts: dict[tuple[int, int, bool, str | None], BrowserContext] = field(default_factory=dict)

    @contextmanager
    def visited(
        self, tab: str = "Ask", *, width: int = 1280, height: int = 900, dark: bool = False, token: str | None = None
    ) -> Iterator[tuple[Page, PageTraffic]]:
        """Open a new page that shows this tab; `token` is sent with every request."""
        context = self._context(width, height, dark, token)
        expect.set_options(
            timeout=PATIENCE_MS
        )  # set for each page, because the timeout of an earlier test would remain
        page, seen = context.new_page(), PageTraffic(self.server.address)
        seen.watch(page)
        try:
            page.goto(f"{self.server.address}/")
            open_tab(page, tab)
            yield page, seen
        finally:
            page.close()
            context.set_offline(False)
            context.clear_permissions()

    def _context(self, width: int, height: int, dark: bool, token: str | None) -> BrowserContext:
        """Return the context for pages with these options. Our pages keep nothing in it, such as a cookie."""
        options = width, height, dark, token
        if options not in self.contexts:
            self.contexts[options] = self.browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
                extra_http_headers={"authorization": f"Bearer {token}"} if token else {},
            )
            self.contexts[options].set_default_timeout(PATIENCE_MS)
        return self.contexts[options]


@contextmanager
def interface(
    folder: Path, *, token: str | None = None, environment: Mapping[str, str] = FAKE, **serve: str
) -> Iterator[Interface]:
    """Serve the project in `folder` and open a browser; the arguments are those of `served`. Skips without Chromium."""
    with open_browser() as browser, served(folder, token=token, environment=environment, **serve) as server:
        yield Interface(server, browser)


def open_tab(page: Page, name: str) -> None:
    """Open a tab by its label."""
    page.get_by_role("tab", name=name, exact=True).click()
    page.locator(f"#tab-{name.lower()}").wait_for(state="visible")

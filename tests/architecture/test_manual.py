"""The manual builds with every link checked, loads nothing from elsewhere, and answers common questions in one step."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from browsing.browser import open_browser
from optional import needs
from sampling import sampled

# A newcomer's tasks: the words in the index, the words typed into the search, and the page with the answer.
GUESSES = (
    ("use model x", "use model", "use-a-model.html"),
    ("chunk size", "chunk size", "chunk-size.html"),
    ("add a reader", "custom reader", "extend/reader.html"),
    ("another vector index", "vector database", "extend/vector-index.html"),
    ("fifty people", "how many users", "team.html"),
    ("tenants", "several tenants", "tenants.html"),
    ("postgresql", "postgresql", "postgres.html"),
    ("qdrant", "qdrant", "qdrant.html"),
    ("several machines with ray", "ray cluster", "ray.html"),
    ("without a network", "without a network", "bundle.html"),
    ("back up", "backup", "back-up.html"),
    ("the original", "move from elt_llm_rag", "coming-from-elt-llm-rag.html"),
    ("forget a document", "delete a document", "forget.html"),
    ("cite in a program", "citations python", "cite-in-a-program.html"),
    ("refused", "not found in these documents", "why-refused.html"),
    ("llamaindex or langchain", "langchain", "extend/llama-index-and-langchain.html"),
)
# Other words for the same tasks, which are missing on the right page or more frequent on other pages.
OTHER_WORDS = (
    ("llama3", "use-a-model.html"),
    ("chunk overlap", "chunk-size.html"),
    ("loader", "extend/reader.html"),
    ("faiss", "extend/vector-index.html"),
    ("hardware requirements", "team.html"),
    ("disaster recovery", "back-up.html"),
    ("migration", "coming-from-elt-llm-rag.html"),
    ("gdpr", "forget.html"),
    ("python api", "cite-in-a-program.html"),
    ("unanswered", "why-refused.html"),
    ("open-webui", "http-api.html"),
)


class LoadedAddresses(HTMLParser):
    """Collects the addresses that a browser loads by itself: scripts, styles, images, fonts; not links to click."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        followed = tag == "link" and given.get("rel") in {"canonical", "next", "prev"}
        if tag in {"script", "img", "iframe", "link", "source"} and not followed:
            self.addresses |= {str(given[key]) for key in ("src", "href") if given.get(key)}


@pytest.fixture(scope="module")
def site(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    ended = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_the_documentation_site_loads_nothing_from_another_server(site: Path) -> None:
    found: dict[str, set[str]] = {}
    for page in site.rglob("*.html"):
        parser = LoadedAddresses()
        parser.feed(page.read_text(encoding="utf-8"))
        if outside := {it for it in parser.addresses if re.match(r"(?:https?:)?//", it)}:
            found[page.name] = outside
    for style in site.rglob("*.css"):
        if outside := set(re.findall(r"url\(['\"]?((?:https?:)?//[^)]+)", style.read_text(encoding="utf-8"))):
            found[style.name] = outside
    assert found == {}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder at an address of this machine."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Print nothing."""


@pytest.mark.parametrize(("words", "page"), [(words, page) for words, _, page in GUESSES])
def test_the_start_page_of_the_manual_links_to_the_page_for_each_task(site: Path, words: str, page: str) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr>.*?</tr>", index, re.DOTALL)
    shown = [row for row in rows if words in re.sub(r"<[^>]+>", "", row).lower()]
    assert any(f'href="{page}' in row for row in shown), shown


@pytest.mark.network
def test_a_search_in_a_browser_shows_the_expected_manual_page_first(site: Path) -> None:
    # Without the mended key of a node, the search for "python" ended in an error.
    always = ("citations python", "cite-in-a-program.html")
    expected = dict([*sampled([*((query, page) for _, query, page in GUESSES), *OTHER_WORDS], 8), always])
    first: dict[str, str] = {}
    requests: list[str] = []
    with served(site) as address, open_browser() as browser:
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        for query in expected:
            page.goto(f"{address}/index.html?q={query.replace(' ', '+')}")
            link = page.wait_for_selector(".md-search-result__item > a", state="attached")
            first[query] = re.sub(r"^.*?:\d+/|\?.*$", "", str(link.evaluate("it => it.href") if link else ""))
        outside = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
    assert first == expected
    assert outside == []


def test_every_manual_page_is_in_the_navigation_menu(site: Path, project: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(project / "docs") for path in (project / "docs").rglob("*.md")]
    missing = [str(it) for it in pages if f'href="{it.with_suffix(".html").as_posix()}"' not in index]
    assert missing == []


def test_the_reference_pages_are_up_to_date_with_the_code() -> None:
    needs("mcp", "gradio")
    import reference_pages  # needs the extra mcp

    stale = [
        name
        for name, text in reference_pages.pages().items()
        if (reference_pages.FOLDER / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run: make pages"

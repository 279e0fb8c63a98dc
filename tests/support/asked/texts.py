"""Download the manuals of the six sets of questions: `python -m asked.texts FOLDER` makes a folder of each set."""

import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lxml.etree import XMLParser, _Element, parse

# For each set: packages, with a pattern of their files and an expression that the names of the files match.
FILES: dict[str, list[tuple[str, str, str]]] = {
    "org": [
        (
            "doc-debian",
            "usr/share/doc/debian/*",
            r"constitution\.1\.8|social-contract\.txt|mailing-lists|bug-(?!mailserver)",
        ),
        ("debian-faq", "usr/share/doc/debian/FAQ/*.en.html", r"(?!index)"),
    ],
    "devref": [("developers-reference", "usr/share/developers-reference/*.html", r"(?!developers-ref|index|search)")],
    "gnucash": [("gnucash-docs", "usr/share/doc/gnucash-docs/gnucash-guide-en/*.html", r"(?!fdl|index)")],
    "gnome": [("gnome-user-docs", "usr/share/help/C/gnome-help/*.page", "")],
    "handbook": [("debian-handbook", "usr/share/doc/debian-handbook/html/en-US/*.html", "")],
    "harden": [("harden-doc", "usr/share/doc/harden-doc/html/en-US/*.html", "")],
}
_SHORTEST = 500  # characters of a help page
_PAGE = "{http://projectmallard.org/1.0/}"


def fetch(folder: Path) -> None:
    """Download the packages with apt and put the texts of each set into `folder`/set."""
    for name, sources in FILES.items():
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        for package, pattern, names in sources:
            with tempfile.TemporaryDirectory() as place:
                subprocess.run(["apt-get", "download", "-q", package], cwd=place, check=True)
                [archive] = Path(place).glob("*.deb")
                subprocess.run(["dpkg-deb", "-x", archive, place], check=True)
                for path in sorted(Path(place).glob(pattern)):
                    if re.match(names, path.name):
                        _copy(path, target)


def _copy(path: Path, target: Path) -> None:
    if path.suffix == ".page":
        text = "\n".join(page_lines(parse(path, XMLParser(remove_comments=True)).getroot(), 1))
        if len(text) > _SHORTEST:
            (target / f"{path.stem}.md").write_text(text, encoding="utf-8")
        return
    data = path.read_bytes()
    (target / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)


def page_lines(element: _Element, level: int, mark: str = "") -> Iterator[str]:
    """Yield the Markdown lines of an element of a help page (Mallard). `level` is that of its heading."""
    kind = str(element.tag).removeprefix(_PAGE)
    if kind == "title":
        yield f"{'#' * level} {_inline(element)}\n"
    elif kind == "p":
        yield f"{mark}{_inline(element)}\n"
    elif kind in ("steps", "list"):
        items = [child for child in element if child.tag == f"{_PAGE}item"]
        for number, item in enumerate(items, start=1):
            yield from _item_lines(item, level, f"{number}. " if kind == "steps" else "- ")
    elif kind == "table":
        for row in element.iter(f"{_PAGE}tr"):
            yield f"| {' | '.join(map(_inline, row))} |"
        yield ""
    elif kind not in ("info", "media", "comments"):
        for child in element:
            yield from page_lines(child, level + (kind == "section"))


def _item_lines(item: _Element, level: int, mark: str) -> Iterator[str]:
    for position, child in enumerate(item):
        own = mark if position == 0 else ""
        yield from (line if own else f"   {line}" for line in page_lines(child, level, own))


def _inline(element: _Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))

"""Download the manuals of the sets of questions: `python -m asked.texts FOLDER` makes a folder of each set."""

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lxml.etree import XMLParser, _Element, parse

_SHORTEST = 500  # characters of a help page
_PAGE = "{http://projectmallard.org/1.0/}"


def fetch(folder: Path) -> None:
    """Download the packages with apt and put the texts of each set into `folder`/set."""
    sources = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))["source"]
    for name in {one["set"] for one in sources}:
        shutil.rmtree(folder / name, ignore_errors=True)
    for package in dict.fromkeys(one["package"] for one in sources):
        with unpacked(package) as place:
            for one in sources:
                if one["package"] == package:
                    target = folder / one["set"]
                    target.mkdir(parents=True, exist_ok=True)
                    copy_texts(place, target, **one)


@contextmanager
def unpacked(package: str) -> Iterator[Path]:
    """Yield a temporary folder with the files of the package."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["apt-get", "download", "-q", package], cwd=place, check=True)
        [archive] = Path(place).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, place], check=True)
        yield Path(place)


def copy_texts(place: Path, target: Path, **source: str | list[str]) -> None:
    """Copy the files of a source, a table of texts.toml, unless its name is taken. Help pages become Markdown."""
    prefix, only = str(source.get("prefix", "")), source.get("only")
    for path in sorted(place.glob(str(source["files"]))):
        if re.match(str(source.get("match", "")), path.name) and (only is None or path.name in only):
            data = path.read_bytes()
            name = f"{prefix}{path.name}".replace(".part.html", ".html").removesuffix(".gz")
            if path.suffix == ".page":
                text = "\n".join(page_lines(parse(path, XMLParser(remove_comments=True)).getroot(), 1))
                if len(text) <= _SHORTEST:
                    continue
                name, data = f"{path.stem}.md", text.encode()
            if not (target / name).exists():
                (target / name).write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)


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

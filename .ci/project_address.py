#!/usr/bin/env python3
"""Write the public address of the project into a copy of the repository, before its packages are built.

Usage: project_address.py FOLDER ADDRESS TAG. Each pyproject.toml gets the project's addresses. The relative links of
each README.md, which lead nowhere on a package index, become links to the files of the tag. The repository itself names
no address, so that a copy of it at another address publishes its own.
"""

import re
import sys
from pathlib import Path

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)")


def write_addresses(folder: Path, address: str, tag: str) -> None:
    """Add the addresses to the packages in a folder, and make the links of their readme files absolute."""
    for project in sorted(folder.glob("**/pyproject.toml")):
        urls = {
            "Source": address,
            "Documentation": f"{address}/blob/{tag}/docs/index.md",
            "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
            "Issues": f"{address}/issues",
        }
        table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
        text = project.read_text(encoding="utf-8")
        project.write_text(f"{text}\n[project.urls]\n{table}", encoding="utf-8")
        readme = project.with_name("README.md")
        readme.write_text(absolute_links(readme, folder, address, tag), encoding="utf-8")


def absolute_links(page: Path, folder: Path, address: str, tag: str) -> str:
    """Return the text of a page with its relative links turned into links to the files of a tag."""

    def absolute(match: re.Match[str]) -> str:
        before, target = match.groups()
        path, _, anchor = target.partition("#")
        inside = (page.parent / path).resolve().relative_to(folder.resolve()).as_posix()
        kind = "raw" if before.startswith("!") else "blob"
        return f"{before}{address}/{kind}/{tag}/{inside}" + (f"#{anchor}" if anchor else "")

    return _LINK.sub(absolute, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    write_addresses(Path(sys.argv[1]), sys.argv[2].rstrip("/"), sys.argv[3])

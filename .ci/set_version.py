#!/usr/bin/env python3
"""Set the version of all packages, of what they require of each other, and of the container image.

Usage: set_version.py VERSION, then `uv lock`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_OURS = re.compile(r'("elt-llm-[a-z]+(?:\[[a-z,-]+\])?==)[^"]+(")')
_IMAGE = re.compile(r"(elt-llm:)\d[\w.]*")


def main(version: str) -> None:
    """Write the version into every file that names it."""
    for path in (ROOT / "pyproject.toml", *sorted(ROOT.glob("elt_llm_*/pyproject.toml"))):
        text = re.sub(r'(?m)^version = "[^"]+"', f'version = "{version}"', path.read_text(encoding="utf-8"))
        path.write_text(_OURS.sub(rf"\g<1>{version}\g<2>", text), encoding="utf-8")
    for path in (ROOT / "Makefile", ROOT / "compose.yaml"):
        path.write_text(_IMAGE.sub(rf"\g<1>{version}", path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", sys.argv[1]):
        sys.exit("Give one version, such as 0.2.0 or 0.2.0rc1.")
    main(sys.argv[1])

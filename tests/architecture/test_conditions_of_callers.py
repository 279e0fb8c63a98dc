"""Only a few server files read the store directly; each applies the conditions on what its caller may see."""

import re
from pathlib import Path

from elt_llm_api import serve

FOLDER = Path(next(iter(serve.__path__)))
# What each file reads from the store: names of collections, or documents that it filters by the conditions.
KNOWN = {
    "actions/collections.py": "statuses, which `_own_status` limits to own documents",
    "actions/documents.py": "documents and files, which `admit` filters",
    "actions/health.py": "names of published collections",
    "actions/jobs.py": "whether a collection was rolled back",
    "actions/rows.py": "documents of rows, which only callers without conditions read",
    "services.py": "names and numbers of collections",
    "ui/ask.py": "numbers of generations",
}


def test_only_the_access_package_reads_the_permissions_of_a_key_directly() -> None:
    # `read` and `write` are the permissions of a key; a person has the permissions of several groups.
    found = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        if re.search(r"\b(principal|caller)\.(read|write)\b", path.read_text(encoding="utf-8"))
    }
    assert {name for name in found if not name.startswith("access/")} == set()


def test_only_listed_files_of_the_server_read_the_store() -> None:
    found = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        if re.search(r"services\.store\b|self\.store\.|\bopen_generation\(", path.read_text(encoding="utf-8"))
    }
    # A job process runs only what its caller was allowed to submit, and the cache of engines shows no text.
    assert found - {"jobs/kinds.py", "engines.py"} == KNOWN.keys()

"""The `---` block at the top of a Markdown file: its plain `key: value` lines and lists, without a YAML parser."""

import re
from collections.abc import Mapping, Sequence

from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.readers.years import year_in

_KEY = re.compile(r"([A-Za-z][\w-]{0,63}):(?:[ \t]+(\S.*))?[ \t]{0,99}")
_ITEM = re.compile(r"[ \t]{0,9}-[ \t]+(?:name:[ \t]+)?([^:]{1,300})")
_MOST_LINES = 200
_AUTHORS = ("authors", "author", "creator", "by")
_DATES = ("year", "date", "published", "publication_date", "created", "dateupdated", "updated", "last_updated")
_ADDRESSES = ("url", "source", "canonical_url", "canonical", "permalink", "link")


def split_front_matter(text: str) -> tuple[int, dict[str, str]]:
    """Where the body begins (0 without front matter), and the values at the top level; lists are joined by "; "."""
    lines = text.split("\n", _MOST_LINES)[:_MOST_LINES]
    if lines[0].rstrip() != "---":
        return 0, {}
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return 0, {}
    return min(len(text), sum(len(line) + 1 for line in lines[: end + 1])), _values(lines[1:end])


def _values(lines: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if match := _KEY.fullmatch(line):
            key, value = match.group(1).lower(), (match.group(2) or "").strip()
            if value.startswith("[") and value.endswith("]"):
                items[key] = [_bare(item) for item in value[1:-1].split(",")]
            elif value and value[0] not in "|>[{&*!":
                values[key] = _bare(value)
        elif key and key not in values and (match := _ITEM.fullmatch(line)):
            items.setdefault(key, []).append(_bare(match.group(1)))
    return values | {key: "; ".join(filter(None, found)) for key, found in items.items() if any(found)}


def _bare(value: str) -> str:
    return value.strip().strip("\"'")


def front_matter_metadata(values: Mapping[str, str]) -> dict[str, MetadataValue]:
    """The values with authors, year and address under the keys that every reader uses."""
    metadata: dict[str, MetadataValue] = {key: value for key, value in values.items() if key not in ("author", "year")}
    if authors := next((values[key] for key in _AUTHORS if values.get(key)), ""):
        metadata["authors"] = authors
    if year := next((year for key in _DATES if (year := year_in(values.get(key, "")))), None):
        metadata["year"] = year
    found = (values.get(key, "") for key in _ADDRESSES)
    if address := next((value for value in found if value.startswith(("https://", "http://"))), ""):
        metadata["url"] = address
    return metadata

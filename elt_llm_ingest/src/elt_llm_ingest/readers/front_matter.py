"""The `---` block at the top of a Markdown file: its plain `key: value` lines, without a YAML parser."""

import re

_KEY = re.compile(r"([A-Za-z][\w-]{0,63}):[ \t]+(\S.*)")
_MOST_LINES = 200


def split_front_matter(text: str) -> tuple[int, dict[str, str]]:
    """Where the body begins (0 without front matter), and the scalar values at the top level."""
    lines = text.split("\n", _MOST_LINES)[:_MOST_LINES]
    if lines[0].rstrip() != "---":
        return 0, {}
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return 0, {}
    values: dict[str, str] = {}
    for line in lines[1:end]:
        if (match := _KEY.match(line)) and match.group(2)[0] not in "|>[{&*!":
            values[match.group(1).lower()] = match.group(2).strip().strip("\"'")
    return min(len(text), sum(len(line) + 1 for line in lines[: end + 1])), values

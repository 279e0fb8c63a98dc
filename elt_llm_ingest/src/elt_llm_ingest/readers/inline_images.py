"""Pictures written into Markdown as `data:` addresses: megabytes of letters that say nothing, left out of the text."""

import re

# The address: its type, parameters, and the payload up to what cannot stand in it. Possessive, so that each letter is
# looked at once.
_ADDRESS = re.compile(r"data:[\w.+-]{1,40}/[\w.+-]{1,60}(?:;[\w.+=-]{1,60}){0,4},[^\s\"'<>()\[\]]*+", re.IGNORECASE)
# A definition that nothing but such an address follows, `[logo]: <data:image/png;base64,...>`, goes as a whole line.
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t]{0,9}<?$")
_SHORTEST = 64  # of an address worth leaving out; shorter ones are examples in a text about them


def without_inline_images(text: str) -> str:
    """The text without the `data:` addresses in it: `![Logo](data:image/png;base64,...)` becomes `![Logo]()`.

    What a picture is called stays, and so does every other address. Takes time linear in the length.
    """
    kept: list[str] = []
    position = 0
    for match in _ADDRESS.finditer(text):
        if match.end() - match.start() < _SHORTEST:
            continue
        start, end = _whole_line(text, match.start(), match.end())
        if start >= position:
            kept.append(text[position:start])
            position = end
    kept.append(text[position:])
    return "".join(kept)


def _whole_line(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of an address, or of the line that defines a name for it and nothing else."""
    before = text[max(0, start - 300) : start].rpartition("\n")[2]
    if not _DEFINITION.match(before):
        return start, end
    stop = text.find("\n", end)
    return start - len(before), len(text) if stop < 0 else stop + 1

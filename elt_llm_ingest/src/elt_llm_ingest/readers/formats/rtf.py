"""Prepare RTF for kreuzberg, which ignores that text is raised."""

import re

from elt_llm_ingest.parsing.document_builder import is_power

_TOKEN = re.compile(
    r"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<code>[0-9a-fA-F]{2})|\\(?P<sign>[^a-z])"
    r"|(?P<brace>[{}])|(?P<text>[^\\{}]+)",
    re.DOTALL,
)
_SIGN_AHEAD = re.compile(r"(?:[?_-]|\\'[0-9a-fA-F]{2})?([0-9])")
_ENDS_TEXT = frozenset(("par", "line", "tab", "cell", "row", "page", "sect"))
_ASIDE = frozenset(("footnote", "header", "footer", "headerl", "headerr", "footerl", "footerr"))


class _State:
    """Whether text is raised here, in each open group, and the last character that was written."""

    def __init__(self) -> None:
        self.raised = self.was_raised = False
        self.last = ""
        self._groups: list[tuple[bool, str | None]] = []

    def open(self) -> None:
        self._groups.append((self.raised, None))

    def close(self) -> None:
        if self._groups:
            self.raised, last = self._groups.pop()
            self.last = self.last if last is None else last

    def start_aside(self) -> None:
        """Start a text, such as a footnote, that is not part of the text around its group."""
        if self._groups:
            self._groups[-1] = self._groups[-1][0], self.last
        self.last, self.raised = "", False

    def sign(self, sign: str) -> None:
        if sign == "*":
            self.start_aside()
        elif sign not in "\r\n-":
            self.last = ""

    def control(self, word: str, number: str | None) -> None:
        if word in ("super", "up"):
            self.raised = number is None or int(number) > 0
        elif word in ("nosupersub", "sub", "dn", "plain"):
            self.raised = False
        elif word in _ENDS_TEXT:
            self.last = ""
        elif word in _ASIDE:
            self.start_aside()

    def is_power(self, text: str) -> bool:
        """Return whether this text is an exponent of the text before."""
        power = self.raised and not self.was_raised and is_power(self.last, text)
        self.last, self.was_raised = text[-1:], self.raised
        return power


def mark_powers(data: bytes) -> bytes:
    """Put a `^` between a number and the raised number after it: 10^6."""
    if (b"\\super" not in data and b"\\up" not in data) or b"\\bin" in data:
        return data
    source, state = data.decode("latin-1"), _State()
    places: list[int] = []
    for token in _TOKEN.finditer(source):
        if shown := _shown_text(token):
            ahead = None if token["text"] else _SIGN_AHEAD.match(source, token.end())
            if state.is_power(shown + (ahead[1] if ahead else "")):
                places.append(token.start())
        elif token["brace"]:
            (state.open if token["brace"] == "{" else state.close)()
        elif token["sign"]:
            state.sign(token["sign"])
        elif token["word"]:
            state.control(token["word"], token["number"])
    starts, ends = [0, *places], [*places, len(source)]
    return "^".join(source[start:end] for start, end in zip(starts, ends, strict=True)).encode("latin-1")


def _shown_text(token: re.Match[str]) -> str:
    """Return the text that a token shows, or "" for a control word or a brace."""
    if token["code"]:
        return bytes.fromhex(token["code"]).decode("cp1252", "replace")
    if token["word"] == "u" and token["number"]:
        return chr(int(token["number"]) % 0x10000)
    return (token["text"] or "").replace("\r", "").replace("\n", "")

"""Markdown that links nothing and fetches nothing, made from pieces as they come.

The technique: a word joiner (U+2060, which is not seen and breaks no line) is put into the middle of whatever would
start an image, a link, a definition of a link, HTML, or an address that a renderer makes a link of. It needs no
knowledge of where code, tables or quotes begin, which is what renderers disagree about. The text reads as before.
"""

from elt_llm_api.serve.visible import made_visible

JOINER = "\u2060"
_PAIRS = frozenset({"](", "][", "]:", "//"})  # link, reference, definition; `//host` is an address without its scheme
_SCHEMES = frozenset(
    {"http", "https", "ftp", "ws", "wss", "file", "mailto", "xmpp", "tel", "javascript", "vbscript", "livescript"}
)
_LONGEST_SCHEME = max(map(len, _SCHEMES)) + 1
# The ends of host names that renderers take as such where no scheme is written, after the list of linkify-it, and a
# few more; those of two letters are taken whole.
# fmt: off
_ENDS = frozenset({
    "app", "asia", "aero", "biz", "click", "cloud", "club", "com", "coop", "dev", "edu", "gov", "info", "int",
    "link", "mil", "mobi", "museum", "name", "net", "online", "onion", "org", "page", "pro", "shop", "site",
    "tech", "top", "web", "xxx", "xyz", "zip",
})
# fmt: on
_LONGEST_LABEL = 63  # RFC 1035
_FENCE = frozenset("`~")


class SafeMarkdown:
    """A filter: the same comes out however the text was cut into pieces. Holds back 64 characters at most."""

    def __init__(self) -> None:
        self._last = ""  # the character before
        self._word = ""  # the letters before, as far as they could be a scheme
        self._held = ""  # a dot that may stand in a host name, and what follows it
        self._before_held = ""  # the word before that dot
        self._fence = 0  # fence characters before; 3 and more begin code, whose language comes next

    def feed(self, piece: str) -> str:
        """What can be told of the text so far."""
        return "".join(map(self._next, made_visible(piece)))

    def end(self) -> str:
        """What was held back."""
        return self._released("")

    def _next(self, char: str) -> str:
        if not self._held:
            return self._told(char)
        if (char.isalnum() or char == "-") and len(self._held) <= _LONGEST_LABEL:
            self._held += char
            return ""
        return self._released(char) + self._told(char)

    def _released(self, following: str) -> str:
        held, self._held = self._held, ""
        if not held:
            return ""
        label = held[1:]
        parts = _is_end_of_host(label) or self._before_held == "www" or (label[:1].isalpha() and following in {*"/?#:"})
        self._last, self._word = held[-1], label[-_LONGEST_SCHEME:].lower()
        return held[0] + JOINER + label if parts and label else held

    def _told(self, char: str) -> str:
        if char == "." and self._last.isalnum():
            self._held, self._before_held, self._fence = char, self._word, 0
            return ""
        told = JOINER + char if self._is_start(char) else char
        self._fence = self._fences(char)
        self._word = (self._word + char.lower())[-_LONGEST_SCHEME:] if char.isalnum() else ""
        self._last = char
        return told

    def _is_start(self, char: str) -> bool:
        """Whether this character, after those before it, would begin something that links or fetches."""
        if self._last + char in _PAIRS:
            return True
        if self._last == "<":
            return char.isalpha() or char in "/!?"
        if char == "@":
            return bool(self._last) and not self._last.isspace()
        if char == ":":
            return self._word in _SCHEMES
        return self._fence >= 3 and char in "mM&\\"  # mermaid: code that is drawn, with addresses in it

    def _fences(self, char: str) -> int:
        if char in _FENCE:
            return self._fence + 1 if char == self._last else 1
        return self._fence if self._fence >= 3 and char in " \t" else 0


def _is_end_of_host(label: str) -> bool:
    """Whether a name may end so: com, io, xn--p1ai, рф."""
    if not label.isascii():
        return True
    return label.lower() in _ENDS or (len(label) == 2 and label.isalpha()) or label.lower().startswith("xn--")

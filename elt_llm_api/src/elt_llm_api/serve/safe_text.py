"""Make text from documents and language models safe to show, in HTML or as Markdown without links."""

from html import escape

from elt_llm_api.display.text import CONTROL_CODES, INVISIBLE_CODES, SURROGATE_CODES, TAG_CODES

_REPLACEMENTS = {code: f"⟨U+{code:04X}⟩" for code in (*CONTROL_CODES, *INVISIBLE_CODES, *TAG_CODES, *SURROGATE_CODES)}


def show_invisible_characters(text: str) -> str:
    """Replace invisible characters by their code, as in ⟨U+202E⟩; keep line ends, tabs and joiners (U+200C, U+200D)."""
    return text.translate(_REPLACEMENTS)


JOINER = "\u2060"
_LINK_PAIRS = frozenset({"](", "][", "]:", "//"})  # link, reference, definition, and an address without a scheme
_SCHEMES = frozenset(
    {"http", "https", "ftp", "ws", "wss", "file", "mailto", "xmpp", "tel", "javascript", "vbscript", "livescript"}
)
_MAX_SCHEME = max(map(len, _SCHEMES)) + 1
# Top-level domains that renderers link even without a scheme: those of linkify-it and a few more. Every domain of two
# letters counts, too.
# fmt: off
_TOP_LEVEL_DOMAINS = frozenset({
    "app", "asia", "aero", "biz", "click", "cloud", "club", "com", "coop", "dev", "edu", "gov", "info", "int",
    "link", "mil", "mobi", "museum", "name", "net", "online", "onion", "org", "page", "pro", "shop", "site",
    "tech", "top", "web", "xxx", "xyz", "zip",
})
# fmt: on
_MAX_LABEL = 63  # RFC 1035
_FENCE = frozenset("`~")


class SafeMarkdown:
    """Escapes links, images and HTML in Markdown that arrives piece by piece, as a language model writes it.

    The result does not depend on where the pieces end, because up to 64 characters are held back.
    """

    def __init__(self) -> None:
        self._last = ""  # the previous character
        self._word = ""  # the previous letters, if they could be a scheme
        self._held = ""  # a dot that may be part of a host name, and the text after it
        self._before_held = ""  # the word in front of that dot
        self._fence = 0  # previous fence characters; 3 or more start code, whose language follows

    def feed(self, piece: str) -> str:
        """Add a piece of Markdown, and return the escaped text that later pieces cannot change any more."""
        return "".join(map(self._next, show_invisible_characters(piece)))

    def end(self) -> str:
        """Return the escaped text that is still held back. Call this once, after the last piece."""
        return self._release("")

    def _next(self, char: str) -> str:
        if not self._held:
            return self._escape(char)
        if (char.isalnum() or char == "-") and len(self._held) <= _MAX_LABEL:
            self._held += char
            return ""
        return self._release(char) + self._escape(char)

    def _release(self, following: str) -> str:
        held, self._held = self._held, ""
        if not held:
            return ""
        label = held[1:]
        is_host = (
            _is_top_level_domain(label)
            or self._before_held == "www"
            or (label[:1].isalpha() and following in {*"/?#:"})
        )
        self._last, self._word = held[-1], label[-_MAX_SCHEME:].lower()
        return held[0] + JOINER + label if is_host and label else held

    def _escape(self, char: str) -> str:
        if char == "." and self._last.isalnum():
            self._held, self._before_held, self._fence = char, self._word, 0
            return ""
        escaped = JOINER + char if self._is_link_start(char) else char
        self._fence = self._count_fence(char)
        self._word = (self._word + char.lower())[-_MAX_SCHEME:] if char.isalnum() else ""
        self._last = char
        return escaped

    def _is_link_start(self, char: str) -> bool:
        """Return whether this character completes the start of a link, an image or HTML."""
        if self._last + char in _LINK_PAIRS:
            return True
        if self._last == "<":
            return char.isalpha() or char in "/!?"
        if char == "@":
            return bool(self._last) and not self._last.isspace()
        if char == ":":
            return self._word in _SCHEMES
        return self._fence >= 3 and char in "mM&\\"  # Mermaid code is rendered, and may contain links

    def _count_fence(self, char: str) -> int:
        if char in _FENCE:
            return self._fence + 1 if char == self._last else 1
        return self._fence if self._fence >= 3 and char in " \t" else 0


def _is_top_level_domain(label: str) -> bool:
    """Return whether a label is a top-level domain, such as com, io, xn--p1ai, рф."""
    if not label.isascii():
        return True
    return (
        label.lower() in _TOP_LEVEL_DOMAINS or (len(label) == 2 and label.isalpha()) or label.lower().startswith("xn--")
    )


_TEMPLATE = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\\": "&#92;"})


def escape_html(text: str) -> str:
    """Escape text for HTML, between tags or in quoted attributes, and for templates with `${...}` or `{{...}}`.

    Control characters, and characters that change the direction of writing, are replaced by their code.
    """
    return escape(show_invisible_characters(text), quote=True).translate(_TEMPLATE)


def escape_markdown(text: str) -> str:
    """Escape text for Markdown. Lists, tables, code and emphasis stay; addresses are shown but not linked."""
    safe = SafeMarkdown()
    return safe.feed(text) + safe.end()


def escape_file_name(name: str, beside: str) -> str:
    """Escape a file name for a paragraph of Markdown in which `beside` is the text from documents.

    A name that could become a link, such as `notes.md`, is shown as code, in which nothing is linked, so that it can be
    copied unchanged. If the paragraph has backticks already, such a name gets a word joiner.
    """
    name = " ".join(name.split())
    escaped = escape_markdown(name)
    is_code = JOINER in escaped and "`" not in name + beside
    return f"`{show_invisible_characters(name)}`" if is_code else escaped


def route_link(label: str, route: str) -> str:
    """Return a Markdown link to a path on this server, such as `/v1/documents/3`. Raises ValueError for other paths."""
    is_own = route.startswith("/") and not route.startswith("//") and route.isascii()
    if not is_own or any(sign in route for sign in "\\()<>[]\"'` ") or not route.isprintable():
        raise ValueError(f"'{route}' is not a path on this server.")
    text = escape_markdown(" ".join(label.split()))
    for sign in "\\[]`*_~":
        text = text.replace(sign, f"\\{sign}")
    return f"[{text}]({route})"

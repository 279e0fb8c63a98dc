"""Collect what a piece of HTML would do: its tags, and the attributes that load, link, run scripts or style."""

import re
from html.parser import HTMLParser

_HARMLESS = {"class", "start", "align", "title"}
_ALIGNED = re.compile(r"text-align: ?(left|right|center)")


class ShownHtml(HTMLParser):
    """Parses HTML like a browser, including character references in attributes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.active: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.active += [
            (name, value)
            for name, value in attrs
            if name not in _HARMLESS and not (name == "style" and _ALIGNED.fullmatch(value or ""))
        ]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.add("comment")

    def handle_decl(self, decl: str) -> None:
        self.tags.add("declaration")

    def unknown_decl(self, data: str) -> None:
        self.tags.add("declaration")

    def handle_pi(self, data: str) -> None:
        self.tags.add("instruction")

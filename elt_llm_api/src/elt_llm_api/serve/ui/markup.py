"""HTML and Markdown of answers, errors and tables, built from escaped text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.models.factory import NO_MODEL
from elt_llm_core.results import UNCERTAIN_TEXT, CheckedSentence, QueryResult
from elt_llm_core.text.outline import page_label
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from elt_llm_api.display.text import TableColumn
from elt_llm_api.serve.safe_text import escape_html, escape_markdown

_NUMBERS = re.compile(r"\[\d{1,4}\]")
_LINE_START = re.compile(r"\s{0,12}(?:[*+-]|\d{1,3}[.)]|#{1,6}|>)\s{1,4}")
_SIGNS = {"unsupported": "⚠", "partly": "◐"}
_SUPPORT_WORDS = {"unsupported": "not supported", "partly": "partly supported"}
_QUOTED_WIDTH = 160  # characters of a sentence in the list of doubtful sentences


def html_table(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], caption: str = "", *, tall: bool = False
) -> str:
    """Return a table that scrolls sideways in a narrow window. A `tall` table also scrolls vertically."""
    return fill_template("table", columns, rows, caption, tall)


def fill_template(macro: str, *values: Any) -> str:
    """Return the HTML of a macro in templates.jinja, without line ends. Values that are not Markup are escaped."""
    html: str = getattr(_templates(), macro)(*values)
    return "".join(line.strip() for line in html.splitlines())


@cache
def _templates() -> Any:
    def escaped(value: Any) -> Markup:
        return value if isinstance(value, Markup) else Markup(escape_line(str(value)))  # noqa: S704 - escaped

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=escaped, trim_blocks=True)
    environment.filters["page_label"] = page_label
    return environment.from_string(Path(__file__).with_name("templates.jinja").read_text(encoding="utf-8")).module


def flatten_lines(text: str) -> str:
    """Return the text on one line, because an empty line would end the HTML around it."""
    return " ".join(text.split())


def escape_line(text: str) -> str:
    """Return the text on one line, escaped for HTML."""
    return escape_html(flatten_lines(text))


@dataclass(frozen=True)
class DoubtfulSentence:
    """A sentence that the chunks do not support, or support only partly, and its offsets in the answer."""

    sentence: CheckedSentence
    start: int
    end: int


def answer_markdown(result: QueryResult) -> str:
    """Return the answer with doubtful sentences marked, then the reasons, the notes, and confidence and time.

    A refusal is one line, without a confidence.
    """
    if result.outcome == "not found":
        parts = [_html_block("badge abstained", f"∅ {escape_line(result.answer)}"), _note_list(result)]
    else:
        badge = _html_block("badge uncertain", f"? {UNCERTAIN_TEXT}") if result.outcome == "uncertain" else ""
        facts = f"confidence {result.confidence:.0%} · {result.latency_ms / 1000:.1f} s"
        parts = [badge, mark_doubtful(result), _doubt_list(result), _note_list(result), _html_block("facts", facts)]
    return "\n\n".join(filter(None, parts))


def partial_markdown(text: str, note: str = "") -> str:
    """Return the answer as far as it has been written, with a note below it."""
    return "\n\n".join(filter(None, (escape_markdown(text), _html_block("notes", escape_html(note)) if note else "")))


def failure_markdown(error: EltError) -> str:
    """Return the message of an error and its hint."""
    return fill_template("failure", error)


def mark_doubtful(result: QueryResult) -> str:
    """Return the answer as HTML. A warning sign with the reasons as its tooltip precedes each doubtful sentence."""
    marked, position = [], 0
    for one in find_doubtful(result.answer, result.checked):
        verdict = one.sentence.verdict
        title = escape_html(f"{_SUPPORT_WORDS[verdict]}: {' '.join(one.sentence.reasons)}")
        tag = f'<mark class="{verdict}" title="{title}">{_SIGNS[verdict]} '
        marked.append(escape_markdown(result.answer[position : one.start]))
        marked += [_mark_line(line, tag) for line in result.answer[one.start : one.end].splitlines(keepends=True)]
        position = one.end
    return "".join([*marked, escape_markdown(result.answer[position:])])


def _mark_line(line: str, tag: str) -> str:
    """Mark one line of a sentence. The Markdown sign of a list item or heading stays outside of the mark."""
    match = _LINE_START.match(line)
    start = match[0] if match else ""
    words = line[len(start) :].rstrip()
    end = line[len(start) + len(words) :]
    return start + (f"{tag}{escape_markdown(words)}</mark>" if words else "") + end


def find_doubtful(answer: str, checked: Sequence[CheckedSentence]) -> Iterator[DoubtfulSentence]:
    """Locate the doubtful sentences in the answer, in order, ignoring spaces and citation numbers."""
    letters, offsets = _letters_with_offsets(answer)
    position = 0
    for sentence in checked:
        wanted, _ = _letters_with_offsets(sentence.text)
        found = letters.find(wanted, position) if wanted else -1
        if found < 0:
            continue
        position = found + len(wanted)
        if sentence.verdict in _SIGNS:
            yield DoubtfulSentence(sentence, offsets[found], offsets[position - 1] + 1)


def _letters_with_offsets(text: str) -> tuple[str, list[int]]:
    """Return the text without spaces and citation numbers, and the offset of each remaining character."""
    numbers = {offset for match in _NUMBERS.finditer(text) for offset in range(*match.span())}
    kept = [(char, offset) for offset, char in enumerate(text) if not char.isspace() and offset not in numbers]
    return "".join(char for char, _ in kept), [offset for _, offset in kept]


def _doubt_list(result: QueryResult) -> str:
    sentences = []
    for one in result.checked:
        if one.verdict in _SIGNS:
            words = _LINE_START.sub("", one.text, count=1)
            quoted = words if len(words) <= _QUOTED_WIDTH else f"{words[:_QUOTED_WIDTH]}…"
            support = f"{_SUPPORT_WORDS[one.verdict]}. {' '.join(one.reasons)}"
            sentences.append((_SIGNS[one.verdict], quoted, support))
    return fill_template("doubts", sentences) if sentences else ""


def _note_list(result: QueryResult) -> str:
    # The reader cannot start a model server; the tab Health reports its absence.
    notes = [note for note in result.notes if not note.startswith(NO_MODEL)]
    notes = [*notes, *([] if result.complete else ["The answer was stopped before its end."])]
    return fill_template("notes", notes) if notes else ""


def _html_block(kind: str, html: str) -> str:
    return f'<div class="{kind}">{html}</div>'

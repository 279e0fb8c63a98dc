"""HTML and Markdown of answers, errors and tables, built from escaped text."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.models.factory import NO_MODEL
from elt_llm_core.results import UNCERTAIN_TEXT, CheckedSentence, Citation, QueryResult, RetrievedChunk
from elt_llm_core.text.outline import page_label
from elt_llm_query.engine import EXTRACTIVE
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from elt_llm_api.display.text import TableColumn
from elt_llm_api.serve.safe_text import escape_html, escape_markdown
from elt_llm_api.serve.ui.texts import Texts

_NUMBERS = re.compile(r"\[\d{1,4}\]")
_LINE_START = re.compile(r"\s{0,12}(?:\|\s{0,4}|(?:[*+-]|\d{1,3}[.)]|#{1,6}|>)\s{1,4})")
_SIGNS = {"unsupported": "⚠", "partly": "◐"}
_CODE = re.compile(
    r"(^[ \t]*(?:```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))|```[^`\n]*```|`[^`\n]*`"
    r"|^(?: {4}|\t)(?!\s*(?:[*+-]|\d+[.)])\s).*$)",  # an indented list item is not code
    re.DOTALL | re.MULTILINE,
)
# Signs that Markdown would hide. A backslash before a bar stays: it keeps the bar within its cell.
_HIDDEN = re.compile(r"[_~]|\\(?!\|)|&(?=#?\w+;)|(?a:(?<=\d)\*+(?=\w)|(?<=\w)\*+(?=\d))")
_NUMBERED_ITEM = re.compile(r"(?<=\n)([ \t]{0,12})(\d{1,9})([.)])(?=[ \t])")
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

    def lines(text: str) -> Markup:
        return Markup("<br>".join(map(escape_html, text.splitlines())))  # noqa: S704 - escaped

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=escaped, trim_blocks=True)
    environment.filters["lines"] = lines
    environment.globals["page_text"] = page_text
    return environment.from_string(Path(__file__).with_name("templates.jinja").read_text(encoding="utf-8")).module


def flatten_lines(text: str) -> str:
    """Return the text on one line, because an empty line would end the HTML around it."""
    return " ".join(text.split())


def shorten(text: str, most: int) -> str:
    """Return the text on one line, cut after `most` characters."""
    line = flatten_lines(text)
    return line if len(line) <= most else f"{line[:most]}…"


def escape_line(text: str) -> str:
    """Return the text on one line, escaped for HTML."""
    return escape_html(flatten_lines(text))


class CitationChips:
    """The citations of one answer as buttons, which open their sources (page.js, sources.py)."""

    def __init__(self, turn: int, sources: Sequence[Citation | RetrievedChunk], texts: Texts) -> None:
        """Make the buttons of an answer. If `sources` are chunks, the first one is [1], the second one [2]."""
        self.buttons: dict[str, str] = {}
        """The HTML of each button by the reference of its citation, such as `[1]`."""
        for number, one in enumerate(sources, start=1):
            reference = one.reference if isinstance(one, Citation) else f"[{number}]"
            place = f"{turn}.{reference.strip('[]')}"
            self.buttons[reference] = fill_template("chip", place, reference, source_place(one, texts))

    def insert(self, html: str) -> str:
        """Replace the numbers of citations by buttons."""
        return _NUMBERS.sub(lambda found: self.buttons.get(found[0], found[0]), html)

    def show(self, markdown: str) -> str:
        """Return what a model wrote as safe Markdown with buttons. No sign is lost, except those of lists and bold.

        Code is left alone: it is shown as it is, and HTML in it is not rendered.
        """
        parts = _CODE.split(escape_markdown(markdown))
        parts[::2] = [self.insert(_HIDDEN.sub(_with_backslashes, part)) for part in parts[::2]]
        return "".join(parts)


def _with_backslashes(found: re.Match[str]) -> str:
    return "".join(f"\\{sign}" for sign in found[0])


def text_html(text: str) -> str:
    """Return a text of a document or of the user as HTML that shows it character by character, in its lines."""
    return _html_block("text", "<br>".join(map(escape_html, text.splitlines())))


def page_text(texts: Texts, source: str, page: int | None) -> str:
    """Return "page 8" in the language of `texts`, or "" for a source without pages.

    For a workbook, the result is "" too: its pages are sheets, which have names.
    """
    return texts("answer.page", page=page) if page and page_label(source, page) else ""


def source_place(source: Citation | RetrievedChunk, texts: Texts) -> str:
    """Return the title of a document with page and section."""
    page = page_text(texts, source.source, source.page)
    return " · ".join(filter(None, (source.source_title or source.source, page, source.section)))


def answer_markdown(result: QueryResult, texts: Texts, turn: int = 0) -> str:
    """Return the answer with citation buttons and marked doubtful sentences, then reasons, notes, confidence and time.

    A refusal is one line, without a confidence; the closest chunks are folded below it. `turn` is the number of the
    answer within the conversation that is shown.
    """
    chips = CitationChips(turn, result.citations, texts)
    if result.outcome == "not found":
        closest = [(chips.buttons[one.reference], source_place(one, texts), one.excerpt) for one in result.citations]
        folded = fill_template("closest", texts, closest) if closest else ""
        said = escape_line(texts("answer.not_found"))  # in the language of the page; the answer also lists the chunks
        parts = [_html_block("badge abstained", f"∅ {said}"), folded, _note_list(result, texts)]
    else:
        doubt = f"? {texts.say(UNCERTAIN_TEXT)}"
        badge = _html_block("badge uncertain", doubt) if result.outcome == "uncertain" else ""
        seconds = texts.figure(f"{result.latency_ms / 1000:.1f}")
        facts = texts("answer.confidence", confidence=f"{result.confidence:.0%}", seconds=seconds)
        doubts, notes = _doubt_list(result, texts), _note_list(result, texts)
        cited = [(one.reference, source_place(one, texts), one.excerpt) for one in result.citations]
        printed = fill_template("printed", texts, cited) if cited else ""
        answer = chips.insert(text_html(result.answer)) if _is_quoted(result) else mark_doubtful(result, texts, chips)
        parts = [badge, answer, doubts, notes, _html_block("facts", facts), printed]
    return "\n\n".join(filter(None, parts))


def _is_quoted(result: QueryResult) -> bool:
    return result.metadata.get("model") == EXTRACTIVE


def partial_markdown(text: str, note: str = "", chips: CitationChips | None = None) -> str:
    """Return the answer as far as it has been written, with a note below it, such as that it was stopped."""
    shown = chips.show(keep_list_numbers(text)) if chips else text and text_html(text)
    return "\n\n".join(filter(None, (shown, _html_block("notes", escape_html(note)) if note else "")))


def failure_markdown(error: EltError, texts: Texts) -> str:
    """Return the message of an error and its hint."""
    return fill_template("failure", texts, error)


def keep_list_numbers(markdown: str) -> str:
    """Return a model's Markdown, in the same length, such that lists are shown with the numbers that were written.

    Markdown would count on from the first number of a list. A list ends where `.` follows `)` or the reverse, so these
    two are exchanged at each number that does not follow the one before it.
    """
    last: dict[str, tuple[int, str]] = {}  # number and sign of the item before, by its indentation

    def keep(found: re.Match[str]) -> str:
        indent, number, sign = found[1], int(found[2]), found[3]
        before, used = last.get(indent, (number - 1, sign))
        sign = used if number == before + 1 else ".)".replace(used, "")
        for deeper in [one for one in last if len(one) > len(indent)]:
            del last[deeper]
        last[indent] = number, sign
        return f"{indent}{found[2]}{sign}"

    parts = _CODE.split(f"\n{markdown}")
    parts[::2] = [_NUMBERED_ITEM.sub(keep, part) for part in parts[::2]]
    return "".join(parts)[1:]


def mark_doubtful(result: QueryResult, texts: Texts, chips: CitationChips) -> str:
    """Return the answer as HTML. A warning sign with the reasons as its tooltip precedes each doubtful sentence."""
    marked, position, answer = [], 0, keep_list_numbers(result.answer)
    for sentence, start, end in find_doubtful(result.answer, result.checked):
        verdict = sentence.verdict
        title = escape_html(f"{texts(f'answer.{verdict}')}: {' '.join(map(texts.say, sentence.reasons))}")
        tag = f'<mark class="{verdict}" title="{title}">{_SIGNS[verdict]} '
        marked.append(chips.show(answer[position:start]))
        marked += [_mark_line(line, tag, chips) for line in answer[start:end].splitlines(keepends=True)]
        position = end
    return "".join([*marked, chips.show(answer[position:])])


def _mark_line(line: str, tag: str, chips: CitationChips) -> str:
    """Mark one line of a sentence, or the first cell of a row. Markdown at the start, as in `- `, stays unmarked."""
    match = _LINE_START.match(line)
    start = match[0] if match else ""
    words = line[len(start) :].rstrip()
    end = line[len(start) + len(words) :]
    cells = ""
    if words.endswith("|"):
        words, bar, cells = words.partition("|")
        cells = chips.show(bar + cells)
    return start + (f"{tag}{chips.show(words)}</mark>" if words else "") + cells + end


def find_doubtful(answer: str, checked: Sequence[CheckedSentence]) -> Iterator[tuple[CheckedSentence, int, int]]:
    """Yield each sentence that is not fully supported, and its offsets: those of its start and end in the answer.

    Spaces and citation numbers may differ.
    """
    letters, offsets = _letters_with_offsets(answer)
    position = 0
    for sentence in checked:
        wanted, _ = _letters_with_offsets(sentence.text)
        found = letters.find(wanted, position) if wanted else -1
        if found < 0:
            continue
        position = found + len(wanted)
        if sentence.verdict in _SIGNS:
            yield sentence, offsets[found], offsets[position - 1] + 1


def _letters_with_offsets(text: str) -> tuple[str, list[int]]:
    """Return the text without spaces and citation numbers, and the offset of each remaining character."""
    numbers = {offset for match in _NUMBERS.finditer(text) for offset in range(*match.span())}
    kept = [(char, offset) for offset, char in enumerate(text) if not char.isspace() and offset not in numbers]
    return "".join(char for char, _ in kept), [offset for _, offset in kept]


def _doubt_list(result: QueryResult, texts: Texts) -> str:
    sentences = []
    for one in result.checked:
        if one.verdict in _SIGNS:
            words = _LINE_START.sub("", one.text, count=1)
            quoted = words if len(words) <= _QUOTED_WIDTH else f"{words[:_QUOTED_WIDTH]}…"
            support = f"{texts(f'answer.{one.verdict}')}. {' '.join(map(texts.say, one.reasons))}"
            sentences.append((_SIGNS[one.verdict], quoted, support))
    return fill_template("doubts", texts, sentences) if sentences else ""


def _note_list(result: QueryResult, texts: Texts) -> str:
    # The reader cannot start a model server; the tab Health reports its absence.
    notes = [texts.say(note) for note in result.notes if not note.startswith(NO_MODEL)]
    notes = [*notes, *([] if result.complete else [texts("ask.incomplete")])]
    return fill_template("notes", notes) if notes else ""


def _html_block(kind: str, html: str) -> str:
    return f'<div class="{kind}">{html}</div>'

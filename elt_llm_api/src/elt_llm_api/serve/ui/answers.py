"""Answers as Markdown of ours: the words as they were written, with a sign on each sentence that nothing bears out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elt_llm_core.errors import EltError
from elt_llm_core.results import CheckedSentence, QueryResult

from elt_llm_api.serve.safe_text import as_markdown, as_text
from elt_llm_api.serve.ui.html_tables import flat

_NUMBERS = re.compile(r"\[\d{1,4}\]")
_BEGINS_LINE = re.compile(r"\s{0,12}(?:[*+-]|\d{1,3}[.)]|#{1,6}|>)\s{1,4}")
_SIGNS = {"unsupported": "⚠", "partly": "◐"}
_SAID = {"unsupported": "not borne out", "partly": "borne out in part"}
_QUOTED = 160  # characters of a sentence in the list of those that are not borne out


@dataclass(frozen=True)
class Doubtful:
    """A sentence that the passages do not bear out, or not wholly, and where it stands in the answer's text."""

    sentence: CheckedSentence
    start: int
    end: int


def answer_markdown(result: QueryResult) -> str:
    """The answer with its doubtful sentences marked, then why, then what else a reader should know."""
    badge = "" if result.answered else _block("badge abstained", "∅ Not found in these documents")
    return "\n\n".join(
        part for part in (badge, marked(result), _reasons(result), _notes(result), _facts(result)) if part
    )


def partial_markdown(text: str, said: str = "") -> str:
    """An answer as far as it is written; `said` tells what became of it."""
    return "\n\n".join(part for part in (as_markdown(text), _block("notes", as_text(said)) if said else "") if part)


def failure_markdown(error: EltError) -> str:
    """What went wrong, and what mends it."""
    return _block("failure", f"⚠ {as_text(str(error))}" + (f"<br>{as_text(error.hint)}" if error.hint else ""))


def marked(result: QueryResult) -> str:
    """The words of the answer; each doubtful sentence has its sign before it and its reasons as a title."""
    written, at = [], 0
    for one in doubtful_places(result.answer, result.checked):
        verdict = one.sentence.verdict
        title = as_text(f"{_SAID[verdict]}: {' '.join(one.sentence.reasons)}")
        written.append(as_markdown(result.answer[at : one.start]))
        tag = f'<mark class="{verdict}" title="{title}">{_SIGNS[verdict]} '
        lines = result.answer[one.start : one.end].splitlines(keepends=True)
        written += [_marked_line(line, tag) for line in lines]
        at = one.end
    return "".join([*written, as_markdown(result.answer[at:])])


def _marked_line(line: str, tag: str) -> str:
    """One line of a sentence; what makes it a point of a list or a heading stays outside of the mark."""
    found = _BEGINS_LINE.match(line)
    begins = found[0] if found else ""
    words = line[len(begins) :].rstrip()
    end = line[len(begins) + len(words) :]
    return begins + (f"{tag}{as_markdown(words)}</mark>" if words else "") + end


def doubtful_places(answer: str, checked: Sequence[CheckedSentence]) -> Iterator[Doubtful]:
    """Where the doubtful sentences stand in the answer, in order; spaces and numbers in brackets count for nothing."""
    letters, places = _letters(answer)
    since = 0
    for sentence in checked:
        wanted, _ = _letters(sentence.text)
        found = letters.find(wanted, since) if wanted else -1
        if found < 0:
            continue
        since = found + len(wanted)
        if sentence.verdict in _SIGNS:
            yield Doubtful(sentence, places[found], places[since - 1] + 1)


def _letters(text: str) -> tuple[str, list[int]]:
    """The text without spaces and numbers in brackets, and where each of its characters stands."""
    numbers = {place for found in _NUMBERS.finditer(text) for place in range(*found.span())}
    kept = [(char, place) for place, char in enumerate(text) if not char.isspace() and place not in numbers]
    return "".join(char for char, _ in kept), [place for _, place in kept]


def _reasons(result: QueryResult) -> str:
    rows = []
    for one in result.checked:
        if one.verdict in _SIGNS:
            words = _BEGINS_LINE.sub("", one.text, count=1)
            said = words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"
            why = as_text(" ".join(one.reasons))
            rows.append(f"<li>{_SIGNS[one.verdict]} <q>{as_text(flat(said))}</q> {_SAID[one.verdict]}. {why}</li>")
    return _block("reasons", f"<b>Not borne out by the passages</b><ul>{''.join(rows)}</ul>") if rows else ""


def _notes(result: QueryResult) -> str:
    notes = [*result.notes, *([] if result.complete else ["The answer was stopped before its end."])]
    return _block("notes", "<br>".join(as_text(flat(note)) for note in notes)) if notes else ""


def _facts(result: QueryResult) -> str:
    """Confidence, time and who wrote it, on one line."""
    model = str(result.metadata.get("model") or "")
    facts = [f"confidence {result.confidence:.0%}", f"{result.latency_ms / 1000:.1f} s", *([model] if model else [])]
    return _block("facts", as_text(" · ".join(facts)))


def _block(kind: str, html: str) -> str:
    return f'<div class="{kind}">{html}</div>'

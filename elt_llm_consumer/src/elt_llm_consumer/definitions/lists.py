"""Glossaries as lists: under a heading that says so, after "Words used here:", and where entries read like one."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_consumer.definitions.defining import is_phrase, tells_apart
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.entries import Entries, Entry
from elt_llm_consumer.definitions.layout import Layout, Line
from elt_llm_consumer.definitions.run_in import is_small_run_in
from elt_llm_consumer.definitions.spans import one_line
from elt_llm_consumer.definitions.wording import DOCUMENTS

_CUE = re.compile(
    r"\b(?:terms?|words?|expressions?|definitions?|abbreviations?|acronyms?|vocabulary|glossary|begriffe|abkürzungen)\b[^.!?]{0,80}:$"
    r"|\bha(?:ve|s) (?:the following|these|special|particular) meanings?\b[^.!?]{0,40}[:.]?$"
    rf"|^(?:\W{{0,3}}[\d.]{{0,9}}\s)?(?:in|for the purposes? of|throughout|under) (?:this|these|our) "
    rf"(?:\w{{1,20}} )?{DOCUMENTS}\b[^.!?]{{0,60}}:$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:one|two|three|four|five|six|ten|half|\d)", re.IGNORECASE)
_ACTING = re.compile(r"[a-z]{3,20}ing\s", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w'’ /&()-]{0,90}$")  # noqa: RUF001
_SHARE, _FEWEST = 0.7, 3


class Lists:
    """Reads entries of glossaries."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._entries = Entries(layout)

    def drafts(self) -> Iterator[Draft]:
        """The definitions in lists, in order of the sections that announce them, then of the others."""
        for start, end in self._layout.regions:
            yield from self._section(self._layout.lines_between(start, end)[1:])
        yield from self._runs([line for line in self._layout.lines if not self._layout.in_region(line.start)])

    def _section(self, lines: Sequence[Line]) -> Iterator[Draft]:
        number = 0
        small = _often_runs_in(lines)
        while number < len(lines):
            entry = self._entries.entry(lines, number, announced=True, small=small)
            if entry is not None:
                yield entry.draft
            number = entry.following if entry is not None else number + 1

    def _runs(self, lines: Sequence[Line]) -> Iterator[Draft]:
        """Entries that follow one another: three or more, or any after a line that announces them."""
        number, last = 0, -1
        while number < len(lines):
            run: list[Entry] = []
            place = number
            while place < len(lines) and (entry := self._entries.entry(lines, place, announced=False)):
                if run and not self._akin(run[-1], entry):
                    break
                run.append(entry)
                place = entry.following
            after = last >= 0 and not any(line.start in self._layout.heading_lines for line in lines[last:number])
            if run and self._defines(run, lines[number - 1] if number else None, after=after):
                last = place
                yield from (entry.draft for entry in run)
            number = max(place, number + 1)

    def _akin(self, one: Entry, other: Entry) -> bool:
        """Whether two entries are written alike."""
        return one.way == other.way

    def _defines(self, run: Sequence[Entry], before: Line | None, *, after: bool) -> bool:
        """Whether a run of entries defines; `after`: it follows another that does, under the same heading."""
        if not all(_NAME.match(self._layout.text[slice(*entry.draft.term)]) for entry in run):
            return False
        bodies = [one_line(self._layout.text[slice(*entry.draft.body)]) for entry in run]
        share = sum(map(_is_meaning, bodies)) / len(bodies)
        cued = before is not None and _CUE.search(before.text) is not None
        if cued:
            return share >= 0.5
        bold = all(entry.way.endswith("marked") for entry in run)
        return share >= _SHARE and len(run) >= (2 if bold or after else _FEWEST)


def _often_runs_in(lines: Sequence[Line]) -> bool:
    """Whether most paragraphs of a section read like entries that run into their definitions."""
    begins = [line for line in lines if line.apart]
    return 2 * sum(map(is_small_run_in, begins)) > len(begins) > 1


def _is_meaning(body: str) -> bool:
    """Whether a body is a kind of thing or of doing, no sentence and no number."""
    if _NUMBER.match(body):
        return False
    acting = _ACTING.match(body) is not None and len(body.split()) > 2
    return (acting or tells_apart(body)) and is_phrase(body) and not body.endswith(":")

"""Footnotes and endnotes of a Word file: a sign where they are referred to, their text when it is asked for."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.list_markers import roman
from elt_llm_ingest.readers.ooxml import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_SEPARATORS = frozenset(("separator", "continuationSeparator", "continuationNotice"))


class Notes:
    """Counts notes in the order they are referred to; footnotes are `[1]`, endnotes `[i]`."""

    def __init__(self, parts: "dict[str, _Element | None]") -> None:
        self._texts: dict[tuple[str, str], _Element] = {}
        self._counts = dict.fromkeys(parts, 0)
        self._pending: list[tuple[str, _Element]] = []
        for kind, part in parts.items():
            for note in () if part is None else part.findall(f"{WORD}{kind}"):
                if note.get(f"{WORD}type") not in _SEPARATORS:
                    self._texts[kind, note.get(f"{WORD}id", "")] = note

    def mark(self, kind: str, note_id: str) -> str:
        """The sign of a note ("footnote", "endnote") in the text; "" if there is no such note or it was told before."""
        note = self._texts.pop((kind, note_id), None)
        if note is None:
            return ""
        self._counts[kind] += 1
        mark = f"[{self._counts[kind] if kind == 'footnote' else roman(self._counts[kind])}]"
        self._pending.append((mark, note))
        return mark

    def take(self) -> "list[tuple[str, _Element]]":
        """The notes referred to since it was asked last."""
        taken, self._pending = self._pending, []
        return taken

"""An answer passed on as it is written, without the numbers of its sources, where those are not wanted."""

import re
from collections.abc import Callable

from elt_llm_query.synthesis.finishing import without_marks
from elt_llm_query.synthesis.marks import as_marks

# A mark, and the space before it, may still be on their way: from the last bracket that is not closed, or the space.
_UNFINISHED = re.compile(r"(?:\s|\s?(?:\[[^\[\]]{0,40}|\([^()]{0,40}|\u3010[^\u3010\u3011]{0,120}|<[^<>]{0,240}))\Z")


class PiecesWithoutMarks:
    """Passes on pieces of an answer without its marks; a piece that may be a part of one waits for the rest."""

    def __init__(self, on_piece: Callable[[str], None]) -> None:
        self._on_piece = on_piece
        self._waiting = ""

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        said = self._waiting + piece
        begun = _UNFINISHED.search(said, max(0, len(said) - 250))
        cut = begun.start() if begun else len(said)
        self._waiting = said[cut:]
        self._pass_on(said[:cut])

    def end(self) -> None:
        """Nothing more comes: what waited is passed on."""
        said, self._waiting = self._waiting, ""
        self._pass_on(said)

    def _pass_on(self, text: str) -> None:
        if shown := without_marks(as_marks(text)):
            self._on_piece(shown)

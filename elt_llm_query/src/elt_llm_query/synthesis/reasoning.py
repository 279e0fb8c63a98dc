"""Reading what a model wrote: steps of reasoning apart from the answer, and scores of attempts."""

import re
from collections.abc import Callable

_ANSWER = re.compile(
    r"^[ \t*#_>]{0,12}(?:final\s{1,4})?(?:answer|antwort|atsakymas|réponse)[*_]{0,3}\s{0,4}:[*_]{0,3}\s{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_STEP = re.compile(r"^\s{0,8}(?:step\s{1,4})?\d{1,2}\s{0,4}[.):]\s{0,8}|^\s{0,8}[-*•]\s{1,8}", re.IGNORECASE)
_SCORE = re.compile(r"^\s{0,8}[\[(#]?(\d{1,2})[\])]?\s{0,8}[:=\-.]\s{0,8}(\d{1,2}(?:\.\d{1,3})?)(?!\d)", re.MULTILINE)
BEST = 10.0


def split_reasoning(written: str, most_steps: int) -> tuple[tuple[str, ...], str]:
    """The steps, at most so many, and the answer behind the first line that begins with "Answer:".

    Without such a line everything is the answer: a model that does not keep to the form still answers.
    """
    mark = _ANSWER.search(written)
    if not mark:
        return (), written.strip()
    return tuple(_steps(written[: mark.start()]))[:most_steps], written[mark.end() :].strip()


def _steps(text: str) -> list[str]:
    """One step for each numbered or bulleted line, the lines behind it with it; else one for each line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [bool(_STEP.match(line)) for line in lines]
    steps: list[str] = []
    for line, begins in zip(lines, marked, strict=True):
        said = _STEP.sub("", line, count=1).strip() if begins else line
        if begins or not steps or not any(marked):
            steps.append(said)
        else:
            steps[-1] = f"{steps[-1]} {said}"
    return [step for step in steps if step]


def read_attempt_scores(reply: str, count: int) -> list[float | None]:
    """The score of each attempt, 0 to 10; None where the reply gives none, or several, or one out of range."""
    given: dict[int, set[float]] = {}
    for found in _SCORE.finditer(reply):
        given.setdefault(int(found[1]), set()).add(float(found[2]))
    scores = [given.get(number, set()) for number in range(1, count + 1)]
    return [next(iter(one)) if len(one) == 1 and max(one) <= BEST else None for one in scores]


class AnswerPieces:
    """Passes on of a reasoned answer, piece by piece, only what stands behind "Answer:"."""

    def __init__(self, on_piece: Callable[[str], None]) -> None:
        self._on_piece = on_piece
        self._before = ""
        self._begun = False

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        if self._begun:
            self._on_piece(piece)
            return
        self._before += piece
        mark = _ANSWER.search(self._before)
        # White space behind the mark belongs to it, and may still be on its way.
        if mark and (rest := self._before[mark.end() :]).strip():
            self._begun = True
            self._on_piece(rest)

    @property
    def begun(self) -> bool:
        """Whether anything was passed on."""
        return self._begun

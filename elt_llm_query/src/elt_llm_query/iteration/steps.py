"""The steps a model may choose to look further, and how its choice is read."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

StepKind = Literal["RETRIEVE", "KEYWORD", "GRAPH", "DONE"]
KINDS: tuple[StepKind, ...] = get_args(StepKind)
_STEP = re.compile(r"\b(RETRIEVE|KEYWORD|GRAPH|DONE)\b[ \t*_]{0,6}[:\-]?[ \t*_]{0,6}([^\n]{0,400})")
_AROUND = " \t\"'`*.<>[]()"


@dataclass(frozen=True)
class Step:
    """RETRIEVE looks for a question by meaning and words, KEYWORD for words alone, GRAPH around an entity of a model.

    `text` is what is looked for, empty for DONE.
    """

    kind: StepKind
    text: str = ""


def read_step(reply: str) -> Step:
    """The first step that a reply names; DONE where it names none, or says not what to look for."""
    for found in _STEP.finditer(reply):
        kind = next(one for one in KINDS if one == found[1])
        text = found[2].strip(_AROUND)
        if kind == "DONE":
            return Step("DONE")
        if text:
            return Step(kind, text)
    return Step("DONE")

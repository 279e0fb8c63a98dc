"""Parts a model's thinking from its answer where both come as one text, piece by piece."""

_OPENING = "<think>"
_CLOSING = "</think>"


class ThinkingFilter:
    """Takes a leading `<think>...</think>` out of a text that arrives in pieces cut anywhere.

    Models that think write so when their server does not part the two. Only at the beginning: a tag amid an answer is
    text. What may yet become a tag is held back until that is known.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"
        self._thoughts: list[str] = []

    @property
    def thinking(self) -> str:
        """What was thought so far."""
        return "".join(self._thoughts).strip()

    def feed(self, piece: str) -> str:
        """The part of the answer that is known with this piece; may be empty."""
        if self._state == "answer":
            return piece
        self._held += piece
        if self._state == "before":
            self._look_for_opening()
        if self._state == "thinking":
            self._look_for_closing()
        if self._state == "after" and (rest := self._held.lstrip()):
            self._held, self._state = rest, "answer"
        return self._released() if self._state == "answer" else ""

    def finish(self) -> str:
        """What was held back until the end: text that only looked like the beginning of a tag."""
        if self._state == "thinking":
            self._thoughts.append(self._held)
        if self._state != "before":
            self._held = ""
        self._state = "answer"
        return self._released()

    def _look_for_opening(self) -> None:
        start = self._held.lstrip()
        if start.startswith(_OPENING):
            self._state, self._held = "thinking", start.removeprefix(_OPENING)
        elif start and not _OPENING.startswith(start):
            self._state = "answer"

    def _look_for_closing(self) -> None:
        thought, closed, rest = self._held.partition(_CLOSING)
        # Without one, the end of what came may be its beginning.
        sure = len(thought) if closed else max(0, len(thought) - len(_CLOSING) + 1)
        self._thoughts.append(thought[:sure])
        self._held = rest if closed else thought[sure:]
        self._state = "after" if closed else "thinking"

    def _released(self) -> str:
        text, self._held = self._held, ""
        return text

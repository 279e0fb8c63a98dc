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
        if self._state == "before" and not self._begins_with_tag():
            return ""
        return self._released() if self._state == "answer" else self._past_thinking()

    def finish(self) -> str:
        """What was held back until the end: text that only looked like the beginning of a tag."""
        if self._state == "thinking":
            self._thoughts.append(self._held)
            self._held = ""
        self._state = "answer"
        return self._released()

    def _begins_with_tag(self) -> bool:
        """Whether enough has come to tell if thinking comes first; the state says how it ended."""
        start = self._held.lstrip()
        if start.startswith(_OPENING):
            self._state, self._held = "thinking", start.removeprefix(_OPENING)
            return True
        if start and not _OPENING.startswith(start):
            self._state = "answer"
            return True
        return False

    def _past_thinking(self) -> str:
        thought, closed, rest = self._held.partition(_CLOSING)
        if not closed:
            return self._kept_back(thought)
        self._thoughts.append(thought)
        # White space may still come with the next pieces: the answer begins with its first word.
        self._held, self._state = rest.lstrip(), "before"
        if not self._held:
            return ""
        self._state = "answer"
        return self._released()

    def _kept_back(self, thought: str) -> str:
        safe = max(0, len(thought) - len(_CLOSING) + 1)
        self._thoughts.append(thought[:safe])
        self._held = thought[safe:]
        return ""

    def _released(self) -> str:
        text, self._held = self._held, ""
        return text

"""The last answers by the id of their request, so that who was answered can say what it thinks of it."""

from collections import OrderedDict
from threading import Lock

from elt_llm_core.state.feedback import RatedAnswer


class RecentAnswers:
    """Keeps the `most` last answers in memory, never their text. Safe to use from many threads."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], RatedAnswer] = OrderedDict()
        self._lock = Lock()

    def remember(self, answer: RatedAnswer) -> None:
        """Keep an answer that has a request id; another one of the same caller and id is forgotten."""
        if not answer.request_id:
            return
        with self._lock:
            self._kept[answer.owner, answer.request_id] = answer
            self._kept.move_to_end((answer.owner, answer.request_id))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def of(self, owner: str, request_id: str) -> RatedAnswer | None:
        """The answer that this caller was given to that request, if it is still remembered."""
        with self._lock:
            return self._kept.get((owner, request_id))

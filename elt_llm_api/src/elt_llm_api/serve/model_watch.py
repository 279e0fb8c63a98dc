"""Whether a language model answers where `auto` looks for one, looked at again now and then while a server runs."""

import time
from collections.abc import Callable
from threading import Lock

SECONDS_BETWEEN_LOOKS = 30.0


class ModelWatch:
    """Remembers for each profile whether a model was there, for `seconds`. Safe to use from many threads.

    `look` tells it for the profile of a name, and may take as long as connecting takes; it is called by one at a time
    for a profile that was looked at before, while others go by what was seen last.
    """

    def __init__(
        self, look: Callable[[str], bool], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look, self._seconds, self._clock = look, seconds, clock
        self._seen: dict[str, tuple[float, bool]] = {}
        self._lock = Lock()

    def is_there(self, profile: str) -> bool:
        """Whether a model answers. Raises what looking raises."""
        with self._lock:
            looked_at, seen = self._seen.get(profile, (float("-inf"), False))
            if self._clock() - looked_at < self._seconds:
                return seen
            if profile in self._seen:
                self._seen[profile] = self._clock(), seen
        seen = self._look(profile)
        with self._lock:
            self._seen[profile] = self._clock(), seen
        return seen

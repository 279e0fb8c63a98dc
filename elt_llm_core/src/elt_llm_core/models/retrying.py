"""Tries again what may pass by itself: nothing but errors that say so, a few times, after pauses drawn at random."""

from collections.abc import Callable
from typing import TypeVar

from elt_llm_core.errors import EltError

Result = TypeVar("Result")
ATTEMPTS = 3
FIRST_PAUSE = 0.25  # seconds at most; twice as much before the next
LONGEST_PAUSE = 2.0


def tried_again(call: Callable[[], Result]) -> Result:
    """What `call` returns, at the third attempt at the latest. Raises what its last attempt raised."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, EltError) and error.retryable),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE),
        reraise=True,
    )
    return retrying(call)

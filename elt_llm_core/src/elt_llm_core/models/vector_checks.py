"""Checks of the vectors that a server sends: as many as asked for, alike in length, finite, none of length zero."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.model_server import ModelServer

_CURE = "The server or its model is at fault: load the model anew, or choose another"
_LEAST_ALIKE = 0.99  # cosine of the same text embedded alone and in company; rounding stays far above


def checked_vectors(
    replied: Sequence[Sequence[float]], count: int, dimension: int | None, server: ModelServer
) -> NDArray[np.float32]:
    """The vectors with length 1, shape (count, dimension). `dimension` is none where it is yet to be learnt.

    Raises UnusableReply that names what is wrong.
    """
    if len(replied) != count:
        raise UnusableReply(f"{server} gave {len(replied)} vectors for {count} texts", hint=_CURE)
    try:
        vectors = np.array(replied, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise UnusableReply(f"{server} gave vectors of unlike lengths, or of no numbers", hint=_CURE) from error
    if vectors.ndim != 2 or vectors.shape[1] == 0 or dimension not in {None, vectors.shape[1]}:
        found = vectors.shape[1] if vectors.ndim == 2 else 0
        raise UnusableReply(f"{server} gave vectors of dimension {found} instead of {dimension or 'any'}", hint=_CURE)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise UnusableReply(f"{server} gave a vector that is not finite or has no length", hint=_CURE)
    unit: NDArray[np.float32] = (vectors / lengths[:, None]).astype(np.float32)
    return unit


def check_that_alike(found: NDArray[np.float32], known: NDArray[np.float32], server: ModelServer) -> None:
    """Raises UnusableReply where vectors of length 1, each a row, are not those that were known before."""
    if float(np.min(np.sum(found * known, axis=1))) < _LEAST_ALIKE:
        raise UnusableReply(
            f"{server} embedded a known text otherwise than before: it mixes up the order, or its model changed",
            hint=f"{_CURE}; after a change of the model, run elt-llm ingest with --rebuild",
        )

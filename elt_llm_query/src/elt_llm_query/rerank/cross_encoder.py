"""Scores by a cross-encoder of this machine's own."""

import os
from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import ModelError
from elt_llm_core.models.cross_encoder import DEFAULT_MODEL, CrossEncoder
from elt_llm_core.models.model_folder import find_model_folder, places_of_model

from elt_llm_query.rerank.scorer import Cancelled, Judged

MOST_THREADS = 8


class CrossEncoderScorer:
    """Each passage is read together with the question; nothing leaves the machine."""

    name = "cross-encoder"
    notes = ()

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    @property
    def description(self) -> str:
        """The folder of the model and how much it reads."""
        return f"{self._model.folder}, {self._model.token_limit} tokens"

    def judge(self, question: str, passages: Sequence[str], cancelled: Cancelled | None = None) -> Judged:
        """The model's own scores. Raises ModelError if it fails."""
        return Judged(tuple(self._model.score(question, passages)))


def open_cross_encoder(name: str | None, models_dir: Path | None) -> CrossEncoderScorer:
    """The cross-encoder of that name or folder, else the usual one. Raises ModelError if it is not there or damaged."""
    wanted = name or DEFAULT_MODEL
    folder = find_model_folder(wanted, models_dir)
    if folder is None:
        looked_at = [str(place) for place in places_of_model(wanted, models_dir)] or ["nowhere: no folder of models"]
        raise ModelError(
            f"The cross-encoder '{wanted}' is not on this machine (looked at {', '.join(looked_at)})",
            hint="Copy its model.onnx and tokenizer.json there, name their folder in query.reranker_model,"
            " or set query.reranker_strategy to embedding",
        )
    return CrossEncoderScorer(CrossEncoder(folder, min(os.cpu_count() or 1, MOST_THREADS)))

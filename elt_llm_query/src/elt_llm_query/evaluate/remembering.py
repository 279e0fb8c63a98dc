"""An embedding that embeds a text once: questions of one set read the same sentences again and again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.models.embedding_model import EmbeddingModel
from numpy.typing import NDArray
from pydantic import PrivateAttr

MOST_REMEMBERED = 50_000  # vectors; about 80 MB of 384 numbers each


class RememberingEmbedding(EmbeddingModel):
    """Gives the vectors of the model it was made of. For measuring only, in one thread."""

    _model: EmbeddingModel = PrivateAttr()
    _vectors: dict[str, NDArray[np.float32]] = PrivateAttr(default_factory=dict)

    def __init__(self, model: EmbeddingModel, **kwargs: Any) -> None:
        super().__init__(model_name=model.model_name, **kwargs)
        self._model = model

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """That of the model."""
        return self._model.fingerprint

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the model does, shape (len(texts), dimension); asks it only for texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not texts or len(self._vectors) + len(new) > MOST_REMEMBERED:
            self._vectors.clear()
            return self._model.embed_texts(texts)
        if new:
            self._vectors.update(zip(new, self._model.embed_texts(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """As the model does."""
        return self._model.embed_question(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """As the model does."""
        return self._model.token_spans(text)

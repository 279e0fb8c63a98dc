"""Texts cut to what the embedding model reads, since it refuses longer ones."""

from collections.abc import Sequence

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from numpy.typing import NDArray


def cut(text: str, embedding: EmbeddingModel) -> str:
    """The text up to the model's token limit; one token has at least one character, so short texts are not counted."""
    limit = embedding.token_limit
    if len(text) <= limit:
        return text
    spans = embedding.token_spans(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]]


def embed_cut(texts: Sequence[str], embedding: EmbeddingModel) -> NDArray[np.float32]:
    """One row per text, each embedded once however often it is given."""
    short = [cut(text, embedding) for text in texts]
    distinct = list(dict.fromkeys(short))
    vectors = embedding.embed_texts(distinct)
    rows = {text: row for row, text in enumerate(distinct)}
    return vectors[[rows[text] for text in short]]

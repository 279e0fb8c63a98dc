"""Embedding what has no vector yet, batch by batch, each batch safe before the next begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class Embedded:
    """Texts that were embedded now, and texts whose vectors were there."""

    new: int
    reused: int


def embed_missing(
    store: Store, versions: Sequence[int], embedding: EmbeddingModel, batch_size: int, progress: Progress
) -> Embedded:
    """Give every node of these versions its vector. A run that is cut off loses at most the batch it was at."""
    texts = store.nodes.to_embed(store.documents.indexed(versions))
    fingerprint = embedding.fingerprint.key
    missing = store.vectors.missing(fingerprint, texts)
    progress.stage("embed", len(missing))
    for start in range(0, len(missing), batch_size):
        batch = missing[start : start + batch_size]
        with stage(Stage.EMBED):
            store.vectors.add(fingerprint, batch, embedding.embed_texts([texts[digest] for digest in batch]))
        progress.advance(len(batch))
    return Embedded(new=len(missing), reused=len(texts) - len(missing))

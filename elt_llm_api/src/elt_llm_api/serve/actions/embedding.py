"""Vectors of texts, by the model that the collections are embedded with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from elt_llm_core.errors import UsageError

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.refusals import NotThere
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TEXTS = 256
MOST_CHARACTERS = 1_000_000  # of all texts together
ANY_MODEL = "embedding"
"""A name for whichever model the settings say."""
InputType = Literal["passage", "query"]


@dataclass(frozen=True)
class Embedded:
    """Vectors, shape (texts, dimension), rows of length 1, and the tokens of all texts."""

    model: str
    vectors: "NDArray[np.float32]"
    tokens: int


class Embedding:
    """Embeds texts for callers."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def embed(
        self, _: Principal, model: str, texts: Sequence[str], kind: InputType, dimensions: int | None
    ) -> Embedded:
        """The vectors of texts, as passages or as questions.

        Raises NotThere for another model, UsageError for texts that are empty, too long or too many, Overloaded, and
        ModelError as the model fails.
        """
        known = self._services.embedding.fingerprint
        if model not in {known.model, ANY_MODEL}:
            raise NotThere(f"There is no embedding model '{model}'.", hint=f"It is '{known.model}', or '{ANY_MODEL}'.")
        if dimensions not in {None, known.dimension}:
            raise UsageError(f"Vectors of '{known.model}' have {known.dimension} dimensions, and no other number.")
        if sum(map(len, texts)) > MOST_CHARACTERS:
            raise UsageError(f"At most {MOST_CHARACTERS:,} characters are embedded at once.")
        return await self._services.workers.run(lambda _: self._embed(texts, kind))

    def _embed(self, texts: Sequence[str], kind: InputType) -> Embedded:
        model = self._services.embedding
        tokens = 0
        for number, text in enumerate(texts):
            count = len(model.token_spans(text)) if text.strip() else 0
            if not 0 < count <= model.token_limit:
                raise UsageError(f"Text {number} has {count} tokens; it may have 1 to {model.token_limit}.")
            tokens += count
        import numpy as np

        vectors = model.embed_texts(texts) if kind == "passage" else np.stack([*map(model.embed_question, texts)])
        return Embedded(model.fingerprint.model, vectors, tokens)

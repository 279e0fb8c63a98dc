"""What identifies an embedding model: two collections are comparable only if their fingerprints are equal."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property


@dataclass(frozen=True)
class EmbeddingFingerprint:
    """Everything that changes a vector. `digest` is the sha256 of the model's bytes, or what its server reports."""

    provider: str
    model: str
    digest: str
    dimension: int
    query_prefix: str
    text_prefix: str
    normalised: bool
    token_limit: int

    @cached_property
    def key(self) -> bytes:
        """32 bytes, equal for equal fingerprints on every machine."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).digest()

    def __str__(self) -> str:
        """How messages name it: model, dimension and the first digits of the digest."""
        return f"{self.provider} {self.model} ({self.dimension}-d, {self.digest[:8]})"

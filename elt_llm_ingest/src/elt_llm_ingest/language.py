"""The language a collection is indexed in: one for all its documents, so that their scores can be compared."""

from collections.abc import Sequence

from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language

_DOCUMENTS = 100
_CHARACTERS = 2_000


def collection_language(store: Store, versions: Sequence[int]) -> str:
    """The language of a sample spread over these document versions; English when that does not tell."""
    ordered = sorted(versions)
    step = max(1, len(ordered) // _DOCUMENTS)
    sample = "\n".join(store.documents.text(version)[:_CHARACTERS] for version in ordered[::step])
    return detect_language(sample)

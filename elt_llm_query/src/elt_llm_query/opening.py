"""Opening the collections that are asked together: what cannot be asked is left out, as long as one can, and said."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

from elt_llm_core.collection import check_fingerprint, open_generation
from elt_llm_core.errors import CorruptIndex, EltError, UsageError
from elt_llm_core.generation import Generation
from elt_llm_core.index.vector_indexes import VectorIndexes
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser


@dataclass(frozen=True)
class Opened:
    """Pinned generations in the order of their names, and what was left out."""

    generations: tuple[Generation, ...]
    notes: tuple[str, ...]


def open_all(store: Store, names: Sequence[str], models: Sequence[EmbeddingModel], opened: ExitStack) -> Opened:
    """Open these collections; they are closed with `opened`, and share the vector indexes that may be open at once.

    Raises the first failure if none can be asked; and always UnknownCollection, StoreError, and FingerprintMismatch if
    none of `models`, of which there is one at least, made the vectors of a collection.
    """
    indexes, tokeniser_of = opened.enter_context(VectorIndexes()), cache(KeywordTokeniser)
    generations: list[Generation] = []
    failures: list[tuple[str, EltError]] = []
    for name in names:
        store.collections.get(name)
        try:
            generation = opened.enter_context(open_generation(store, name, indexes=indexes, tokeniser_of=tokeniser_of))
        except (CorruptIndex, UsageError) as failure:  # damaged, or nothing was ever published
            failures.append((name, failure))
            continue
        if generation.passport.fingerprint not in [model.fingerprint for model in models]:
            check_fingerprint(generation.passport, models[0].fingerprint)
        generations.append(generation)
    if failures and not generations:
        raise failures[0][1]
    empty = [one.collection for one in generations if not one.ids]
    left_out = [_left_out(name, failure) for name, failure in failures]
    return Opened(tuple(generations), (*left_out, *(_empty(name) for name in empty)))


def _empty(name: str) -> str:
    return f"Collection '{name}' has no passage. Run: elt-llm ingest PATH -c {name}"


def expanded(collections: Sequence[str], prefixes: Sequence[str], known: Sequence[str]) -> list[str]:
    """The named collections and those that a prefix matches, each once, in that order.

    Raises UsageError if there is none.
    """
    matched = [name for prefix in prefixes for name in known if name.startswith(prefix)]
    names = list(dict.fromkeys([*collections, *matched]))
    if not names:
        raise UsageError(
            "No collection is named." if not prefixes else f"No collection begins with {' or '.join(prefixes)}.",
            hint=f"Add -c NAME. There are: {', '.join(known) or 'none yet; run elt-llm ingest PATH -c NAME'}.",
        )
    return names


def _left_out(name: str, failure: EltError) -> str:
    return f"Collection '{name}' was left out. {failure} {failure.hint or ''}".rstrip()

"""Looking at every row that a generation rests on, not at its checksums alone: vectors and stems."""

from collections.abc import Sequence

import numpy as np

from elt_llm_core.index.contents import read_contents
from elt_llm_core.index.passport import Passport
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import LANGUAGES, KeywordTokeniser

UNIT_TOLERANCE = 1e-3


def unsound_rows(store: Store, record: CollectionRecord, generation: GenerationRecord) -> list[str]:
    """Vectors that are not finite or not of length 1, and stems that their texts no longer give, in sentences."""
    passport = Passport.from_json(generation.passport)
    versions = store.generations.versions(record.id, generation.number)
    contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
    lengths = np.linalg.norm(contents.vectors, axis=1)
    wrong = ~np.isfinite(lengths) | (np.abs(lengths - 1) > UNIT_TOLERANCE)
    found = [f"the vector of node {contents.ids[int(place)]} is not of length 1." for place in np.flatnonzero(wrong)]
    return found + _wrong_stems(store, versions)


def _wrong_stems(store: Store, versions: Sequence[int]) -> list[str]:
    tokenisers = {tokeniser.fingerprint: tokeniser for tokeniser in map(KeywordTokeniser, LANGUAGES)}
    found = []
    for node_id, (made_by, stems, text) in sorted(store.nodes.stems_of_versions(versions).items()):
        tokeniser = tokenisers.get(made_by)  # another version's stems are made anew whenever an index is built
        if tokeniser is not None and " ".join(tokeniser.stems(text)) != stems:
            found.append(f"the stems of node {node_id} are not those of its text.")
    return found

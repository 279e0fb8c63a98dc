"""The keyword index of a generation: BM25 scores of word stems, computed with bm25s."""

import math
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import MAPPED_FROM, damaged
from elt_llm_core.text.stems import KeywordTokeniser

BM25_FOLDER = "bm25"
SMALL_INDEX = 4000  # nodes


class KeywordIndex:
    """A BM25 index that scores every node of a generation. `bm25` is None if no node has a word."""

    def __init__(self, bm25: bm25s.BM25 | None, tokeniser: KeywordTokeniser, size: int) -> None:
        self.bm25 = bm25
        self.tokeniser = tokeniser
        self.size = size

    def scores(self, question: str) -> NDArray[np.float32]:
        """Return the BM25 score of each node, shape (size,); 0 if no stem of the question occurs in the node."""
        known = self._token_ids(self.tokeniser.stems(question))
        if self.bm25 is None or not known:
            return np.zeros(self.size, dtype=np.float32)
        if self.size > SMALL_INDEX:
            scores: NDArray[np.float32] = self.bm25.get_scores_from_ids(known)
            return scores
        # This loop gives the sums of bm25s and is ten times faster for few nodes.
        scores = np.zeros(self.size, dtype=np.float32)
        starts, nodes, weights = (self.bm25.scores[name] for name in ("indptr", "indices", "data"))
        for token in known:
            start, end = starts[token], starts[token + 1]
            scores[nodes[start:end]] += weights[start:end]
        return scores

    def scores_at(self, question: str, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return `scores(question)[positions]`, the scores of these nodes, without scoring every node."""
        if self.size <= SMALL_INDEX:
            return self.scores(question)[positions]
        found = np.zeros(len(positions), dtype=np.float32)
        for stem in self.tokeniser.stems(question):
            having, weights = self._postings(stem)  # ascending, as bm25s sorts them
            if len(having):
                places = np.minimum(np.searchsorted(having, positions.astype(having.dtype)), len(having) - 1)
                found += np.where(having[places] == positions, weights[places], np.float32(0))
        return found

    def document_frequency(self, stem: str) -> int:
        """Return the number of nodes that contain a stem."""
        return len(self._postings(stem)[0])

    def scores_weighing(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """Return the BM25 score of each node for these stems, with the given weights as inverse document frequencies.

        With equal weights, indexes have comparable scores. Otherwise each weights a word by its own nodes.
        """
        scores = np.zeros(self.size, dtype=np.float32)
        for stem, weight in weights.items():
            nodes, shares = self._postings(stem)
            if len(nodes):
                own = math.log1p((self.size - len(nodes) + 0.5) / (len(nodes) + 0.5))
                scores[nodes] += shares * np.float32(weight / own)
        return scores

    def having(self, stems: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of the nodes that contain all of these stems, ascending."""
        found = [self._postings(stem)[0] for stem in dict.fromkeys(stems)]
        common = reduce(partial(np.intersect1d, assume_unique=True), found) if found else np.zeros(0)
        return np.sort(common).astype(np.int64)

    def _postings(self, stem: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the nodes that contain a stem, and the contribution of the stem to the score of each."""
        if self.bm25 is None or not (known := self._token_ids([stem])):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        index = self.bm25.scores
        start, end = int(index["indptr"][known[0]]), int(index["indptr"][known[0] + 1])
        return index["indices"][start:end], index["data"][start:end]

    def _token_ids(self, stems: Sequence[str]) -> list[int]:
        vocabulary = {} if self.bm25 is None else self.bm25.vocab_dict
        return [vocabulary[stem] for stem in stems if stem in vocabulary]


def build_keyword_index(stems: Sequence[Sequence[str]], tokeniser: KeywordTokeniser) -> KeywordIndex:
    """Build an index in memory from one list of stems per node."""
    vocabulary = {stem: number for number, stem in enumerate(sorted({stem for node in stems for stem in node}))}
    if not vocabulary:
        return KeywordIndex(None, tokeniser, len(stems))
    bm25 = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    token_ids = [[vocabulary[stem] for stem in node] for node in stems]
    bm25.index((token_ids, vocabulary), create_empty_token=False, show_progress=False)
    return KeywordIndex(bm25, tokeniser, len(stems))


def write_keyword_index(directory: Path, index: KeywordIndex) -> None:
    """Write an index to a new folder in `directory`. An index without words writes no folder."""
    if index.bm25 is not None:
        index.bm25.save(directory / BM25_FOLDER, show_progress=False, allow_pickle=False)


def read_keyword_index(directory: Path, tokeniser: KeywordTokeniser, size: int) -> KeywordIndex:
    """Open the index of a generation, memory-mapped if it is large. Raises CorruptIndex if it cannot be read."""
    folder = directory / BM25_FOLDER
    if not folder.exists():
        return KeywordIndex(None, tokeniser, size)
    try:
        mapped = max(path.stat().st_size for path in folder.iterdir()) >= MAPPED_FROM
        bm25 = bm25s.BM25.load(folder, load_corpus=False, mmap=mapped, allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise damaged(folder, error) from error
    if int(bm25.scores["num_docs"]) != size:
        raise CorruptIndex(f"{folder} has {bm25.scores['num_docs']} nodes, not {size}.", hint="Run: elt-llm verify")
    for name in ("indptr", "indices", "data"):  # still mapped, but plain arrays, which slice much faster
        bm25.scores[name] = np.asarray(bm25.scores[name])
    return KeywordIndex(bm25, tokeniser, size)

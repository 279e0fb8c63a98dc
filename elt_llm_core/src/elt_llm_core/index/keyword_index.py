"""A generation's keyword index: BM25 scores of word stems, computed with bm25s."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import MAPPED_FROM, damaged, load_array, read_json, save_array
from elt_llm_core.index.searchable import KeywordQuery
from elt_llm_core.text.stems import KeywordTokeniser

BM25_FOLDER = "bm25"
COUNTS_NAME = "counts.npy"
SMALL_INDEX = 4000  # nodes; up to this size, all nodes are scored at once, and the latest scores are kept
K1, B = 1.5, 0.75  # the parameters of BM25
_NO_FACTORS: Mapping[str, float] = {}


class KeywordIndex:
    """A BM25 index that scores every node of a generation. `bm25` is None if no node has a word."""

    def __init__(self, bm25: bm25s.BM25 | None, tokeniser: KeywordTokeniser, size: int) -> None:
        self.bm25 = bm25
        self.tokeniser = tokeniser
        self.size = size
        self._latest: tuple[KeywordQuery, NDArray[np.float32]] | None = None

    @property
    def vocabulary(self) -> Collection[str]:
        """Every stem that occurs in a node."""
        return () if self.bm25 is None else self.bm25.vocab_dict.keys()

    def scores(self, question: str) -> NDArray[np.float32]:
        """Return the BM25 score of each node, shape (size,); 0 if no stem of the question occurs in the node."""
        return self.scores_of(KeywordQuery(tuple(self.tokeniser.stems(question))))

    def scores_of(self, query: KeywordQuery, positions: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the BM25 score of each node, shape (size,), or of the nodes at `positions`, in that order.

        With `positions`, a large index scores only those nodes.
        """
        if positions is not None and self.size <= SMALL_INDEX:
            latest = self._latest  # all nodes' scores for the latest query, such as this one
            return (latest[1] if latest and latest[0] == query else self.scores_of(query))[positions]
        scores = self._sums(query.stems, positions, query.factors)
        for named in query.names:
            best = np.zeros_like(scores)
            for other in named.others:
                parts = [self._sums(word, positions) for word in other.words]
                whole = np.logical_and.reduce([part > 0 for part in parts])
                of_whole = np.asarray(np.where(whole, np.sum(parts, axis=0), 0.0), dtype=np.float32)
                best = np.maximum(best, other.weight * of_whole)
            scores = scores + np.maximum(best - self._sums(named.stems, positions), 0.0, dtype=np.float32)
        if self.size <= SMALL_INDEX:
            scores.setflags(write=False)
            self._latest = query, scores
        return scores

    def _sums(
        self, stems: Sequence[str], positions: NDArray[np.int64] | None, factors: Mapping[str, float] = _NO_FACTORS
    ) -> NDArray[np.float32]:
        """Return the sum of these stems' scores for each node, or for the nodes at `positions`."""
        if positions is None and not factors and self.bm25 is not None and (known := self._token_ids(stems)):
            scores: NDArray[np.float32] = self.bm25.get_scores_from_ids(known)
            return scores
        sums = np.zeros(self.size if positions is None else len(positions), dtype=np.float32)
        for stem in stems:
            nodes, shares = self._postings(stem)  # ascending, as bm25s sorts them
            if stem in factors:
                shares = shares * np.float32(factors[stem])
            if positions is None:
                sums[nodes] += shares
            elif len(nodes):
                places = np.minimum(np.searchsorted(nodes, positions.astype(nodes.dtype)), len(nodes) - 1)
                sums += np.where(nodes[places] == positions, shares[places], np.float32(0))
        return sums

    def document_frequency(self, stem: str, mask: NDArray[np.bool_] | None = None) -> int:
        """Return the number of nodes that contain a stem, counting only nodes allowed by `mask`, shape (size,)."""
        if mask is not None:
            return int(np.count_nonzero(mask[self._postings(stem)[0]]))
        if self.bm25 is None or (number := self.bm25.vocab_dict.get(stem)) is None:
            return 0
        starts = self.bm25.scores["indptr"]
        return int(starts[number + 1]) - int(starts[number])

    def having(self, stems: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of the nodes that contain all of these stems, ascending."""
        found = [self._postings(stem)[0] for stem in dict.fromkeys(stems)]
        common = reduce(partial(np.intersect1d, assume_unique=True), found) if found else np.zeros(0)
        return np.sort(common).astype(np.int64)

    def _postings(self, stem: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the positions of the nodes that contain a stem, and the stem's contribution to the score of each."""
        if self.bm25 is None or not (known := self._token_ids([stem])):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        index = self.bm25.scores
        start, end = int(index["indptr"][known[0]]), int(index["indptr"][known[0] + 1])
        return index["indices"][start:end], index["data"][start:end]

    def _token_ids(self, stems: Sequence[str]) -> list[int]:
        vocabulary = {} if self.bm25 is None else self.bm25.vocab_dict
        return [vocabulary[stem] for stem in stems if stem in vocabulary]


@dataclass(frozen=True)
class TermCounts:
    """The number of occurrences of each stem in each node: a sparse matrix with one column per stem (CSC).

    `vocabulary` are the stems, ascending. The entries of stem i are at `starts[i]:starts[i + 1]` in `nodes` (positions,
    ascending) and `counts` (at least 1). `starts` has shape (number of stems + 1,); `nodes` and `counts` have shape
    (number of entries,). Stems without an entry are left out, so that equal nodes give equal arrays.
    """

    vocabulary: Sequence[str]
    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    counts: NDArray[np.integer[Any]]
    size: int

    @classmethod
    def of_stems(cls, stems: Sequence[Sequence[str]]) -> "TermCounts":
        """Count the stems of each node."""
        vocabulary = sorted(set(chain.from_iterable(stems)))
        numbers = {stem: number for number, stem in enumerate(vocabulary)}
        terms = np.fromiter(map(numbers.__getitem__, chain.from_iterable(stems)), dtype=np.int64)
        owners = np.repeat(np.arange(len(stems)), [len(node) for node in stems])
        keys, counts = np.unique(terms * len(stems) + owners, return_counts=True)
        starts = np.searchsorted(keys, np.arange(len(vocabulary) + 1) * len(stems))
        nodes = (keys % max(1, len(stems))).astype(np.int32)
        return cls(vocabulary, starts, nodes, _narrowed(counts), len(stems))

    def with_changes(self, moved: NDArray[np.int64], added: Mapping[int, Sequence[str]], size: int) -> "TermCounts":
        """Return the counts for `size` nodes, most of which this object already counts, at other positions.

        `moved`, shape (self.size,), is the new position of each node, ascending, or -1 if it was removed or changed.
        `added` are the stems of the nodes at all other positions. The result is the same as from `of_stems`, but only
        the stems in `added` are counted and sorted.
        """
        nodes = moved.astype(np.int32)[self.nodes]
        kept = np.flatnonzero(nodes >= 0)
        frequencies = np.diff(np.searchsorted(kept, self.starts))
        used = [stem for stem, frequency in zip(self.vocabulary, frequencies.tolist(), strict=True) if frequency]
        starts = np.concatenate(([0], np.cumsum(frequencies[frequencies > 0])))
        positions = sorted(added)
        new = TermCounts.of_stems([added[position] for position in positions])
        new_nodes = np.array(positions, dtype=np.int32)[new.nodes]
        return _merged(
            TermCounts(used, starts, nodes[kept], self.counts[kept], size),
            TermCounts(new.vocabulary, new.starts, new_nodes, new.counts, size),
        )

    def weights(self) -> NDArray[np.float32]:
        """Return each entry's BM25 score, shape (entries,), bit for bit as the library bm25s computes it."""
        lengths = np.bincount(self.nodes, weights=self.counts, minlength=self.size)
        frequencies, places = np.unique(np.diff(self.starts), return_inverse=True)
        rarities = [math.log(1 + (self.size - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()]
        rarity = np.repeat(np.array(rarities, dtype=np.float32)[places], np.diff(self.starts))
        norms = K1 * ((1 - B) + B * lengths / lengths.mean())
        weights: NDArray[np.float64] = rarity * (self.counts / (norms[self.nodes] + self.counts))
        return weights.astype(np.float32)


def _merged(many: TermCounts, few: TermCounts) -> TermCounts:
    """Merge the counts of two disjoint sets of nodes. The time depends mostly on the smaller set, `few`."""
    vocabulary = sorted(dict.fromkeys((*many.vocabulary, *few.vocabulary)))
    numbers = {stem: number for number, stem in enumerate(vocabulary)}
    columns_of_many, columns_of_few = (
        np.fromiter(map(numbers.__getitem__, one.vocabulary), dtype=np.int64, count=len(one.vocabulary))
        for one in (many, few)
    )
    frequencies = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    frequencies[columns_of_many + 1] = np.diff(many.starts)
    starts = np.cumsum(frequencies)
    places = np.zeros(len(few.nodes), dtype=np.int64)
    for number, column in enumerate(columns_of_few.tolist()):
        new = slice(few.starts[number], few.starts[number + 1])
        present = many.nodes[starts[column] : starts[column + 1]]
        places[new] = starts[column] + np.searchsorted(present, few.nodes[new])
    frequencies[columns_of_few + 1] += np.diff(few.starts)
    nodes = np.insert(many.nodes, places, few.nodes)
    wide = many.counts.astype(np.promote_types(many.counts.dtype, few.counts.dtype), copy=False)
    counts = _narrowed(np.insert(wide, places, few.counts))
    return TermCounts(vocabulary, np.cumsum(frequencies), nodes, counts, many.size)


def _narrowed(counts: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Convert counts to the smallest integer type that is large enough."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)), copy=False)


def build_keyword_index(stems: Sequence[Sequence[str]], tokeniser: KeywordTokeniser) -> KeywordIndex:
    """Build an index in memory from one list of stems per node."""
    return keyword_index_of(TermCounts.of_stems(stems), tokeniser)


def keyword_index_of(counts: TermCounts, tokeniser: KeywordTokeniser) -> KeywordIndex:
    """Build an index in memory from term counts."""
    if not counts.vocabulary:
        return KeywordIndex(None, tokeniser, counts.size)
    bm25 = bm25s.BM25(method="lucene", k1=K1, b=B)
    bm25.scores = {
        "data": counts.weights(),
        "indices": counts.nodes,
        "indptr": counts.starts,
        "num_docs": counts.size,
    }
    bm25.nonoccurrence_array = None
    bm25.vocab_dict = {stem: number for number, stem in enumerate(counts.vocabulary)}
    bm25.unique_token_ids_set = set(range(len(counts.vocabulary)))
    return KeywordIndex(bm25, tokeniser, counts.size)


def write_keyword_index(directory: Path, index: KeywordIndex, counts: TermCounts) -> None:
    """Write an index and its term counts to a new folder in `directory`. If no node has words, nothing is written."""
    if index.bm25 is not None:
        index.bm25.save(directory / BM25_FOLDER, show_progress=False, allow_pickle=False)
        save_array(directory / BM25_FOLDER / COUNTS_NAME, counts.counts)


def read_term_counts(directory: Path, size: int) -> TermCounts | None:
    """Return the term counts of a generation of `size` nodes, or None if an older program version stored none.

    Raises CorruptIndex if a file cannot be read. The caller must have checked the files' hashes.
    """
    folder = directory / BM25_FOLDER
    if not (folder / COUNTS_NAME).is_file():
        return None
    starts, nodes = (load_array(folder / f"{name}.csc.index.npy", mapped=False) for name in ("indptr", "indices"))
    vocabulary = list(read_json(folder / "vocab.index.json"))  # its keys are in the order of the stems' numbers
    return TermCounts(vocabulary, starts, nodes, load_array(folder / COUNTS_NAME, mapped=False), size)


def read_keyword_index(directory: Path, tokeniser: KeywordTokeniser, size: int) -> KeywordIndex:
    """Open a generation's index, memory-mapped if it is large. Raises CorruptIndex if it cannot be read."""
    folder = directory / BM25_FOLDER
    if not folder.exists():
        return KeywordIndex(None, tokeniser, size)
    try:
        mapped = max(path.stat().st_size for path in folder.iterdir()) >= MAPPED_FROM
        bm25 = bm25s.BM25.load(folder, load_corpus=False, mmap=mapped, allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise damaged(folder, error) from error
    if int(bm25.scores["num_docs"]) != size:
        raise CorruptIndex(
            f"The keyword index in {folder} has {bm25.scores['num_docs']} nodes, but {size} were expected.",
            hint="Run: elt-llm verify",
        )
    for name in ("indptr", "indices", "data"):  # still mapped, but no longer np.memmap, which is much slower to slice
        bm25.scores[name] = np.asarray(bm25.scores[name])
    return KeywordIndex(bm25, tokeniser, size)

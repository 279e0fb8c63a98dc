"""Generated chunks for benchmarks, made of sentences of real ones, with vectors that need no embedding.

A generated chunk has at least three sentences of one real chunk and two of another. Its vector is .85 of the first
vector plus .15 of the second plus a little noise, normalized. So word frequencies and clusters of vectors are like
those of real texts. The questions are real, and embedding them is part of the measured time.
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel, WrappedEmbedding
from numpy.typing import NDArray
from pydantic import PrivateAttr

SETS = ("squad2", "hotpotqa-100", "scifact")
WORDS_A_PASSAGE = 100
PASSAGES_A_FILE = 20
YEARS = (
    *range(2000, 2025),
    *range(1975, 2000),
)  # years of the files in turn: one year selects 2 % of the files, year>=2000 selects 50 %
NOISE = 0.015
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_NUMBER = re.compile(r"\b\d{7}\b")


@dataclass(frozen=True)
class Source:
    """Real chunks as lists of sentences, their vectors, shape (number of chunks, dimension), and real questions."""

    passages: Sequence[Sequence[str]]
    vectors: NDArray[np.float32]
    questions: Sequence[str]


def read_source(datasets: Path, model: EmbeddingModel, cache: Path) -> Source:
    """Read the source from the data sets; the vectors of its chunks are cached below `cache`."""
    passages = [sentences for name in SETS for sentences in _passages(datasets / "eval" / name / "corpus.jsonl")]
    kept = cache / f"vectors-{model.fingerprint.key.hex()[:16]}-{len(passages)}.npy"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(kept, model.embed_texts([" ".join(sentences[:3])[:500] for sentences in passages]))
    questions = {" ".join(text.split()): None for name in SETS for text in _questions(datasets / "eval" / name)}
    shuffled = list(questions)
    random.Random(1).shuffle(shuffled)  # noqa: S311 - repeatable, not secret
    return Source(passages, np.load(kept), shuffled)


def _passages(corpus: Path) -> list[list[str]]:
    found = []
    for line in corpus.read_text(encoding="utf-8").splitlines():
        text = " ".join(json.loads(line)["text"].split())
        sentences = [sentence for sentence in _SENTENCE_END.split(text) if 4 <= len(sentence.split()) <= 45]
        if len(sentences) >= 3:
            found.append(sentences)
    return found


def _questions(folder: Path) -> list[str]:
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)["text"]) for line in lines]


@dataclass(frozen=True)
class GeneratedChunk:
    """A generated chunk: its text, and the positions of its two real chunks."""

    text: str
    first: int
    second: int


def generated_chunk(source: Source, number: int) -> GeneratedChunk:
    """Generate the chunk of a number, the same for the same source."""
    chance = random.Random(number)  # noqa: S311 - repeatable, not secret
    first, second = chance.randrange(len(source.passages)), chance.randrange(len(source.passages))
    own = list(source.passages[first][:6])
    chance.shuffle(own)
    others = chance.sample(list(source.passages[second]), 2)
    kept: list[str] = []
    for sentence in (*own[:3], *others, *own[3:]):
        if sum(len(one.split()) for one in (*kept, sentence)) > WORDS_A_PASSAGE:
            break
        kept.append(sentence)
    return GeneratedChunk(" ".join(kept), first, second)


def write_corpus(folder: Path, source: Source, count: int, first: int = 0) -> Path:
    """Write Markdown files that are split into `count` chunks under numbered headings; each file has a year."""
    folder.mkdir(parents=True)
    for place, start in enumerate(range(first, first + count, PASSAGES_A_FILE)):
        numbers = range(start, min(start + PASSAGES_A_FILE, first + count))
        parts = [f"## {number:07}\n\n{generated_chunk(source, number).text}\n" for number in numbers]
        head = f"---\nyear: {YEARS[place % len(YEARS)]}\n---\n# Library {place}\n\n"
        (folder / f"file-{place:05}.md").write_text(head + "\n".join(parts), encoding="utf-8")
    return folder


class GeneratedVectors(WrappedEmbedding):
    """Wraps the real model under its fingerprint: chunks get the vector of their number, questions a real one."""

    _source: Source = PrivateAttr()

    def __init__(self, source: Source, model: EmbeddingModel) -> None:
        super().__init__(model)
        self._source = source

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of generated chunks, shape (len(texts), dimension)."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        found = _NUMBER.search(text)
        number = int(found.group()) if found else 0
        made, vectors = generated_chunk(self._source, number), self._source.vectors
        noise = np.random.default_rng(number).normal(size=vectors.shape[1]) * NOISE
        mixed = 0.85 * vectors[made.first] + 0.15 * vectors[made.second] + noise
        vector: NDArray[np.float32] = (mixed / np.linalg.norm(mixed)).astype(np.float32)
        return vector

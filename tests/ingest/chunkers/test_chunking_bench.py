"""Measure how fast each chunker cuts the handbooks, and how well partial sentences retrieve their chunks."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import get_args

import bm25s
import numpy as np
import pytest
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.settings.tree import ChunkingSettings
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import create_reader
from numpy.typing import NDArray

STRATEGIES = get_args(ChunkingSettings.model_fields["strategy"].annotation)
HANDBOOKS = {
    "debian-policy": ("debian-policy/html/ch-*.html",),
    "govuk": ("govuk-data-standards/content/**/*.md",),
}
QUESTIONS = 200
READ = 8  # chunks given to the answerer

pytestmark = pytest.mark.bench


@dataclass(frozen=True)
class BenchChunk:
    """A chunk of document number `document`."""

    document: int
    span: ChunkSpan
    embedded: str

    def shows(self, document: int, place: int) -> bool:
        """Whether this chunk, or its parent, contains a gold span."""
        start, end = self.span.parent or (self.span.start, self.span.end)
        return document == self.document and start <= place < end


def _documents(datasets: Path, name: str) -> list[ParsedDocument]:
    paths = sorted(path for pattern in HANDBOOKS[name] for path in (datasets / "handbooks").glob(pattern))
    readers = [(path, create_reader(path)) for path in paths]
    return [reader.read(path) for path, reader in readers if reader is not None]


def _bench_chunks(documents: Sequence[ParsedDocument], strategy: str, model: EmbeddedMiniLm) -> list[BenchChunk]:
    chunker = create_chunker(ChunkingSettings.model_validate({"strategy": strategy}), model)
    return [
        BenchChunk(number, span, f"{span.context}\n{document.text[span.start : span.end]}")
        for number, document in enumerate(documents)
        for span in chunker.spans(document)
    ]


def _questions(documents: Sequence[ParsedDocument]) -> list[tuple[str, int, int]]:
    """Return questions, made of every second word of a sentence, with its document's number and its middle offset."""
    found = [
        (" ".join(words[::2]), number, (start + end) // 2)
        for number, document in enumerate(documents)
        for start, end in sentence_spans(document.text)
        if 12 <= len(words := document.text[start:end].split()) <= 40
    ]
    return found[:: max(1, len(found) // QUESTIONS)][:QUESTIONS]


def _rankings(
    chunks: Sequence[BenchChunk], questions: Sequence[str], model: EmbeddedMiniLm
) -> Iterator[NDArray[np.intp]]:
    """Rank the chunks of each question by half cosine and half keywords, as the default ranking does."""
    tokeniser = KeywordTokeniser("en")
    keywords = bm25s.BM25()
    keywords.index([tokeniser.stems(chunk.embedded) for chunk in chunks], show_progress=False)
    vectors = model.embed_texts([chunk.embedded for chunk in chunks])
    for question in questions:
        cosines = vectors @ model.embed_question(question)
        scores = keywords.get_scores(tokeniser.stems(question))
        blended = (cosines - cosines.min()) / np.ptp(cosines) + scores / max(float(scores.max()), 1e-9)
        yield np.argsort(-blended, kind="stable")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("handbook", sorted(HANDBOOKS))
def test_a_query_with_half_of_the_words_of_a_sentence_retrieves_the_chunk_of_the_sentence(
    datasets: Path, handbook: str, strategy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = EmbeddedMiniLm()
    documents = _documents(datasets, handbook)
    chunks = _bench_chunks(documents, strategy, model)
    questions = _questions(documents)
    ranks = [
        next((rank for rank, found in enumerate(ranking) if chunks[found].shows(document, place)), len(chunks))
        for ranking, (_, document, place) in zip(
            _rankings(chunks, [question for question, _, _ in questions], model), questions, strict=True
        )
    ]
    figures = [
        f"{len(chunks)} chunks",
        f"median {median(chunk.span.tokens for chunk in chunks):.0f} tokens",
        f"first {fmean(rank == 0 for rank in ranks):.3f}",
        f"within {READ} {fmean(rank < READ for rank in ranks):.3f}",
        f"reciprocal rank {fmean(1 / (rank + 1) for rank in ranks):.3f}",
    ]
    _print(capsys, f"{handbook} {strategy}: {', '.join(figures)}")
    assert fmean(rank < READ for rank in ranks) > 0.6


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_chunking_takes_a_small_fraction_of_the_embedding_time(
    datasets: Path, strategy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = EmbeddedMiniLm()
    model.token_spans("load the vocabulary")
    marks = [time.process_time()]
    documents = [document for name in HANDBOOKS for document in _documents(datasets, name)]
    marks.append(time.process_time())
    chunks = _bench_chunks(documents, strategy, model)
    marks.append(time.process_time())
    languages = {detect_language(document.text) for document in documents}
    marks.append(time.process_time())
    tokenisers = [KeywordTokeniser(language) for language in languages]
    for chunk in chunks:
        tokenisers[0].stems(chunk.embedded)
    marks.append(time.process_time())
    each = [1000 * (after - before) / len(chunks) for before, after in pairwise(marks)]
    names = ("reading", "cutting", "language", "stems")
    costs = ", ".join(f"{name} {cost:.3f}" for name, cost in zip(names, each, strict=True))
    speed = f"{1000 / each[1]:.0f} chunks per second of one processor"
    _print(capsys, f"{strategy}: {speed}; ms a chunk: {costs}, all {sum(each):.3f}")
    assert sum(each) < 7  # ten times what it takes


def _print(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        print(f"\n{line}", end="")  # noqa: T201 - figures are what a bench is for

"""The contract of every chunker: chunks are spans of the text, none over the limit; no text is lost; results repeat."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.settings.tree import ChunkingSettings
from elt_llm_core.text.outline import Section
from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan, SpanChunker
from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument
from elt_llm_ingest.readers import SUPPORTED_SUFFIXES, create_reader, has_formats
from file_formats.further import FURTHER
from file_formats.samples import SAMPLES as PLAIN_SAMPLES
from hypothesis import given
from hypothesis import strategies as st
from sampling import sampled

FURTHER_SAMPLES = {suffix: make("A", "Words of a page.") for suffix, make in FURTHER.items()} if has_formats() else {}
SAMPLES = PLAIN_SAMPLES | FURTHER_SAMPLES
STRATEGIES = get_args(ChunkingSettings.model_fields["strategy"].annotation)
REAL_FILES = 1  # documents of each format


@dataclass(frozen=True)
class PieceCounter:
    """Counts tokens of up to four letters. A sign is one token, and so is a word of more than 100 letters."""

    token_limit: int = 60

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for word in re.finditer(r"\w+|[^\w\s]", text):
            step = 4 if word.end() - word.start() <= 100 else word.end() - word.start()
            spans += [(at, min(at + step, word.end())) for at in range(word.start(), word.end(), step)]
        return spans


def chunker(strategy: str, size: int = 30, overlap: int = 8, limit: int = 60, table: int = 40) -> SpanChunker:
    settings = ChunkingSettings.model_validate(
        {"strategy": strategy, "chunk_size": size, "chunk_overlap": overlap, "table_chunk_size": table}
    )
    return create_chunker(settings, PieceCounter(limit))


def check_chunks(document: ParsedDocument, cut: SpanChunker) -> None:
    """Check that the chunks are ordered, contain the whole text and keep the limits, and that a second run is equal."""
    spans = cut.spans(document)
    covered = 0
    for span in spans:
        passage = document.text[span.start : span.end]
        assert passage
        assert passage == passage.strip()
        assert not document.text[covered : span.start].strip()
        covered = max(covered, span.end)
        embedded = f"{span.context}\n{passage}" if span.context else passage
        tokens = cut.counter.token_spans(embedded)
        assert len(tokens) <= cut.counter.token_limit
        size = cut.table_chunk_size if span.kind == "table" else cut.chunk_size
        assert sum(end > len(embedded) - len(passage) for _, end in tokens) == span.tokens <= size
    assert not document.text[covered:].strip()
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    assert spans == cut.spans(document)
    check_parents(document, spans)


def check_parents(document: ParsedDocument, spans: list[ChunkSpan]) -> None:
    """Check that each chunk is inside its parent and that parents do not overlap."""
    parents = sorted({span.parent for span in spans if span.parent})
    assert len({span.parent is None for span in spans}) <= 1
    assert all(span.parent is None or span.parent[0] <= span.start < span.end <= span.parent[1] for span in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(parents))
    assert all(document.text[start:end].strip() == document.text[start:end] for start, end in parents)


WORDS = st.sampled_from(
    ["team", "goal", "rule", "offside", "a", "Dr.", "3.5", "C++", "x" * 150, "ü", "🎉", "\u00a0", "it's", "end.", "So?"]
)
LINES = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
KINDS = st.sampled_from(get_args(BlockKind))


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    """Generate texts with headings, tables, pages and gaps that no block covers."""
    text, blocks, sections, pages, header = "", [], [], [0], ""
    for _ in range(draw(st.integers(0, 12))):
        kind, line = draw(KINDS), draw(LINES)
        text += draw(st.sampled_from(["\n\n", "\n", " \n\t\n", "\n\nloose words\n\n"]))
        start = len(text)
        text += line
        if not line.strip():
            continue
        if kind == "heading":
            sections.append(Section(start, draw(st.integers(1, 4)), line[:90]))
        header = draw(st.sampled_from(["", "name | value", "h" * 300])) if kind == "table" else ""
        blocks.append(Block(start, len(text), kind, header))
        if draw(st.booleans()):
            pages.append(start)
    title = draw(st.sampled_from(["", "Handbook", "A title of many words " * 30]))
    return ParsedDocument(text, title, tuple(pages), tuple(sections), tuple(blocks))


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(document=documents(), size=st.integers(16, 60), overlap=st.integers(0, 40))
def test_chunks_cover_the_whole_text_and_fit_the_token_limit_of_the_embedding_model(
    strategy: str, document: ParsedDocument, size: int, overlap: int
) -> None:
    check_chunks(document, chunker(strategy, size, overlap))


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(text=st.text(max_size=400))
def test_the_chunks_of_any_text_without_headings_cover_the_whole_text(strategy: str, text: str) -> None:
    spans = chunker(strategy).spans(ParsedDocument(text, "Any"))
    covered = {position for span in spans for position in range(span.start, span.end)}
    assert all(position in covered or letter.isspace() for position, letter in enumerate(text))
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] != "" for span in spans)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_word_longer_than_a_chunk_is_split_by_characters(strategy: str) -> None:
    text = "word " * 3 + "x" * 5000
    spans = chunker(strategy).spans(ParsedDocument(text, "Long"))
    assert len(spans) > 10
    assert spans[-1].end == len(text)
    assert max(span.end - span.start for span in spans) < 500


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_chunker_fingerprint_depends_on_strategy_and_sizes(strategy: str) -> None:
    others = {chunker(other, size).fingerprint for other in STRATEGIES for size in (20, 30)}
    assert len(others) == 2 * len(STRATEGIES)
    assert chunker(strategy).fingerprint == chunker(strategy).fingerprint
    assert chunker(strategy, table=50).fingerprint != chunker(strategy).fingerprint


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_overlap_of_two_chunks_consists_of_whole_sentences(strategy: str) -> None:
    text = " ".join(f"Sentence number {number} ends here." for number in range(30))
    spans = chunker(strategy, size=30, overlap=8).spans(ParsedDocument(text, "Shared"))
    assert len(spans) > 3
    for before, after in pairwise(spans):
        shared = text[after.start : before.end]
        assert shared.startswith("Sentence number")
        assert shared.endswith("here.")


@pytest.mark.sampled(126)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_every_chunker_fulfils_the_chunker_contract_on_every_file_format(
    tmp_path: Path, suffix: str, strategy: str
) -> None:
    path = tmp_path / f"sample{suffix}"
    path.write_bytes(SAMPLES[suffix])
    reader = create_reader(path)
    assert reader is not None
    document = reader.read(path)
    for size in (16, 30, 200):
        check_chunks(document, chunker(strategy, size))


@pytest.fixture(scope="module")
def real_documents(datasets: Path) -> list[ParsedDocument]:
    """Real files of every format, all of them with `make faults`, and the documents inside them."""
    files = [path for path in (*datasets.glob("docs/*"), *datasets.glob("handbooks/**/*")) if path.is_file()]
    readable = sorted(path for path in files if path.suffix.lower() in SUPPORTED_SUFFIXES)
    by_suffix = [[path for path in readable if path.suffix.lower() == suffix] for suffix in sorted(SUPPORTED_SUFFIXES)]
    found: list[ParsedDocument] = []
    for path in (path for paths in by_suffix for path in sampled(paths, REAL_FILES)):
        reader = create_reader(path)
        if reader is not None:
            try:
                document = reader.read(path)
            except UnreadableDocument:
                continue
            found += [document, *(part.document for part in document.parts)]
    return found


@pytest.mark.sampled(1)
@pytest.mark.faults
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_chunker_fulfils_the_chunker_contract_on_real_files(
    real_documents: list[ParsedDocument], strategy: str
) -> None:
    cut = create_chunker(ChunkingSettings.model_validate({"strategy": strategy}), EmbeddedMiniLm())
    for document in real_documents:
        check_chunks(document, cut)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("filling", [" ", "\u0301", "\u200b"])
def test_a_chunk_of_text_without_tokens_has_a_length_limit(strategy: str, filling: str) -> None:
    text = f"word{filling * 20_000}word" * 3
    spans = chunker(strategy).spans(ParsedDocument(text, "Filled"))
    assert max(span.end - span.start for span in spans) <= 64 * 40
    covered = {position for span in spans for position in range(span.start, span.end)}
    assert all(position in covered or letter.isspace() for position, letter in enumerate(text))

"""The readers of the project against kreuzberg on 60 generated documents of each format, and on real documents.

Run with: `uv run --all-extras --all-groups pytest -m bench -n 0 -s tests/bench/test_formats_bench.py`
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import create_reader
from elt_llm_ingest.readers.markdown import markdown_document
from grounding_data.agreement import words
from optional import needs

needs("kreuzberg", "docx", "pptx", "fpdf", "openpyxl")

from bench_documents import WRITERS, GoldDocument, generate  # noqa: E402 - needs the modules above

pytestmark = pytest.mark.bench

COUNT = 60
MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".md": "text/markdown",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".html": "text/html",
    ".epub": "application/epub+zip",
    ".odt": "application/vnd.oasis.opendocument.text",
}
Read = Callable[[Path], ParsedDocument]


@dataclass
class Score:
    """Sums over all documents: the shares of words, headings and cells that a reader kept, and its seconds."""

    words: float = 0
    headings: float = 0
    cells: float = 0
    order: float = 0
    seconds: float = 0

    def line(self, count: int) -> str:
        """Return the means over `count` documents as the cells of a table row, separated by bars."""
        shares = (f"{value / count:.1%}" for value in (self.words, self.headings, self.cells, self.order))
        return " | ".join((*shares, f"{self.seconds / count * 1000:.1f} ms"))


def read_ours(path: Path) -> ParsedDocument:
    """Read a file with this project's reader for its suffix."""
    reader = create_reader(path)
    assert reader is not None
    return reader.read(path)


def read_kreuzberg(path: Path) -> ParsedDocument:
    """Read with kreuzberg, and parse the Markdown that it returns with the project's Markdown reader."""
    from kreuzberg import ExtractionConfig, extract_bytes_sync

    config = ExtractionConfig(output_format="markdown", use_cache=False)
    result = extract_bytes_sync(path.read_bytes(), MEDIA_TYPES[path.suffix], config)
    return markdown_document(result.content.replace("\r\n", "\n"), path.stem)


def add_scores(score: Score, gold: GoldDocument, read: ParsedDocument) -> None:
    """Add the shares of one document to the sums."""
    positions = {token: read.text.find(token) for token in gold.tokens}
    found = [position for position in positions.values() if position >= 0]
    score.words += len(found) / len(positions)
    score.order += sum(a < b for a, b in pairwise(found)) / max(1, len(found) - 1)
    lowest = min((section.level for section in read.sections), default=1)
    levels = {words(section.title): section.level - lowest + 1 for section in read.sections}
    right = sum(levels.get(words(title)) == level for level, title in gold.headings)
    score.headings += right / len(gold.headings) if gold.headings else 1
    score.cells += _right_cells(gold, read, positions) / len(gold.cells) if gold.cells else 1


def _right_cells(gold: GoldDocument, read: ParsedDocument, positions: dict[str, int]) -> int:
    """Count the cells whose block has exactly the cells of their row, each at the position of its column."""
    right = 0
    for block in read.blocks:
        text = read.text[block.start : block.end]
        inside = [cell for cell in gold.cells if block.start <= positions[cell] < block.end]
        inside.sort(key=text.find)
        if len({gold.cells[cell][0] for cell in inside}) == 1:
            right += sum(gold.cells[cell][1] == place for place, cell in enumerate(inside))
    return right


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_both_programs_are_compared_on_sixty_generated_documents_of_each_format(tmp_path: Path, suffix: str) -> None:
    scores = {"ours": Score(), "kreuzberg": Score()}
    for number in range(COUNT):
        gold = generate(random.Random(number), suffix)  # noqa: S311 - repeatable, not secret
        path = tmp_path / f"document-{number}{suffix}"
        path.write_bytes(WRITERS[suffix](gold))
        for name, read in (("ours", read_ours), ("kreuzberg", read_kreuzberg)):
            started = time.perf_counter()
            document = read(path)
            scores[name].seconds += time.perf_counter() - started
            add_scores(scores[name], gold, document)
    for name, score in scores.items():
        print(f"\n| {suffix} | {name} | {score.line(COUNT)} |", end="")  # noqa: T201


def _real_files(datasets: Path, suffix: str) -> Iterator[Path]:
    for folder in ("docs", "handbooks", "glossaries", "eval", "asked"):
        yield from sorted((datasets / folder).rglob(f"*{suffix}"))


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_both_programs_are_compared_on_real_documents_of_each_format(datasets: Path, suffix: str) -> None:
    """Print which share of the words that either reader found each reader found, and the seconds."""
    from kreuzberg import KreuzbergError

    kept, seconds, refused, count = [0.0, 0.0], [0.0, 0.0], [0, 0], 0
    for path in list(_real_files(datasets, suffix))[:COUNT]:
        found: list[set[str]] = []
        for place, read in enumerate((read_ours, read_kreuzberg)):
            started = time.perf_counter()
            try:
                found.append(set(words(read(path).text).split()))
            except (UnreadableDocument, KreuzbergError, ValueError):
                refused[place] += 1
                found.append(set())
            seconds[place] += time.perf_counter() - started
        if either := found[0] | found[1]:
            count += 1
            for place in (0, 1):
                kept[place] += len(found[place]) / len(either)
    for place, name in enumerate(("ours", "kreuzberg")):
        mean = f"{kept[place] / max(1, count):.1%} of the words of either | {seconds[place] / max(1, count):.3f} s"
        print(f"\n| real {suffix} | {name} | {count} files, {refused[place]} refused | {mean} |", end="")  # noqa: T201

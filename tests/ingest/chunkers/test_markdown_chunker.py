"""The default chunker cuts at headings, keeps table rows whole, and adds headings as the context of chunks."""

import re
import time
from pathlib import Path

from elt_llm_core.text.outline import Section
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.markdown import MarkdownReader
from retrieval.word_counter import word_chunker


def _chunks(folder: Path, source: str, **sizes: int) -> list[tuple[ChunkSpan, str]]:
    path = folder / "note.md"
    path.write_text(source)
    document = MarkdownReader().read(path)
    return [(span, document.text[span.start : span.end]) for span in word_chunker("markdown", **sizes).spans(document)]


def test_a_chunk_stays_within_its_section(tmp_path: Path) -> None:
    sections = "".join(f"## Part {n}\n\n" + f"Part {n} says this. " * 8 + "\n\n" for n in range(3))
    chunks = _chunks(tmp_path, f"# Book\n\n{sections}", chunk_size=40)
    assert [len(set(re.findall(r"Part (\d)", text))) for _, text in chunks] == [1, 1, 1]
    assert chunks[0][1].startswith("# Book\n\n## Part 0")


def test_small_sections_with_the_same_parent_section_share_a_chunk(tmp_path: Path) -> None:
    source = "# Terms\n\n## Ball\n\nRound.\n\n## Goal\n\nTwo posts.\n\n# Rules\n\nPlay fair.\n"
    texts = [text for _, text in _chunks(tmp_path, source, chunk_size=60)]
    assert len(texts) == 1 or ("## Ball" in texts[0] and "## Goal" in texts[0])


def test_the_context_of_a_chunk_has_the_headings_above_it_but_not_the_heading_inside_it(tmp_path: Path) -> None:
    source = "# Book\n\n## Part\n\n" + "Some words stand here. " * 20
    first, second, *_ = [span.context for span, _ in _chunks(tmp_path, source, chunk_size=30)]
    assert first == "Book"
    assert second == "Book > Part"


def test_table_rows_stay_whole_and_later_rows_have_the_header_row_as_context(tmp_path: Path) -> None:
    rows = "".join(f"| club {n} | town {n} |\n" for n in range(40))
    chunks = _chunks(tmp_path, f"# Clubs\n\n| Club | Town |\n|---|---|\n{rows}", chunk_size=30, table_chunk_size=50)
    assert len(chunks) > 3
    assert all(line.count("|") == 3 for _, text in chunks for line in text.split("\n") if "club" in line)
    assert "Club | Town" in chunks[0][1]
    assert all(span.context.endswith("Club | Town") and span.kind == "table" for span, _ in chunks[1:])


def test_a_code_block_that_fits_into_a_chunk_is_not_cut(tmp_path: Path) -> None:
    code = "```\n" + "\n".join(f"line {n} of code" for n in range(8)) + "\n```"
    chunks = _chunks(tmp_path, f"# A\n\n{'Words before. ' * 20}\n\n{code}\n", chunk_size=45)
    assert any(code in text for _, text in chunks)


def test_chunks_have_correct_offsets_when_the_same_text_occurs_several_times(tmp_path: Path) -> None:
    path = tmp_path / "same.md"
    path.write_text("# Same\n\n" + "The same sentence again. " * 60)
    documents = MarkdownReader().load_data(path)
    nodes = word_chunker("markdown", chunk_size=20).get_nodes_from_documents(documents)
    text = documents[0].text
    starts = [getattr(node, "start_char_idx") for node in nodes]  # noqa: B009
    assert len(set(starts)) == len(nodes) > 5
    for node, start in zip(nodes, starts, strict=True):
        assert text[start : start + len(node.get_content())] == node.get_content()
    assert nodes[1].metadata["section"] == "Same"
    assert nodes[1].metadata["context"] == "Same"


def test_a_heading_of_one_megabyte_is_not_tokenised_again_for_each_lower_heading() -> None:
    rest = "".join(f"Part {number}\n\n" for number in range(3000))
    text = f"Top\n\n{rest}"
    starts = [text.index(f"Part {number}\n") for number in range(3000)]
    sections = (Section(0, 1, "word " * 200_000), *(Section(start, 2, text[start : start + 8]) for start in starts))
    begun = time.monotonic()
    spans = word_chunker("markdown", chunk_size=20).spans(ParsedDocument(text, "word " * 200_000, sections=sections))
    assert len(spans) >= 150
    assert max(len(span.context.split()) for span in spans) <= 45
    assert time.monotonic() - begun < 40  # counting it each time took many minutes

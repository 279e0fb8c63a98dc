"""The table-aware chunker keeps rows whole, separate from prose, and with their header row."""

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from retrieval.word_counter import cut_into_words


def _document(rows: int, prose: str = "Some words before it.") -> ParsedDocument:
    builder = DocumentBuilder()
    builder.add_heading("Clubs", 1)
    builder.add(prose)
    builder.add_heading("Towns", 2)
    builder.add("Club | Town", "table")
    for number in range(rows):
        builder.add(f"club {number} | town {number}", "table", header="Club | Town", tight=True)
    builder.add("Some words after it.")
    return builder.build("Book")


def test_even_a_small_table_gets_its_own_chunk_together_with_its_heading() -> None:
    texts = [text for _, text in cut_into_words(_document(2), "table_aware", chunk_size=100)]
    assert [text.split("\n")[0] for text in texts] == ["Clubs", "Towns", "Some words after it."]


def test_table_rows_stay_whole_and_have_their_header_row() -> None:
    chunks = cut_into_words(_document(40), "table_aware", chunk_size=100, table_chunk_size=30)
    tables = [(span, text) for span, text in chunks if span.kind == "table"]
    assert len(tables) > 5
    assert all(line.count("|") == 1 for _, text in tables[1:] for line in text.split("\n"))
    assert all(span.context.endswith("Club | Town") for span, _ in tables[1:])


def test_the_table_aware_chunker_cuts_prose_as_the_sentence_chunker_does() -> None:
    builder = DocumentBuilder()
    builder.add("A sentence of five words. " * 40)
    document = builder.build("Book")
    assert cut_into_words(document, "table_aware", chunk_size=20) == cut_into_words(document, "sentence", chunk_size=20)

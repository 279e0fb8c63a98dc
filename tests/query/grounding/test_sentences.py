"""Text that gives context to a sentence but is never quoted: questions, headings, captions, table headers."""

import pytest
from elt_llm_query.grounding.sentences import row_as_text, sentence_candidates, split_pieces
from retrieval.chunks import make_answerer, make_chunk

FAQ = (
    "Loans\n\nWhat do I do when a book gets wet?\n\nDry it between two towels and bring it to the desk.\n\n"
    "Who binds the atlases?\n\nThe binder on the second floor does. She takes a fortnight."
)
TABLE = "Who does what\nRole | Answers for\nArchivist | Keeps the maps\nPorter | Opens the gates\n\nThe hall is cold."


def test_a_question_in_the_text_is_the_topic_of_the_sentences_after_it() -> None:
    answer = make_answerer(abstain=False).answer("Who binds the atlases?", [make_chunk(FAQ)], max_sentences=1)
    assert answer.text == "The binder on the second floor does. [1]"


def test_a_question_in_a_chunk_is_never_quoted() -> None:
    assert all("?" not in candidate.text for candidate in sentence_candidates([make_chunk(FAQ)]))


def test_a_question_within_a_paragraph_is_the_topic_of_only_that_paragraph() -> None:
    found = sentence_candidates([make_chunk("Is it cold? It is, in the hall.\n\nThe gates open at nine o'clock.")])
    assert [candidate.under_question for candidate in found] == [True, False]


def test_a_question_in_the_heading_above_the_chunk_is_a_topic() -> None:
    chunk = make_chunk("Only the binder may do that.", context="Loans > Who mends the maps?")
    assert sentence_candidates([chunk])[0].topic == "Who mends the maps?"


@pytest.mark.parametrize(
    "heading", ["Part C: Loans and fines", "6. Atlases", "A3.1 The reading room", "Opening hours", "## Opening hours"]
)
def test_a_heading_is_never_quoted(heading: str) -> None:
    found = sentence_candidates([make_chunk(f"The hall is heated.\n\n{heading}\n\nAtlases stay in the hall.")])
    assert [candidate.text for candidate in found] == ["The hall is heated.", "Atlases stay in the hall."]


def test_a_line_that_equals_a_known_section_title_is_a_heading_in_any_style() -> None:
    chunk = make_chunk("All about the fines of 1874.\nFines are low in this house.", context="Rules")
    titled = make_chunk("All about the fines of 1874.\n\nFines are low in this house.", context="About the fines")
    assert split_pieces(chunk.text, [])[0].kind == "prose"
    assert split_pieces(titled.text, ["All about the fines of 1874"])[0].kind == "heading"


def test_short_list_items_are_not_read_as_headings() -> None:
    assert [piece.kind for piece in split_pieces("Bring:\n\n1. Stamps\n\n2. Paper\n\n3. Ink", [])][1:] == ["item"] * 3


@pytest.mark.parametrize("line", ["2.1 | The reading room ... . | 9", "Loans and fines of readers ..... 12"])
def test_a_line_of_a_table_of_contents_is_never_quoted(line: str) -> None:
    assert sentence_candidates([make_chunk(f"{line}\n\nThe hall is quite cold in winter.")])[0].text.startswith(
        "The hall"
    )


def test_each_table_row_can_be_quoted_as_a_sentence_but_the_caption_cannot() -> None:
    found = sentence_candidates([make_chunk(TABLE)])
    assert [candidate.text for candidate in found] == [
        "Archivist | Keeps the maps",
        "Porter | Opens the gates",
        "The hall is cold.",
    ]
    assert found[0].readable == "Role: Archivist; Answers for: Keeps the maps"


def test_a_line_above_a_table_without_a_header_is_part_of_each_row() -> None:
    chunk = make_chunk("From Northgate Southgate Eastgate\nQuay | 4 | 7 | 9\nMill | 3 | 8 | 2\nFord | 5 | 1 | 6")
    assert sentence_candidates([chunk])[1].readable == "From Northgate Southgate Eastgate; Mill; 3; 8; 2"


@pytest.mark.parametrize(
    ("header", "row", "text"),
    [
        ("| Role | Answers for |", "| **Porter** | Opens the gates |", "Porter: Opens the gates"),
        ("Item | Fee | Due", "Lost card | 5 euros | At once", "Lost card \u2013 Fee: 5 euros; Due: At once"),
        ("", "Mill | 3 | 8", "Mill: 3; 8"),
        ("", "| | 8 |", "8"),
    ],
)
def test_a_table_row_is_written_as_readable_text(header: str, row: str, text: str) -> None:
    assert row_as_text(header, row) == text


def test_a_quoted_table_row_is_readable_in_the_answer_and_unchanged_in_the_citation() -> None:
    table = "| Role | Answers for |\n| --- | --- |\n| Archivist | Keeps the maps |\n| Porter | Opens the gates |"
    answer = make_answerer(abstain=False).answer("Who opens the gates?", [make_chunk(table)], max_sentences=1)
    assert answer.text == "Porter: Opens the gates [1]"
    assert answer.citations[0].excerpt == "| Porter | Opens the gates |"


OPTIONS = """Arguments of long options are arguments of short ones too.
  -a, --all           show entries that start with a full stop.
  -s, --size=UNIT     show sizes; for example,
                        '--size=M' is for megabytes. See
                      the list of units
  -r                  in reverse"""


def test_each_line_of_an_aligned_block_is_a_sentence_with_the_lines_that_continue_it() -> None:
    assert [" ".join(piece.text.split()) for piece in split_pieces(OPTIONS, ())][1:] == [
        "-a, --all show entries that start with a full stop.",
        "-s, --size=UNIT show sizes; for example, '--size=M' is for megabytes. See the list of units",
        "-r in reverse",
    ]
    answer = make_answerer(abstain=False).answer("What does --size show?", [make_chunk(OPTIONS)], max_sentences=1)
    assert answer.text.startswith("-s, --size=UNIT show sizes; for example, '--size=M' is for megabytes.")
    assert "--all" not in answer.text


def test_gaps_in_prose_make_no_aligned_block() -> None:
    justified = "The old  formatter put gaps\ninto each  line so that it\nended with  the others. It\nis not  aligned."
    spaced = "One ends here.  Two ends here.\nA row that is.  Three goes on\nand it ends so.  Four."
    for text in (justified, spaced):
        assert any("\n" in piece.text for piece in split_pieces(text, ()))


@pytest.mark.parametrize(
    "sentence",
    [
        "Choose one of [yes | no | never] in the dialogue.",
        "Run `sort names | uniq` first.",
        "Run sort names | uniq to see each name once.",
        "$ sort names | uniq",
    ],
)
def test_a_bar_within_a_sentence_or_command_separates_no_cells(sentence: str) -> None:
    pieces = split_pieces(f"Name | Fee\nsenior | twelve pounds.\n\n{sentence}", ())
    assert [piece.kind for piece in pieces] == ["row", "row", "prose"]

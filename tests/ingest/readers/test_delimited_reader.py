"""The CSV reader detects the delimiter and keeps rows complete."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.delimited import DelimitedReader, detect_delimiter, parse_rows
from hypothesis import given
from hypothesis import strategies as st


def _read(folder: Path, source: str | bytes, suffix: str = ".csv") -> ParsedDocument:
    path = folder / f"list{suffix}"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return DelimitedReader().read(path)


def test_each_row_of_a_delimited_file_is_a_block_with_the_header_row_as_its_header(tmp_path: Path) -> None:
    document = _read(tmp_path, 'Club,Town\nA,"B, by\nthe lake"\n\nC,D\n')
    assert document.text == "Club | Town\nA | B, by the lake\nC | D"
    assert [(block.kind, block.header) for block in document.blocks] == [
        *(("table", ""), ("table", "Club | Town"), ("table", "Club | Town")),
    ]
    assert document.title == "list"


@pytest.mark.parametrize(
    ("source", "delimiter"),
    [
        *(("a,b\n1,2\n", ","), ("a;b\n1,5;2,5\n3,5;4,5\n", ";"), ("a\tb\nx, y\tz\n", "\t"), ("a|b\n1|2\n", "|")),
        ("name;text\nx;one, two, three\ny;four, five\nz;six\n", ";"),
        ('name,note\nx,"a;b;c"\ny,"d;e;f"\n', ","),
        ("name,list\nx,a;b;c\ny,d;e\nz,f\n", ","),
        ("a,amount\nx,1.5\ny,2.25\n", ","),
        ("Words and nothing else\nin two lines\n", ","),
        ("date;sum\n01.02.2024;1.234,56\n02.02.2024;2.345,67\n", ";"),
    ],
)
def test_the_delimiter_of_a_delimited_file_is_detected(source: str, delimiter: str) -> None:
    assert detect_delimiter(source) == delimiter


def test_a_line_with_sep_at_the_top_of_a_csv_file_sets_the_delimiter(tmp_path: Path) -> None:
    assert _read(tmp_path, "sep=^\na^b\n1^2\n").text == "a | b\n1 | 2"


def test_an_unclosed_quote_does_not_merge_the_following_rows(tmp_path: Path) -> None:
    source = 'a,b\n1,"2\n' + "3,4\n" * 1000
    document = _read(tmp_path, source)
    assert document.notes == ("line 2: a quote is not closed, so the line is read as a row",)
    assert document.text.count("\n") == 1001


def test_a_quote_that_swallows_a_few_rows_is_noted_and_the_other_rows_are_read_as_usual(tmp_path: Path) -> None:
    document = _read(
        tmp_path, 'name,value\nalpha,"1, or\nmore"\nbeta,"2\ngamma,3\ndelta,"4\nfive"\nepsilon,"5\nzeta,6\n'
    )
    assert document.notes == ("line 4 and 1 more: a quote is not closed, so the line is read as a row",)
    assert document.text.splitlines() == [
        *("name | value", "alpha | 1, or more", "beta | 2", "gamma | 3", "delta | 4 five", "epsilon | 5", "zeta | 6"),
    ]


def test_a_cell_that_is_longer_than_the_csv_module_allows_is_read() -> None:
    rows, _ = parse_rows(f"a,b\nx,{'w' * 200_000}\ny,2\n", ",")
    assert [row[0] for row in rows] == ["a", "x", "y"]


def test_a_table_without_header_is_read_and_titles_become_headings(tmp_path: Path) -> None:
    assert {block.header for block in _read(tmp_path, "1,2\n3,4\n").blocks} == {""}
    titled = _read(tmp_path, "Members of the club\n\na,b\nx,1\n")
    assert [section.title for section in titled.sections] == ["Members of the club"]
    assert titled.blocks[-1].header == "a | b"


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "cp1252"])
def test_the_character_encoding_of_a_csv_file_is_detected(tmp_path: Path, charset: str) -> None:
    rows = "Stra\u00dfe;Stadt\nM\u00fchlgasse;K\u00f6ln\n" * 5
    assert "M\u00fchlgasse | K\u00f6ln" in _read(tmp_path, rows.encode(charset)).text


def test_tabs_separate_the_cells_of_a_tsv_file(tmp_path: Path) -> None:
    assert _read(tmp_path, "name\tnote\nx\tone, two\n", ".tsv").text == "name | note\nx | one, two"


_CELLS = st.text(st.sampled_from('ab1.,;\t|" \n'), max_size=8)


@given(st.lists(st.lists(_CELLS, min_size=2, max_size=2), min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_written_rows_are_read_back_with_the_same_delimiter(rows: list[list[str]], delimiter: str) -> None:
    target = StringIO()
    csv.writer(target, delimiter=delimiter, lineterminator="\n").writerows(rows)
    assert parse_rows(target.getvalue(), delimiter)[0] == rows
    assert detect_delimiter(target.getvalue()) in ",;\t|"

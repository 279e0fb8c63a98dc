"""Readers find authors, year and web address, but no names of programs, in the metadata of files."""

from pathlib import Path

import pytest
from elt_llm_ingest.parsing.parsed_document import find_year
from elt_llm_ingest.readers.html import HtmlReader
from elt_llm_ingest.readers.pdf.reader import pdf_metadata
from elt_llm_ingest.readers.plain import PlainTextReader
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("date", "year"),
    [
        *(("2024-03-01", 2024), ("D:20221217024144-00'00'", 2022), ("1 March 1999", 1999), ("03/01/2024", 2024)),
        *(("20240301", 2024), ("2024", 2024), ("", None), ("soon", None), ("3024", None), ("12345678", None)),
    ],
)
def test_the_publication_year_is_found_in_any_date_format(date: str, year: int | None) -> None:
    assert find_year(date) == year


@given(st.text())
def test_the_year_read_from_any_text_is_either_plausible_or_none(date: str) -> None:
    year = find_year(date)
    assert year is None or 1500 <= year < 2100


def test_authors_year_and_address_are_taken_from_the_meta_elements_of_a_web_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<html lang="en"><head><meta name="Author" content="Site Team"><meta name="citation_author" content="Doe, A.">'
        '<meta name="citation_author" content="Roe, B."><meta property="article:published_time" content="2021-05-06">'
        '<meta property="og:url" content="https://example.org/b"><link rel="canonical" href="https://example.org/a">'
        '<meta name="description" content="About it."></head><body><p>Words.</p></body></html>'
    )
    assert HtmlReader().read(page).metadata == {
        "language": "en",
        "description": "About it.",
        "authors": "Doe, A.; Roe, B.",
        "year": 2021,
        "url": "https://example.org/a",
    }


def test_a_web_address_is_not_an_author_and_only_web_addresses_become_urls(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<head><meta property="article:author" content="https://example.org/me"><link rel="canonical" '
        'href="javascript:alert(1)"><meta name="date" content="unknown"></head><p>Words.</p>'
    )
    assert HtmlReader().read(page).metadata == {}


def test_the_number_of_a_footnote_reference_is_put_in_brackets(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<p>Low or critical <a class="footnote-reference" href="#n">12</a>, in <a href="#y">2024</a>.</p>')
    assert HtmlReader().read(page).text == "Low or critical [12], in 2024."


@pytest.mark.parametrize("author", ["Microsoft Office User", "Administrator", "LaTeX with hyperref", "", "  ", "0815"])
def test_a_program_name_in_the_pdf_properties_is_not_used_as_the_author(author: str) -> None:
    assert "authors" not in pdf_metadata({"Author": author})


def test_authors_and_year_are_taken_from_the_pdf_properties() -> None:
    properties = {"Author": "A. Writer", "CreationDate": "D:20190304", "Producer": "pdfTeX", "Subject": "Rules"}
    assert pdf_metadata(properties) == {"authors": "A. Writer", "year": 2019, "subject": "Rules"}


def test_numbered_items_are_not_read_as_headings_if_the_headings_of_the_text_are_underlined(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    headings = "".join(f"Part {name}\n==========\n\nWords.\n\n" for name in ("one", "two", "three"))
    text.write_text(f"{headings}1. Jane Doe\n\n2. John Doe\n")
    assert [section.title for section in PlainTextReader().read(text).sections] == [
        "Part one",
        "Part two",
        "Part three",
    ]

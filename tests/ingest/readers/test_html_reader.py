"""The HTML reader reads the part of a page that a person would read."""

import time
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.html import HtmlReader


def _read(folder: Path, source: str | bytes) -> ParsedDocument:
    path = folder / "page.html"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return HtmlReader().read(path)


def test_boilerplate_and_hidden_text_of_a_web_page_are_not_read(tmp_path: Path) -> None:
    words = "The words of the page are here. " * 5
    document = _read(
        tmp_path,
        f"<title>A &amp; B</title><body><nav>menu</nav><script>var x</script><style>p</style><p>{words}</p>"
        "<aside>advert</aside><form>search</form><footer>imprint</footer><p hidden>gone</p><!-- note -->"
        "<ul class='docnav top'><li>Prev</li><li>Up</li></ul><div class='navfooter'>Next</div>",
    )
    assert document.text == words.strip()
    assert document.title == "A & B"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>In <del>14 days</del><ins>21 days</ins> in writing.</p>", "In 21 days in writing."),
        ("<p>The<s> old <strike>older</strike> </s>rule.</p>", "The rule."),
        ("<p>A <span style='text-decoration: line-through'>B</span>C</p><del><p>D</p></del>", "A C"),
        ("<table><tr><td>A</td><td>5</td></tr><tr><td><s>B</s></td><td><s>6</s></td></tr></table>", "A | 5"),
        (
            "<table><tr><td>A</td><td STYLE='TEXT-DECORATION: LINE-THROUGH'>5</td><td>6</td></tr></table>",
            "A |  | 6",
        ),
        ("<div>first rule<div style='text-decoration:line-through'>x</div>new rule</div>", "first rule\n\nnew rule"),
        ("<p>fee 10<s><br>old<br></s>new</p>", "fee 10 new"),
    ],
)
def test_struck_out_text_of_a_web_page_is_not_read_and_noted(tmp_path: Path, page: str, text: str) -> None:
    document = _read(tmp_path, f"<body>{page}")
    assert (document.text, document.notes) == (text, ("holds struck-out text, which is not read",))


def test_only_the_main_element_is_read_if_it_contains_most_of_the_text_of_the_page(tmp_path: Path) -> None:
    words = "Many words stand here. " * 20
    assert _read(tmp_path, f"<body><div>side</div><main>{words}</main>").text == words.strip()
    both = _read(tmp_path, f"<body><main>teaser</main><div>{words}</div>").text
    assert "teaser" in both
    assert words.strip() in both


def test_the_text_of_a_web_page_that_consists_only_of_boilerplate_is_kept(tmp_path: Path) -> None:
    words = "The page stands in a form. " * 20
    assert _read(tmp_path, f"<body><form>{words}</form>").text == words.strip()


def test_headings_lists_and_tables_of_a_web_page_keep_their_structure(tmp_path: Path) -> None:
    document = _read(
        tmp_path,
        "<body><h1>Book</h1><p>One<br>two <b>bo</b>ld</p><h2>Part</h2><ol start=3><li>a</li><li>b</li></ol>"
        "<ul><li>c</ul><table><tr><th>Club<th>Town<tr><td>A<td>B<tr><td>C<td>D</table><pre>x\n  y</pre>",
    )
    assert document.text == (
        "Book\n\nOne\ntwo bold\n\nPart\n\n3. a\n4. b\n\n\u2022 c\n\nClub | Town\nA | B\nC | D\n\nx\n  y"
    )
    assert [(section.level, section.title) for section in document.sections] == [(1, "Book"), (2, "Part")]
    rows = [block.header for block in document.blocks if block.kind == "table"]
    assert rows == ["", "Club | Town", "Club | Town"]


def test_a_list_item_keeps_its_marker_if_its_text_is_in_a_paragraph(tmp_path: Path) -> None:
    source = "<body><ol>\n<li>\n<p>a</p><p>more</p></li>\n<li><p>b</p></li></ol><dl><dt>t<dd><p>d</p></dl>"
    document = _read(tmp_path, source)
    assert document.text == "1. a\n\nmore\n2. b\n\nt: d"
    assert [block.kind for block in document.blocks] == ["list", "prose", "list", "definition"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<dl><dt>-v<dt>--verbose<dd><p>Print more.</p><dt>-q<dd>Print <b>less</b>.</dl>",
            "-v, --verbose: Print more.\n-q: Print less.",
        ),
        ("<dl><dt>Since:<dd>1.2</dl>", "Since: 1.2"),
        ("<dl><dt>Where do I park?<dd>Behind the hall.</dl>", "Where do I park?\nBehind the hall."),
        ("<dl><dt>1. Aims<dt>2. Scope</dl>", "1. Aims\n\n2. Scope"),
        ("<dl><dt>1. Aims<dt>2. Scope<dd><dl><dt>Clubs<dd>All.</dl></dl>", "1. Aims\n\n2. Scope\n\nClubs: All."),
        ("<dl><dt>sep<span class=classifier>str</span><a href='#x'>\u00b6</a><dd>A mark.</dl>", "sep: str: A mark."),
        ("<div class=note><h3>Note</h3><p>Tea is hot.</p></div><p>More.", "Note: Tea is hot.\n\nMore."),
    ],
)
def test_a_term_and_the_title_of_a_note_are_on_one_line_with_their_text(tmp_path: Path, page: str, text: str) -> None:
    document = _read(tmp_path, f"<body>{page}")
    assert document.text == text
    assert document.sections == ()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ol type=a><li>x<li>y</ol>", "a. x\nb. y"),
        ("<ol class='upperroman simple'><li>x</ol>", "I. x"),
        ("<ol style='list-style-type: lower-alpha' start=3><li>x</ol>", "c. x"),
        ("<ol><li>x<li value=4>y<li>z</ol>", "1. x\n4. y\n5. z"),
        ("<ol class=legislative-list><li>1.0 The club</ol>", "1.0 The club"),
    ],
)
def test_items_have_the_numbers_that_a_browser_shows(tmp_path: Path, page: str, text: str) -> None:
    assert _read(tmp_path, f"<body>{page}").text == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h2>To &lt;<a href='mailto:x'>a@b.example</a>&gt;<a href='#w'>\u200b</a></h2>", "To <a@b.example>"),
        ("<table><tr><td>H<sub>2</sub>O<td><code>a</code>, <code>b</code></table>", "H2O | a, b"),
        ("<table><tr><td>Total<sup>1</sup><td>5<sup><a href='#n'>2</a></sup></table>", "Total 1 | 5[2]"),
        ("<table><tr><td><p>a</p><p>b</p><td>c<br>d</table>", "a b | c d"),
        ("<table><tr><th>A<th>B<tr><td>x<td><pre>a\nb</pre><ul><li>c</ul></table>", "A | B\nx | a b \u2022 c"),
        ("<pre><span>one<br></span><span>two</span><div>three</div></pre>", "one\ntwo\nthree"),
        ("<p>Daten&shy;schutz in <my-word>one</my-word>line", "Datenschutz in oneline"),
    ],
)
def test_words_are_apart_only_where_a_browser_shows_a_gap(tmp_path: Path, page: str, text: str) -> None:
    assert _read(tmp_path, f"<body>{page}").text == text


def test_footnotes_and_unselected_tabs_are_read_but_links_to_other_pages_are_not(tmp_path: Path) -> None:
    words = "The words of the page are here. " * 5
    note = "<aside class='footnote-list'><aside class=footnote role=note><span>[1]</span><p>A note.</p></aside></aside>"
    tabs = "<div role=tabpanel>first tab</div><div role=tabpanel hidden>second tab</div>"
    links = "<div class=header><p>Next: <a rel=next>Use</a></p></div><div class=NAVFOOTER>Prev</div>"
    document = _read(tmp_path, f"<body>{links}<p>{words}</p>{tabs}{note}<aside>advert</aside>")
    assert document.text == f"{words.strip()}\n\nfirst tab\n\nsecond tab\n\n[1] A note."


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        ("<meta charset=iso-8859-1>", "latin-1"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', "cp1251"),
        ("", "utf-8"),
        ("", "utf-16"),
        ("<meta charset=utf-8>", "utf-16-le"),
    ],
)
def test_the_character_encoding_of_an_html_file_is_detected(tmp_path: Path, head: str, charset: str) -> None:
    words = "Мяч и игра" if charset == "cp1251" else "Größe prüfen"
    assert _read(tmp_path, f"<html><head>{head}</head><body><p>{words}</p></body></html>".encode(charset)).text == words


def test_a_binary_file_with_html_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="not text"):
        _read(tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1" * 20)


def test_an_html_page_whose_tag_has_too_many_attributes_is_refused(tmp_path: Path) -> None:
    endless = " ".join(f"a{number}=1" for number in range(200_000))
    started = time.monotonic()
    with pytest.raises(UnreadableDocument, match="attributes"):
        _read(tmp_path, f"<p {endless}>word</p>")
    assert time.monotonic() - started < 10
    prose = "many words " * 30_000
    assert _read(tmp_path, f"<p class=a>{prose}</p><p>x</p>").text.startswith(prose[:20])


def test_deeply_nested_html_is_read(tmp_path: Path) -> None:
    assert _read(tmp_path, "<body>" + "<div>" * 5000 + "deep" + "<nav>" * 2000 + "word " * 9).text.startswith("deep")


def test_a_table_row_with_many_cells_is_read_completely(tmp_path: Path) -> None:
    cells = "".join(f"<td>cell {number}</td>" for number in range(5000))
    assert "cell 4999" in _read(tmp_path, f"<p>Words.</p><table><tr>{cells}</tr></table>").text


def test_a_table_whose_first_cells_are_item_labels_is_read_as_a_list(tmp_path: Path) -> None:
    source = (
        "<body><table><tr><td><p>(1)</p></td><td><p>\u2018risk\u2019 means harm:</p>"
        "<table><tr><td>(a)</td><td>to a person;</td></tr></table></td></tr></table>"
        "<table><tr><td>(2)</td><td>\u2018user\u2019 means a person;</td></tr></table>"
    )
    document = _read(tmp_path, source)
    assert document.text.split("\n\n") == [
        "(1) \u2018risk\u2019 means harm:",
        "(a) to a person;",
        "(2) \u2018user\u2019 means a person;",
    ]
    assert {block.kind for block in document.blocks} == {"list"}


def test_a_table_whose_first_cells_are_not_item_labels_is_read_as_a_table(tmp_path: Path) -> None:
    source = "<body><table><tr><td>(1)</td><td>one</td></tr><tr><td>Total</td><td>two</td></tr></table>"
    assert _read(tmp_path, source).text == "(1) | one\nTotal | two"


def test_the_text_of_a_spanning_table_cell_is_repeated_in_every_cell_that_it_covers(tmp_path: Path) -> None:
    source = (
        "<body><table><tr><th>Region<th colspan=2>Fee</tr><tr><td rowspan=2>North<td>5<td>6</tr>"
        "<tr><td>7<td>8</tr><tr><td colspan=3>Prices in pounds</tr></table>"
    )
    assert _read(tmp_path, source).text == ("Region | Fee | Fee\nNorth | 5 | 6\nNorth | 7 | 8\nPrices in pounds")


def test_figures_and_their_signs_in_columns_of_their_own_are_one_cell_below_the_name_of_their_column(
    tmp_path: Path,
) -> None:
    source = (
        "<body><table><tr><td colspan=3>(in millions)<td><td colspan=7>Years ended May 31</tr>"
        "<tr><td colspan=3><td><td colspan=3>2024<td><td colspan=3>2023</tr>"
        "<tr><td colspan=3>Costs:</tr>"
        "<tr><td colspan=3>Rent<td><td>$<td>7<td><td><td>$<td>(9<td>)</tr>"
        "<tr><td colspan=3>Heat<td><td colspan=2>6<td><td><td colspan=2>8<td></tr></table>"
    )
    document = _read(tmp_path, source)
    heads = "(in millions) | Years ended May 31 2024 | Years ended May 31 2023"
    assert document.text == f"{heads}\nCosts:\nRent | $7 | $(9)\nHeat | 6 | 8"
    assert [block.header for block in document.blocks] == ["", heads, heads, heads]


def test_two_rows_of_column_names_are_joined_and_an_empty_first_cell_keeps_its_column(tmp_path: Path) -> None:
    source = (
        "<body><table><tr><th><th colspan=2>2018<th>2017</tr><tr><th><th>Basic<th>Total<th>Total</tr>"
        "<tr><td>Profit<td>4<td>5<td>6</tr><tr><td><td>7<td>8<td>9</tr></table>"
    )
    assert _read(tmp_path, source).text == "| 2018 Basic | 2018 Total | 2017 Total\nProfit | 4 | 5 | 6\n| 7 | 8 | 9"


def test_title_paragraphs_of_the_official_journal_are_headings(tmp_path: Path) -> None:
    source = "<body><p class='oj-ti-art'>Article 3</p><p class='oj-sti-art'>Definitions</p><p>Words.</p>"
    document = _read(tmp_path, source)
    assert [(one.level, one.title) for one in document.sections] == [(3, "Article 3"), (4, "Definitions")]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("2<sup>32</sup> bytes, <b>10</b><sup>\u22126</sup> m<sup>2</sup>", "2^32 bytes, 10^\u22126 m2"),
        ("the 1<sup>st</sup>, in 2019<sup><a class='noteref'>3</a></sup>", "the 1st, in 2019[3]"),
        ("is <math><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math> here", "is x=1/2 here"),
        (
            "<math><mfrac><mrow><mi>a</mi><mo>+</mo><msqrt><msup><mi>b</mi><mn>2</mn></msup></msqrt></mrow>"
            "<msub><mi>c</mi><mi>i</mi></msub></mfrac><munderover><mo>\u2211</mo><mn>1</mn><mi>n</mi></munderover></math>",
            "(a+\u221a(b^2))/(c_i)\u2211_1^n",
        ),
    ],
)
def test_raised_numbers_and_equations_of_a_web_page_do_not_run_together(tmp_path: Path, page: str, text: str) -> None:
    assert _read(tmp_path, f"<body><p>{page}</p>").text == text


def test_the_entries_of_a_filled_web_form_are_read_beside_their_fields(tmp_path: Path) -> None:
    page = (
        "<p>The form of the club.</p><form><p><label>Fee <input value='\u00a340'></label></p>"
        "<p><label for=n>Name</label> <input id=n type=text value=Ann></p>"
        "<div><label for=m>E-mail</label></div><div><input id=m type=email value=ann@example.org></div>"
        "<p>Pay within <input type=number value=30> days.</p><p><input aria-label=Town value=Bern></p>"
        "<p><input type=checkbox checked> Member <input type=checkbox> Guest</p>"
        "<p><label>Notes: <textarea>Pays\nlate.</textarea></label></p>"
        "<p><label>Class <select><option>One<option selected>Two</select></label><input value=B></p>"
        "<p><select><option selected value=''>Please choose</select></p>"
        "<table><tr><th>Item<th>Cost<tr><td>Kit<td><input value=12></table>"
        "<input type=hidden value=secret><input type=password value=secret><input type=submit value=Send></form>"
    )
    document = _read(tmp_path, page.replace("<input type=password value=secret>", ""))
    assert document.text.split("\n") == [
        *(
            "The form of the club.",
            "",
            "Fee: \u00a340",
            "",
            "Name: Ann",
            "",
            "E-mail",
            "",
            "E-mail: ann@example.org",
            "",
        ),
        *(
            "Pay within 30 days.",
            "",
            "Town: Bern",
            "",
            "\u2612 Member Guest",
            "",
            "Notes: Pays late.",
            "",
            "Class: Two B",
        ),
        *("", "Item | Cost", "Kit | 12"),
    ]
    assert "secret" not in _read(tmp_path, page).text


def test_search_login_and_empty_forms_and_the_switches_of_a_web_page_are_not_read(tmp_path: Path) -> None:
    forms = (
        "<form action=/search><input name=t value=Find></form><form><input name=q value=Find></form>"
        "<input id=MSearchField value=Find>"
        "<form><input name=user value=Find><input type=password></form><form><input name=mail> Find</form>"
        "<form><select><option selected>Find</select></form><select><option selected>Find</select>"
        "<input type=radio checked>"
    )
    assert _read(tmp_path, f"<p>The rules of the club are here.</p>{forms}").text == "The rules of the club are here."

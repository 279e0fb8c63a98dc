"""Terms in bold, `dfn` or definition lists are defined by the text next to them; lists of values define nothing."""

import tempfile
from pathlib import Path

import pytest
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument, read_corpus
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.progress import SilentListener
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms
from elt_llm_ingest.readers import create_reader
from file_formats.office import docx, paragraph, style
from stored.folders import run_ingest, write_files
from stored.shelf import COLLECTION, writing

INTRODUCTION = "<body><h1>About the club</h1><p>These pages tell what the members need.</p>"


def _corpus(source: str | bytes, kind: str = "html") -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"page.{kind}"
        path.write_bytes(source if isinstance(source, bytes) else (INTRODUCTION + source).encode())
        reader = create_reader(path)
        assert reader is not None
        read = reader.read(path)
    marked = MarkedTerms.from_json(read.artefacts.get(MARKED_TERMS_ARTEFACT), len(read.text))
    return Corpus([CorpusDocument("rules", "1", path.name, read.title, "0", read.text, read.outline, marked)])


def _defined(source: str | bytes, kind: str = "html") -> list[tuple[str, str]]:
    corpus = _corpus(source, kind)
    found = find_definitions(corpus)
    assert all(corpus.holds(one.evidence) for one in found)
    return [(one.term, one.text) for one in found]


@pytest.mark.parametrize(
    ("term", "body"),
    [
        ("ledger", "record of all payments"),
        ("Ledger", "Record of all payments."),
        ("data steward", "looks after the list, and answers for it"),
        ("cost code:", "what a cost is booked to; or would be"),
        ("late entry", "one that comes after noon on Monday"),
        ("Hausrecht", "das Recht, andere des Hauses zu verweisen"),
        ("4-way switch", "switch between two others"),
        ("folio", "a page"),
        ("address", "where a member lives"),
        ("quorum", "at least 12 members"),
    ],
)
def test_an_entry_of_an_html_definition_list_is_found_without_defining_words(term: str, body: str) -> None:
    expected = [(term.rstrip(":"), body), ("bin", "where paper goes")]
    assert _defined(f"<dl><dt>{term}<dd>{body}<dt>bin<dd>where paper goes</dl>") == expected
    styles = style("DT", "Definition Term") + style("D", "Definition")
    entries = ((term, "DT"), (body, "D"), ("bin", "DT"), ("where paper goes", "D"))
    written = "".join(paragraph(text, f'<w:pStyle w:val="{kind}"/>') for text, kind in entries)
    assert _defined(docx(written, styles=styles), "docx") == expected


def test_all_terms_and_paragraphs_of_a_definition_list_entry_are_kept() -> None:
    source = "<dl><dt>ledger<dt>book<dd>record of payments<dd><p>kept by the clerk</p><dt>folio<dd>page of it</dl>"
    body = "record of payments kept by the clerk"
    assert _defined(source) == [("ledger", body), ("book", body), ("folio", "page of it")]


def test_a_nested_definition_list_is_part_of_the_outer_definition_and_its_entries_are_found_too() -> None:
    source = (
        "<dl><dt>kit<dd>one of<ul><li>cup<li>plate</ul><dt>roles<dd><p>who acts</p><dl><dt>chair<dd>leads it</dl></dl>"
    )
    assert _defined(source) == [
        ("kit", "one of \u2022 cup \u2022 plate"),
        ("roles", "who acts chair: leads it"),
        ("chair", "leads it"),
    ]


def test_an_abbreviation_next_to_a_term_is_not_part_of_the_term() -> None:
    [found, *_] = find_definitions(_corpus("<dl><dt>Annual General Meeting (AGM)<dd>when all members meet</dl>"))
    assert (found.term, found.abbreviation, found.text) == ("Annual General Meeting", "AGM", "when all members meet")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "A <dfn>steward</dfn> is a person who keeps the list. It is long.",
            ("steward", "a person who keeps the list."),
        ),
        ("<dfn>cost code</dfn>: what a cost is booked to", ("cost code", "what a cost is booked to")),
        ("a <dfn>levy</dfn> means any charge for water", ("levy", "any charge for water")),
        ("Whoever pays is called the <dfn>payer</dfn>.", ("payer", "Whoever pays")),
        ("We say <dfn>dusting</dfn> for wiping shelves.", ("dusting", "We say dusting for wiping shelves.")),
    ],
)
def test_a_sentence_with_a_term_in_a_dfn_element_defines_the_term(source: str, expected: tuple[str, str]) -> None:
    assert _defined(f"<p>It is open to all. {source}</p>") == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>data owner</b>: the person who answers for data", ("data owner", "the person who answers for data")),
        ("<strong>data owner:</strong> a person who answers", ("data owner", "a person who answers")),
        ("<em>data owner</em> &mdash; anyone who answers for it", ("data owner", "anyone who answers for it")),
        ("<b>register</b> means the list of all members", ("register", "the list of all members")),
        ("<i>levy</i> is a charge that is made once a year", ("levy", "a charge that is made once a year")),
    ],
)
def test_a_paragraph_that_starts_with_an_emphasized_term_defines_the_term(
    source: str, expected: tuple[str, str]
) -> None:
    assert _defined(f"<p>It is open to all.</p><p>{source}</p><p>More is said below.</p>") == [expected]


def test_bold_terms_in_a_word_file_are_read_like_those_in_a_web_page() -> None:
    entries = (("data owner", ": the person who answers for data"), ("data user", ": reader of any list"))
    body = "".join(
        paragraph(term, run="<w:b/>").replace("</w:p>", f'<w:r><w:t xml:space="preserve">{rest}</w:t></w:r></w:p>')
        for term, rest in entries
    )
    assert _defined(docx(body), "docx") == [
        ("data owner", "the person who answers for data"),
        ("data user", "reader of any list"),
    ]


def test_bold_terms_alone_on_a_line_are_found_under_a_heading_of_definitions() -> None:
    source = "<h2>{0}</h2><p><b>hall</b></p><p>hut beside the field</p><p><b>gate</b></p><p>way in for guests</p>"
    expected = [("hall", "hut beside the field"), ("gate", "way in for guests")]
    assert _defined(source.format("Definitions")) == expected
    assert _defined(source.format("Pictures")) == []


@pytest.mark.parametrize(
    "source",
    [
        "<dl><dt>Monday<dd>9am to 5pm<dt>Tuesday<dd>closed</dl>",
        "<h2>Opening hours</h2><dl><dt>Summer<dd>from early until late<dt>Winter<dd>only when it is dry</dl>",
        "<h2>Contact us</h2><dl><dt>Chair<dd>the person at the desk<dt>Phone<dd>0555 010 0177</dl>",
        "<dl><dt>Phone<dd>0555 010 0177<dt>Email<dd>desk@club.example<dt>Post<dd>The Hall, 12 High Street, Leeds</dl>",
        "<dl><dt>Office<dd>12 High Street, Leeds<dt>Hall<dd>Lange Straße 4, 10115 Berlin</dl>",
        "<dl><dt>Width<dd>12 cm<dt>Height<dd>3.5 m<dt>Price<dd>30 pounds a month</dl>",
        "<dl><dt>Chair<dd>Mary Shelley<dt>Secretary<dd>Jules Verne</dl>",
        "<dl><dt>Home<dd>https://club.example/home<dt>Shop<dd>www.club.example</dl>",
        "<dl><dt>--verbose<dd>print more words<dt>-q<dd>print no words</dl>",
        "<dl><dt>1. Aims<dd>what it is for<dt>1.1. Scope<dd>where it holds<dt>A.2.1 Sizes<dd>how large it is</dl>",
        "<dl><dt>New section 2<dd>what is new in it<dt>Section 4 Menus<dd>what is gone from it</dl>",
        "<dl><dt>menu<dd>new entries<dt>menu<dd>fewer entries<dt>menu<dd>no more entries</dl>",
        "<dl><dt>Parameters<dd>what is given to it<dt>Returns<dd>what it makes of it</dl>",
        "<dl><dt>Where do I park?<dd>Behind the hall.<dt>Who may park?<dd>All members.</dl>",
        "<p><b>Note:</b> bring a pen of your own</p>",
        "<p><b>Warning</b> - the door is shut</p>",
        "<p><b>Times:</b> The hall opens at nine.</p>",
        "<p><b>Fees.</b> They are paid in May.</p>",
        "<p><b>Please</b> do not run.</p>",
        "<p><b>Members</b> may vote.</p><p><b>Guests</b> are welcome.</p>",
        "<p>You <b>must</b> be on time. <i>Really</i>: be there.</p>",
    ],
)
def test_emphasised_text_that_labels_a_value_or_asks_a_question_is_not_read_as_a_definition(source: str) -> None:
    assert _defined(source) == []


def test_spans_of_terms_in_markup_are_stored_in_the_index_and_removed_with_their_document(tmp_path: Path) -> None:
    pages = {"a.html": "<dl><dt>ledger<dd>record of payments</dl>", "b.md": "**Note**: nothing is marked here.\n"}
    run_ingest(tmp_path / "data", write_files(tmp_path / "docs", pages))
    with writing(tmp_path / "data") as store:
        with open_generation(store, COLLECTION) as generation:
            assert generation.artefact_names == [MARKED_TERMS_ARTEFACT]
            corpus = read_corpus([generation])
        assert [one.term for one in find_definitions(corpus)] == ["ledger"]
        assert [bool(one.marked) for one in corpus.documents] == [True, False]
        assert not verify_collection(store, COLLECTION).damage
        forget(store, COLLECTION, "a.html", SilentListener())
        with open_generation(store, COLLECTION) as generation:
            assert generation.artefact_names == []


def test_code_and_lists_within_a_definition_list_entry_are_not_read_as_entries() -> None:
    within = (
        "<p>For example:</p><pre>size: int = 0\nsize - 1\nwidth: int = 1</pre><ul><li>Linux: the registry.</li></ul>"
    )
    found = _defined(f"<h1>Glossary</h1><dl><dt>field<dd>a part of a record{within}<dt>bin<dd>where paper goes</dl>")
    assert [term for term, _ in found] == ["field", "bin"]


def test_under_a_heading_of_definitions_the_text_after_a_tab_defines_the_bold_term_before_the_tab() -> None:
    def written(heading: str) -> bytes:
        bold = "".join(
            f"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{term}</w:t></w:r><w:r><w:tab/><w:t>{body}</w:t></w:r></w:p>"
            for term, body in (("Float", "Cash kept in the till."), ("Ledger", "The book of all entries."))
        )
        return docx(paragraph(heading, '<w:pStyle w:val="H"/>') + bold, styles=style("H", "heading 1"))

    expected = [("Float", "Cash kept in the till."), ("Ledger", "The book of all entries.")]
    assert _defined(written("Finance terms explained"), "docx") == expected


def test_a_definition_ends_where_the_markup_starts_the_next_entry() -> None:
    entries = "<dl><dt>KV<dd>Short for kilovolt. KV also means a key value, which is not an XV.<dt>latch"
    entries += "<dd>Half a lock.<dt>type<dd>See hull type and class.<dt>status<dd>The state of a lock.</dl>"
    assert [pair for pair in _defined(f"<h2>Harbour glossary</h2>{entries}") if pair[0] != "KV"] == [
        ("latch", "Half a lock."),
        ("type", "See hull type and class."),
        ("status", "The state of a lock."),
    ]
    assert {text for term, text in _defined(entries) if term == "KV"} == {
        "Short for kilovolt. KV also means a key value, which is not an XV.",
        "a key value, which is not an XV.",
    }


def test_code_characters_in_an_entry_are_kept_in_its_definition() -> None:
    body = "The folder found with (getuser($&lt;))[7] or $LIST[0], named in __LINE__."
    assert _defined(f"<dl><dt>home<dd>{body}<dt>bin<dd>where paper goes</dl>")[0][1] == body.replace("&lt;", "<")


def test_several_terms_of_one_entry_are_aliases_of_each_other() -> None:
    found = find_definitions(
        _corpus("<dl><dt>weir<dt>low dam<dd>A wall across a river.<dt>bin<dd>where paper goes</dl>")
    )
    assert [(one.term, one.aliases) for one in found] == [("weir", ("low dam",)), ("low dam", ("weir",)), ("bin", ())]


@pytest.mark.parametrize(
    ("first", "second"), [("Article 4 Definitions", "Article 5 Fees"), ("§ 2 Begriffe", "§ 3 Wert")]
)
def test_a_numbered_title_announces_definitions_only_up_to_the_next_numbered_section(first: str, second: str) -> None:
    text = f"# {first}\n\nAsset: a thing that is owned.\n\n# {second}\n\nThe board sets the fee of each year.\n"
    assert [term for term, _ in _defined(text.encode(), "md")] == ["Asset"]
    assert len(_defined(text.replace(second, "Audit").encode(), "md")) == 2


def test_the_heading_of_a_list_in_bold_is_no_term_and_means_on_the_next_line_is_no_part_of_a_meaning() -> None:
    page = """<ol><li><strong>Definitions</strong><p>In this Policy, these terms have the following meanings:</p>
    <p><strong>"Account"</strong></p><p>means a record of a member;</p>
    <p><strong>"Cookie"</strong></p><p>means a small file on a computer.</p></li>
    <li><strong>About Us</strong><ol><li><p>Our number is 12.</p></li></ol></li></ol>"""
    assert _defined(page) == [("Account", "a record of a member"), ("Cookie", "a small file on a computer.")]


def test_a_bold_term_with_a_label_and_two_names_in_quotes_gives_one_term_and_an_alias() -> None:
    page = b'# Definitions\n\n**(a) "Health Data" or "HD"** means data about the health of a person.\n'
    (found,) = find_definitions(_corpus(page, "md"))
    assert (found.term, found.aliases) == ("Health Data", ("HD",))

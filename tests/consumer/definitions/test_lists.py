"""Glossaries written as lists are read under a heading, after an announcing line, and without either."""

from dataclasses import replace

import pytest
from elt_llm_consumer.definitions.find import definitions_in_document, find_definitions
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_core.text.outline import Outline
from row_jobs.contexts import corpus_of
from row_jobs.definitions import defined, definitions_in, terms_in

TWO = [("Asset", "a thing that is owned."), ("Audit", "a check of the books.")]


@pytest.mark.parametrize(
    "entries",
    [
        "Asset: a thing that is owned.\nAudit: a check of the books.\n",
        "- Asset - a thing that is owned.\n- Audit - a check of the books.\n",
        "- **Asset**: a thing that is owned.\n- **Audit** – a check of the books.\n",  # noqa: RUF001
        "**Asset**\n: a thing that is\n  owned.\n\n**Audit**\n: a check of the books.\n",
        "Asset\n   a thing that is\n   owned.\n\nAudit\n   a check of the books.\n",
        "**Asset.** a thing that is owned.\n\n**Audit.** a check of the books.\n",
    ],
)
@pytest.mark.parametrize("heading", ["# Glossary", "# 1.5. Definitions", "# Part C: Definitions and interpretation"])
def test_entries_under_a_heading_of_definitions_are_found(heading: str, entries: str) -> None:
    assert defined(f"{heading}\n\n{entries}\n# Fees\n\n- Fee: ten pounds\n") == TWO


@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_glossary_entry_with_a_vertical_bar_in_its_text_is_not_read_as_a_table_row(gap: str) -> None:
    entries = (
        "**Alternation** - a pattern such as a | b.\n",
        "**Pipe** - a link between two programs,\nwritten as ls | wc, that passes on what\nthe first of them writes.\n",
        "**Shell** - a program that runs commands.\n",
    )
    assert defined("# Glossary\n\n" + gap.join(entries)) == [
        ("Alternation", "a pattern such as a | b."),
        ("Pipe", "a link between two programs, written as ls | wc, that passes on what the first of them writes."),
        ("Shell", "a program that runs commands."),
    ]


def test_terms_on_separate_lines_and_in_headings_are_found() -> None:
    lines = "# Glossary\n\nWorking Day\nA day other than Sunday.\nBoard\nThe directors:\n\n• elected\n• co-opted\n\n"
    lines += "Case\nA matter before the board.\n"
    assert terms_in(lines) == ["Working Day", "Board", "Case"]
    assert dict(defined(lines))["Board"] == "The directors: • elected • co-opted"
    headings = "# Glossary\n\n## A\n\n### Asset\n\nA thing that is owned.\n\nIt may be sold.\n\n### Audit\n\nA check.\n"
    assert defined(headings) == [("Asset", "A thing that is owned. It may be sold."), ("Audit", "A check.")]


def test_abbreviations_under_a_heading_of_abbreviations_are_found() -> None:
    assert defined("# Abbreviations\n\nYGM    Yearly General Meeting\nCEO – Chief Executive Officer\n") == [  # noqa: RUF001
        ("YGM", "Yearly General Meeting"),
        ("CEO", "Chief Executive Officer"),
    ]


def test_a_list_that_looks_like_a_glossary_is_read_as_a_glossary_under_any_heading() -> None:
    text = (
        "# The trade\n\nDivot: a piece of turf cut out of the pitch.\nScarifying: raking dead grass out of the turf.\n"
    )
    text += "Run-off: the strip between the line and the\nnearest hard object.\n\nTelephone: 0555 010 0177\n"
    assert terms_in(text) == ["Divot", "Scarifying", "Run-off"]


def test_a_line_of_text_may_introduce_a_list_of_definitions() -> None:
    text = (
        "# Gates\n\nWords used by our stewards:\n\n- **Late Gate** - the small gate beside the club shop.\n\nThe end.\n"
    )
    assert defined(text) == [("Late Gate", "the small gate beside the club shop.")]


def test_a_sign_before_each_term_of_a_list_is_not_part_of_the_term() -> None:
    text = "# Definitions\n\n   $ *-property\n      A rule that forbids writing down.\n\n"
    text += "   $ X.509\n      A standard for keys.\n\n"
    text += "   $ access list\n      1. A roster of persons who may enter.\n\n      2. A file with their names.\n"
    assert defined(text) == [
        ("*-property", "A rule that forbids writing down."),
        ("X.509", "A standard for keys."),
        ("access list", "1. A roster of persons who may enter. 2. A file with their names."),
    ]


def test_a_glossary_entry_that_only_refers_to_another_entry_is_a_reference() -> None:
    found = definitions_in("# Glossary\n\n   $ accounting See: cost accounting.\n\n   $ audit\n      (N) See: check.\n")
    assert [(one.term, one.pattern, one.refers_to) for one in found] == [
        ("accounting", "reference", "cost accounting"),
        ("audit", "reference", "check"),
    ]


def test_a_document_titled_glossary_is_a_glossary_without_a_heading() -> None:
    corpus = corpus_of({"glossary": "- **Asset** - a thing.\n\n- **508** - a rule.\n"})
    assert [one.term for one in find_definitions(corpus)] == ["Asset", "508"]


def test_a_glossary_definition_may_start_on_the_line_below_the_dash() -> None:
    assert defined("# Glossary\n\n- **CRM** -\n  A system for customers.\n") == [("CRM", "A system for customers.")]


def test_a_bullet_item_of_a_glossary_belongs_completely_to_its_definition() -> None:
    text = "# Glossary\n\n- **Outage** means a stop of the service. A planned stop is none.\n\n"
    text += "- **Audit** means a check.\n"
    assert defined(text) == [("Outage", "a stop of the service. A planned stop is none."), ("Audit", "a check.")]


def test_a_glossary_entry_that_is_too_long_is_cut_at_the_end_of_a_paragraph() -> None:
    text = "# Glossary\n\nKey\n   A value.\n\n" + "   More words about keys.\n\n" * 200 + "Lock\n   A door.\n"
    found = dict(defined(text, GlossarySection(longest_definition=100)))
    assert found["Key"].startswith("A value. More words about keys.")
    assert len(found["Key"]) <= 100
    assert found["Lock"] == "A door."


PLAIN = "Ash\n    A tree with winged seeds.\n\nBeech\n    A tree with\n    smooth bark.\n\nElm\n    A tall tree.\n"
TREES = [("Ash", "A tree with winged seeds."), ("Beech", "A tree with smooth bark."), ("Elm", "A tall tree.")]


@pytest.mark.parametrize(
    "name", ["forest-glossary.txt", "treeglossary.txt", "wald-glossar.txt", "tree_definitions.txt"]
)
def test_a_file_name_that_contains_a_word_for_glossaries_announces_definitions(name: str) -> None:
    assert [(one.term, one.text) for one in find_definitions(corpus_of({name: PLAIN}))] == TREES
    assert not find_definitions(corpus_of({"forest.txt": PLAIN}))


@pytest.mark.parametrize(
    "heading",
    [
        "Appendix C: Glossary of forest terms",
        "Forest terms explained",
        "Waldglossar",
        "Begriffsbestimmungen für Förster",
    ],
)
def test_a_heading_that_contains_a_word_for_glossaries_announces_definitions(heading: str) -> None:
    below = "### Ash\n\nA tree with winged seeds.\n\n### Beech\n\nA tree with smooth bark.\n\n### Elm\n\nA tall tree.\n"
    assert defined(f"# Forest\n\n## {heading}\n\n{below}\n## Fees\n\n### Oak\n\nTen pounds a year.\n") == TREES
    assert not terms_in(f"# Forest\n\n## How to write a glossary\n\n{below}")


def test_a_definitions_section_of_a_manual_page_is_read_up_to_the_next_heading() -> None:
    text = "NAME\n       loom - weave cloth\n\nDEFINITIONS\n       The  following  words are used  throughout.\n"
    text += "       warp   Threads that  run  along\n              the loom.\n       selvedge\n"
    text += "\t      An edge that\n\t      does not fray.\n       pick   A single  pass  of the  shuttle.\n\nOPTIONS\n"
    text += "       speed  How fast the loom runs.\n"
    assert defined(text) == [
        ("warp", "Threads that run along the loom."),
        ("selvedge", "An edge that does not fray."),
        ("pick", "A single pass of the shuttle."),
    ]


def test_index_letters_and_headings_above_indented_glossary_entries_are_not_terms() -> None:
    names = ("adze", "awl", "bevel", "burr", "chuck", "collet")
    entries = {letter: [name for name in names if name[0] == letter] for letter in "abc"}
    text = "NAME\n       tools\n\nDESCRIPTION\n       About tools.\n\n"
    for letter, found in entries.items():
        text += f"   {letter.upper()}\n" + "".join(
            f"       {name}\n\t   A thing in the\n\t   shed.\n\n" for name in found
        )
    corpus = corpus_of({"toolglossary.txt": text})
    assert [(one.term, one.text) for one in find_definitions(corpus)] == [
        (name, "A thing in the shed.") for name in names
    ]


def test_terms_with_a_qualifier_after_a_comma_keep_their_own_definitions() -> None:
    entries = [
        ("Gate, closed", "A gate that nobody may pass."),
        ("Closed gate", "See 'Gate, closed'."),
        ("Gate, side", "A gate beside the shop."),
        ("Head, closed gate", "The post of a closed gate."),
    ]
    text = "# Glossary\n\n" + "".join(f"{term}\n    {body}\n\n" for term, body in entries)
    assert defined(text) == entries


@pytest.mark.parametrize(
    ("introduction", "items", "terms"),
    [
        (
            "Im Sinne dieses Gesetzes",
            "1.  ist freier Träger jede Person, die\n    baut,\n\n9a.  sind Netze Anlagen, die strömen,\n\n"
            "10. ist „Ort“ der Platz.\n",
            ["freier Träger", "Netze", "Ort"],
        ),
        (
            "Aux fins du présent arrêté, on entend par :",
            "a) Cour : tout lieu clos ;\n\nb) Parc : un jardin.\n",
            ["Cour", "Parc"],
        ),
        (
            "Pour l'application du présent arrêté, les définitions suivantes sont retenues :",
            "h) Cour : tout lieu clos, y compris :\n\nle jardin ;\n\ni) Parc : un jardin.\n\n(2) Note : un jour.\n",
            ["Cour", "Parc"],
        ),
        (
            "Au sens du présent titre, on entend par :",
            "Cour :\ttout lieu clos.\n\nParc : un jardin.\n",
            ["Cour", "Parc"],
        ),
        (
            "A los efectos de esta ley se entenderá por:",
            "a) Patio: todo lugar.\n\nb) Parque: un jardín.\n",
            ["Patio", "Parque"],
        ),
    ],
)
def test_the_entries_below_an_introduction_without_a_heading_are_read(
    introduction: str, items: str, terms: list[str]
) -> None:
    text = f"# Ley 5\n\n## 3\n\n{introduction}\n\n{items}\nEl registro comprende lo siguiente.\n\nFecha: un día fijo.\n"
    assert terms_in(text) == terms
    assert terms_in(text.replace(introduction, "Der Rat prüft, le conseil comprend :")) == []


@pytest.mark.parametrize(
    "introduction",
    [
        "Im Sinne dieser Verordnung bezeichnet der Ausdruck:",
        "Für die Zwecke dieses Gesetzes bezeichnen die Begriffe",
        "Es gelten folgende Begriffsbestimmungen:",
        "Im Sinne dieses Gesetzes sind",
        "Im Sinne dieser Ordnung ist bzw. sind:",
    ],
)
def test_the_quoted_terms_of_a_german_list_without_verbs_are_read(introduction: str) -> None:
    items = "1. „offene Daten“ alle Angaben, die jeder sehen darf;\n\n"
    items += "2. „Stelle“ ein Amt, das\n\na) plant oder\n\nb) baut;\n\n3.\n„Akte“ jede Sammlung\n\n"
    text = f"# Gesetz\n\n## § 2\n\n{introduction}\n\n{items}## § 3\n\n1. „Intern“ alle Daten.\n"
    assert defined(text) == [
        ("offene Daten", "alle Angaben, die jeder sehen darf"),
        ("Stelle", "ein Amt, das a) plant oder b) baut"),
        ("Akte", "jede Sammlung"),
    ]
    assert not terms_in(text.replace(introduction, "Zuständig sind:"))


def test_a_colon_within_a_word_for_all_genders_does_not_end_the_term() -> None:
    text = "# Begriffe\n\nBürger:innen: alle, die hier wohnen.\n\nBetreiber:in: die Person, die den Hof führt.\n"
    assert terms_in(text) == ["Bürger:innen", "Betreiber:in"]


LICENCE = (
    "These words (see below) bind us.\n\n{one}\nIn this Licence, the following terms have the following meaning:\n"
    "— ‘The Licence’:this Licence.\n— ‘The Work’:the text that we share,\nin all its parts.\n"  # noqa: RUF001
    "— ‘The Licensee’ or ‘You’:any person who uses the Work.\n\n"  # noqa: RUF001
    "{two} of the rights\nThe Licensor hereby grants You these rights:\nCopying: to make a copy of the Work.\n"
)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1.Definitions", "2.Scope"),
        ("3. Definitions", "4. Scope"),
        ("### 1.0 Definitions of Capitalised Words", "### 2.0 Scope"),
        ("Section 1 – Definitions.", "Section 2 – Scope"),  # noqa: RUF001
        ("    Article 1 - DEFINITIONS", "    Article 2 - SCOPE"),
    ],
)
def test_the_list_of_definitions_of_a_licence_is_read_from_its_numbered_heading_up_to_the_next(
    one: str, two: str
) -> None:
    document = replace(corpus_of({"licence.txt": LICENCE.format(one=one, two=two)}).documents[0], outline=Outline())
    found = definitions_in_document(document)
    assert [(entry.term, entry.text, entry.aliases) for entry in found] == [
        ("The Licence", "this Licence.", ()),
        ("The Work", "the text that we share, in all its parts.", ()),
        ("The Licensee", "any person who uses the Work.", ("You",)),
    ]


def test_numbered_items_below_a_numbered_heading_do_not_end_its_definitions() -> None:
    text = "1. Definitions\n\n1. ‘Ash’: a tree.\n\n2. ‘Oak’: a larger tree.\n\n2. Scope\n\nTrees.\n"  # noqa: RUF001
    assert terms_in(text) == ["Ash", "Oak"]


def test_items_with_a_tab_after_their_letter_are_read_as_sentences_and_not_as_table_rows() -> None:
    text = "1. Definitions\n\n     a.\tShared Work means material subject to rights.\n\n"
    text += "     b.\tLicensor means the person who shares it.\n\n2. Scope\n\n     a.\tGrant.\n"
    assert terms_in(text) == ["Shared Work", "Licensor"]


def test_the_last_word_of_a_sentence_above_a_deeper_list_is_not_a_term() -> None:
    text = "# Definitions\n\n  1.1 'Part' means any piece which\n"
    text += "      is open, first of all, to You and any other\n      users\n\n"
    text += "        i) as a thing that is sold; or\n       ii) as a thing that is lent.\n"
    assert "users" not in terms_in(text)


def test_a_term_between_a_backtick_and_a_quote_before_a_phrase_with_a_capital_is_defined_by_the_phrase() -> None:
    text = (
        "Definitions\n===========\n\n`Copy' Any thing that looks like the work.\n\n`Tool' A device that makes a copy.\n"
    )
    assert defined(text) == [
        ("Copy", "Any thing that looks like the work."),
        ("Tool", "A device that makes a copy."),
    ]


def test_a_full_stop_may_follow_the_terms_of_a_glossary_with_numbered_paragraphs() -> None:
    text = (
        "# Glossary\n\n1.1/2 Abstract tool. An abstract tool is one that nobody owns.\n\n2   Access. A tool has\n"
        "access if it is lent.\n\n3/3 Array of tools. Tools of one type. They are lent together.\n\n"
        "4 This was deleted.\n"
    )
    assert defined(text) == [
        ("Abstract tool", "An abstract tool is one that nobody owns."),
        ("Access", "A tool has access if it is lent."),
        ("Array of tools", "Tools of one type. They are lent together."),
    ]
    assert terms_in(text.replace("# Glossary", "# Rules")) == ["abstract tool"]


def test_terms_of_a_standard_are_read_without_their_notes_and_quotation_marks() -> None:
    text = (
        "# 3 Terms and definitions\n\n## 3.1 access token\n\nsigned document that gives access\n\n"
        "Note 1 to entry: It has a name.\n\n## 3.2 X.509 certificate\n\n> *Certificate* of the form X.509\n>\n"
        "> Note to entry: There are others.\n\n**3.3 asset:**\nitem that has value\n"
    )
    assert defined(text) == [
        ("access token", "signed document that gives access"),
        ("X.509 certificate", "Certificate of the form X.509"),
        ("asset", "item that has value"),
    ]


def test_a_term_in_bold_or_italics_may_be_above_or_directly_before_its_definition() -> None:
    text = (
        "# Definitions\n\n- Online: available at\n  [https://example.org](https://example.org)\n\n"
        "**information system**\n\n"
        "An assembly of resources --\ni.e., equipment -- that stores information\n(from a standard)\n\n"
        "**Borrower** any person who borrows a tool\n\n*Deposit* The sum that is paid back.\n\n*Nobody* lends tools.\n"
    )
    assert defined(text) == [
        (
            "information system",
            "An assembly of resources -- i.e., equipment -- that stores information (from a standard)",
        ),
        ("Borrower", "any person who borrows a tool"),
        ("Deposit", "The sum that is paid back."),
    ]


def test_terms_in_quotes_are_parted_if_they_run_together_in_one_paragraph() -> None:
    text = "# Definitions\n\n`Work' Any work that is lent. `Copy' Making an equal work.\n\n`Lend' To give it away.\n"
    assert defined(text) == [
        ("Work", "Any work that is lent."),
        ("Copy", "Making an equal work."),
        ("Lend", "To give it away."),
    ]


def test_a_list_that_a_line_announces_may_have_placeholders_as_terms_and_is_no_definition_of_its_heading() -> None:
    text = (
        "---\ntitle: Terms and Definitions\n---\n## I. Overview\n\nWords that we use.\n\n## II. Scope\n\nAll staff.\n\n"
        "## III. Policy\n\nWe use the following list of definitions:\n{{CHIEF}} – person who leads.\n"  # noqa: RUF001
        "Asset - a thing that is owned.\nAudit – a check of the books.\nTool – a thing that is lent.\n"  # noqa: RUF001
        "Tenant – a customer who rents.\n"  # noqa: RUF001
    )
    assert terms_in(text) == ["{{CHIEF}}", "Asset", "Audit", "Tool", "Tenant"]
    assert terms_in(text.replace("Terms and Definitions", "Words")) == ["{{CHIEF}}", "Asset", "Audit", "Tool", "Tenant"]


def test_a_short_form_in_a_list_of_short_forms_may_have_any_text() -> None:
    text = (
        "# Abbreviations\n\nAES Advanced Encryption Standard\n\nRSA Rivest, a way to sign\n\nUK Many forms are lent.\n"
    )
    assert defined(text) == [("AES", "Advanced Encryption Standard"), ("RSA", "Rivest, a way to sign")]


def test_the_line_below_a_term_in_bold_is_its_definition_even_if_it_looks_like_another_entry() -> None:
    text = (
        "# Anhang\n\n## 4. Netzspezifische Begriffe\n\n**CMDB**  \nConfiguration Database – Verwaltung von Assets.\n\n"  # noqa: RUF001
        "**Norm 200-1**  \nManagement der Sicherheit\n"
    )
    assert defined(text) == [
        ("CMDB", "Configuration Database – Verwaltung von Assets."),  # noqa: RUF001
        ("Norm 200-1", "Management der Sicherheit"),
    ]


def test_services_in_bold_before_a_full_stop_are_not_terms() -> None:
    text = "# Services\n\n- **Design.** Making plans for members.\n\n- **Repair.** Mending tools that are broken.\n"
    assert terms_in(text) == []
    assert terms_in(text.replace(".**", "**:")) == ["Design", "Repair"]


def test_a_short_form_in_brackets_may_follow_a_term_in_bold() -> None:
    text = "# Glossary\n\n* **Cross-Site Scripting** (XSS) - A weakness of pages.\n* **Allowlist** - A list of data.\n"
    first, second = definitions_in(text)
    assert (first.term, first.abbreviation, first.text) == ("Cross-Site Scripting", "XSS", "A weakness of pages.")
    assert second.term == "Allowlist"


def test_any_phrase_may_follow_a_term_in_bold_that_starts_an_entry_of_a_glossary() -> None:
    text = "# Glossary\n\n* **accredited** Officially authorized to act.\n\n* **asset** [Strategy] Any resource.\n"
    assert defined(text) == [("accredited", "Officially authorized to act."), ("asset", "[Strategy] Any resource.")]
    assert not defined("# Rules\n\n* **accredited** Officially authorized to act.\n")
    assert not defined("# Glossary\n\n**1.2** The following definitions apply throughout this Agreement:\n")


def test_a_colon_may_end_the_line_of_a_term_above_its_paragraph() -> None:
    text = "# III. Definitions\n\nLife cycle:\n\nThe stages of research are passed in turn.\n\n# IV. Policy\n\nText.\n"
    assert defined(text) == [("Life cycle", "The stages of research are passed in turn.")]


def test_headings_of_one_letter_do_not_end_a_glossary() -> None:
    text = (
        "## Glossary\n\n## A\n\n**Ash** - a tree.\n\n## B\n\n**Beech** - another tree.\n\n## Fees\n\n**Fee** - ten.\n"
    )
    assert defined(text) == [("Ash", "a tree."), ("Beech", "another tree.")]


def test_the_first_paragraph_of_a_page_in_a_glossary_folder_defines_its_title() -> None:
    page = "# Drain\n\nThe safe removal of Pods.\n\nIt ends all of them.\n"
    pages = corpus_of({"docs/glossary/drain.md": page, "docs/guide/drain.md": page})
    found = find_definitions(pages)
    assert [(one.term, one.text, one.evidence.source) for one in found] == [
        ("Drain", "The safe removal of Pods.", "docs/glossary/drain.md")
    ]


def test_the_roles_of_restructured_text_are_not_part_of_a_definition() -> None:
    text = "Glossary\n========\n\n.. glossary::\n\n   view\n     An object of the :term:`request` that is shown.\n"
    assert ("view", "An object of the request that is shown.") in defined(text)


@pytest.mark.parametrize("heading", ["Definitions and Explanatory Notes", "Concepts, definitions and sources"])
def test_a_heading_may_join_definitions_with_notes_and_sources(heading: str) -> None:
    assert defined(f"# {heading}\n\n**Week**\n\nSeven days of work.\n") == [("Week", "Seven days of work.")]

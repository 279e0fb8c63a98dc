import pytest
from elt_llm_consumer.coverage.gaps import RuleWords
from elt_llm_consumer.coverage.job import COVERAGE_CLASSES, CoverageMeasure, coverage_class
from elt_llm_consumer.jobs.sections import CoverageSection, CoverageThresholds
from elt_llm_consumer.names.mention_index import MentionIndex
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import is_contents_row
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.contexts import corpus_of

counts = st.integers(0, 40).map(lambda number: number / 2)
measures = st.builds(
    CoverageMeasure,
    defined=st.booleans(),
    statements=counts,
    rules=counts,
    sections=st.integers(0, 20),
    headings=st.integers(0, 5),
)
NAMES = ["Ground", "Ground Grade", "Fee", "Data Owner", "Sin Bin"]
WORDS = [
    "ground",
    "Ground",
    "grade",
    "Grade",
    "fees",
    "fee",
    "data",
    "owner",
    "sin-bin",
    "the",
    "must",
    ".",
    "\n\n",
    "x",
]


def _rules_in(text: str, words: RuleWords | None = None) -> list[str]:
    rules = words or RuleWords(CoverageSection().rule_words, CoverageSection().rule_openings)
    [document] = corpus_of({"a.md": text}).documents
    return [piece.text for piece in document.pieces if rules.is_rule(document, piece)]


@pytest.mark.parametrize(
    "text",
    [
        *("A club must pay.", "A3.1 The badge is green.", "No club pays twice.", "May it be so."),
        *("Ein Verein darf zahlen.", "Die Vereine müssen zahlen.", "Gäste dürfen zusehen."),
    ],
)
def test_rules_are_recognised_by_rule_words_or_by_a_rule_number(text: str) -> None:
    assert _rules_in(text) == [text]


@pytest.mark.parametrize(
    "text", ["The badge is green.", "Seed them in May.", "3 clubs paid.", "They tell no one else.", ""]
)
def test_statements_without_rule_words_are_not_rules(text: str) -> None:
    assert _rules_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Die Rechnungen sind zehn Jahre aufzubewahren.",
        "Der Lieferant hat die Rechnungen bis zum 31. März vorzulegen (Anlage 2).",
        "Rechnungen werden durch die Buchhaltung geprüft und sind freizugeben.",
        "Für jeden Antrag ist ein Formular auszufüllen, das beim Kundenservice erhältlich ist.",
        "Die Mitglieder haben den Beitrag zu zahlen und sich anzumelden.",
        "Die Daten sind unverzüglich zu löschen; Kopien auch.",
        "Die Quittung ist gut aufzubewahren.",
        "Dem Kunden ist die Möglichkeit einzuräumen.",
        "Jede Panne ist unverzüglich, spätestens jedoch binnen vier Stunden nach Kenntnis, der Leitwarte zu melden.",
        "Pannen sind sofort, spätestens am 5. Mai zu melden.",
    ],
)
def test_a_german_demand_with_an_infinitive_after_zu_is_a_rule(text: str) -> None:
    assert _rules_in(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Ziel ist es, die Daten der Kunden zu schützen.",
        "Der Zugang ist zu allen Zeiten offen.",
        "Die Tür ist leicht zu öffnen.",
        "Die Quote ist nur schwer vorauszusagen.",
        "Im Menü haben Sie die Möglichkeit den Namen zu ändern.",
        "Es ist nicht möglich zwei Konten anzulegen.",
        "Ziel ist es, spätestens in einem Jahr fertig zu werden.",
        "Das Amt hilft sofort, spätestens am Montag, und ist sofort, spätestens ab neun Uhr, da, um Wege zu sparen.",
        "Unter einer Störung ist ein Ausfall zu verstehen.",
        "Ein Zähler ist hinzugekommen.",
        "Die Kennung ist zu einem Zählpunkt vergeben.",
        "Der Kunde hat zu Daten von Dritten Fragen.",
        "Die Anlage ist im Verzeichnis der Bezugsquellen und Nutzungen.",
    ],
)
def test_a_german_sentence_with_zu_and_without_a_demand_is_no_rule(text: str) -> None:
    assert _rules_in(text) == []


def test_if_no_rule_words_are_configured_only_numbered_paragraphs_are_rules() -> None:
    assert _rules_in("A club must pay.", RuleWords([])) == []
    assert _rules_in("2.1 A club pays.", RuleWords([" "])) == ["2.1 A club pays."]


@pytest.mark.parametrize("numbers", [("D1", "D2"), ("R-7", "R-8"), ("12.", "13."), ("12)", "13)"), ("§ 4", "§ 5")])
def test_paragraphs_numbered_one_after_another_are_rules(numbers: tuple[str, str]) -> None:
    first, second = (f"{number} The reader comes to the house once a year." for number in numbers)
    assert _rules_in(f"# Rules\n\n{first}\n\n{second}") == [first, second]


@pytest.mark.parametrize(
    "text",
    [
        "Bring these:\n\n1. A towel.\n2. A cap for each of the players.\n3. A bottle of water for the break.",
        "Do this.\n\n1. Paint the posts of the gate in white.\n2. Paint the bar of the gate in white.",
        "## 12. Fees\n\n## 13. The fees of the clubs",
        "2025. The club wins the cup again.\n\n2026. The club loses the cup again.",
        "12 clubs have paid the fee.\n\n13 clubs have a ground of their own.",
        "§ 4 Abs. 2 gilt hier ebenso.\n\n§ 5 Satz 1 gilt hier ebenso.",
        "3. Mai 2026 ist der Tag der Wahl.\n\n4. Mai 2026 ist der Tag danach.",
        "1. Paint the posts in white.\n\n2. Paint the bar in white.\n\nThen:\n\n"
        "1. Open the gate to the ground.\n\n2. Close the gate to the ground.",
        "Q3 The revenue rose to a million.",
    ],
)
def test_lists_headings_years_counts_references_and_dates_are_not_numbered_rules(text: str) -> None:
    assert _rules_in(text) == []


@pytest.mark.parametrize("row", ["A3 Definitions | 8", "Fees ........ 12", "| Part H: Discipline | 27 |"])
def test_a_line_of_a_table_of_contents_is_not_a_statement(row: str) -> None:
    assert is_contents_row(row)


@pytest.mark.parametrize(
    "row", ["Registration | £12.00 | adults", "Member Club | A club that was admitted.", "In 2026"]
)
def test_table_rows_outside_a_table_of_contents_are_statements(row: str) -> None:
    assert not is_contents_row(row)


@given(measures)
def test_an_entity_has_the_coverage_class_absent_exactly_if_no_text_mentions_or_defines_it(
    measured: CoverageMeasure,
) -> None:
    nothing = measured.statements == 0 and measured.headings == 0 and not measured.defined
    assert (coverage_class(measured, CoverageThresholds()) == "ABSENT") == nothing


@given(measures, counts, st.integers(0, 5))
def test_more_statements_never_lower_the_coverage_class(measured: CoverageMeasure, more: float, sections: int) -> None:
    richer = CoverageMeasure(
        measured.defined,
        measured.statements + more,
        measured.rules + more,
        measured.sections + sections,
        measured.headings,
    )
    assert COVERAGE_CLASSES.index(coverage_class(richer, CoverageThresholds())) <= COVERAGE_CLASSES.index(
        coverage_class(measured, CoverageThresholds())
    )


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_an_entity_name_that_is_in_the_text_is_always_found(chosen: list[str]) -> None:
    """A text of random words is searched for each name whose words it contains, ignoring case."""
    text = " ".join(chosen)
    index = MentionIndex(corpus_of({"a.txt": text}), Names(NAMES))
    for name in NAMES:
        if f" {name.casefold()} " in f" {text.casefold()} ":
            assert index.of(name) or index.headed(name), name


def test_statements_are_listed_in_the_order_of_the_text() -> None:
    corpus = corpus_of({"b.txt": "The fee is due. A Fee is paid.", "a.txt": "No fee."})
    told = [(it.document.source, it.piece.text) for it in MentionIndex(corpus, Names(["Fee"])).of("Fee")]
    assert told == [("a.txt", "No fee."), ("b.txt", "The fee is due."), ("b.txt", "A Fee is paid.")]

"""Comparing a result with gold counts correct rows and reports each difference."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from elt_llm_consumer.evidence import Cell, JobResult, Row, Table, absent_cell, found_cell
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.review.gold import GoldReport, GoldShare, compare_with_gold
from elt_llm_core.errors import UsageError
from row_jobs.contexts import corpus_of

TEXT = (
    'Loan means a book that is lent for a time. A Reader (RD) is welcome. "Day" means any day but Sunday. By this '
    "means we save paper. Fee has the meaning given in Rule 4."
)
OTHER = "Day means any day of the week, Sundays included."
CORPUS = corpus_of({"rules.md": TEXT, "more.md": OTHER})


def write(folder: Path, name: str, lines: Sequence[Mapping[str, Any]]) -> None:
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def gold_term(term: str, definition: str, pattern: str = "means", **more: Any) -> dict[str, Any]:
    return {"term": term, "pattern": pattern, "document": "rules.md", "definition": definition, **more}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    conflict: dict[str, Any] = {"conflict": True, "also": ["conflict"]}
    terms = [
        gold_term("Loan", "a book that is lent for a time"),
        gold_term("Reader", "Reader", "abbreviation", abbreviation="RD"),
        gold_term("Day", "any day but Sunday", **conflict),
        {**gold_term("Day", "any day of the week, Sundays included", **conflict), "document": "more.md"},
        gold_term("Fee", "the meaning given in Rule 4", "cross_reference", refers_to="Rule 4"),
        gold_term("Paper", "we save paper", optional=True),
    ]
    write(tmp_path, "glossary.jsonl", terms)
    sentence = {"document": "rules.md", "sentence": "By this means we save paper."}
    write(tmp_path, "glossary_distractors.jsonl", [sentence])
    return tmp_path


def row(name: str, *quotes: str, text: str = "", verdict: str = "found", corpus: Corpus = CORPUS, **more: str) -> Row:
    places = [
        document.evidence(document.text.index(quote), document.text.index(quote) + len(quote), 1.0)
        for quote in quotes
        for document in corpus.documents
        if quote in document.text
    ]
    definition = found_cell(text or quotes[0], places).model_copy(update={"verdict": verdict})
    cells = {"definition": definition, **{key: found_cell(value, places) for key, value in more.items()}}
    return Row(key=name.lower(), name=name, cells=cells)


def glossary(*rows: Row) -> JobResult:
    return JobResult(job="trial", kind="glossary", tables=(Table(name="terms", columns=("definition",), rows=rows),))


PERFECT = (
    row("Loan", "Loan means a book that is lent for a time", text="a book that is lent for a time"),
    row("Reader", "A Reader (RD) is welcome", text="Reader", abbreviation="RD"),
    row("Day", '"Day" means any day but Sunday', "Day means any day of the week", OTHER, verdict="conflict"),
    row("Fee", "Fee has the meaning given in Rule 4"),
)


def compared(gold: Path, *rows: Row) -> GoldReport:
    return compare_with_gold(glossary(*rows), gold, [CORPUS])


def test_comparing_a_glossary_with_an_equal_gold_file_gives_no_remarks(gold: Path) -> None:
    report = compared(gold, *PERFECT)
    assert report.remarks == ()
    assert {one.value for one in report.shares} == {1.0}
    assert report.share("recall").of == 5


def test_a_missed_gold_term_is_reported_with_the_pattern_of_its_definition(gold: Path) -> None:
    report = compared(gold, *PERFECT[1:])
    assert report.share("recall") == GoldShare("recall", 4, 5)
    assert report.share("recall, means").right == 2
    assert report.remarks == ("missed (means): Loan: rules.md: a book that is lent for a time",)


def test_an_invented_term_lowers_precision_and_a_distractor_read_as_a_term_is_reported(gold: Path) -> None:
    report = compared(gold, *PERFECT, row("This", "By this means we save paper"))
    assert report.share("precision") == GoldShare("precision", 4, 5)
    assert report.share("distractors avoided").right == 0
    assert [remark.split(":")[0] for remark in report.remarks] == [
        "not a term of the gold file",
        "distractor listed as a definition",
    ]


def test_an_optional_gold_term_is_neither_required_nor_counted_as_wrong(gold: Path) -> None:
    report = compared(gold, *PERFECT, row("Paper", "means we save paper", text="we save paper"))
    assert report.share("precision") == GoldShare("precision", 4, 4)


def test_a_definition_that_differs_from_the_gold_definition_is_counted_as_wrong(gold: Path) -> None:
    report = compared(gold, row("Loans", "means we save paper"), *PERFECT[1:])
    assert report.share("precision").right == 3
    assert any(remark.startswith("another definition than in the gold file: Loans") for remark in report.remarks)


def test_a_gold_contradiction_that_the_job_missed_is_reported(gold: Path) -> None:
    day = row("Day", '"Day" means any day but Sunday', OTHER)
    report = compared(gold, PERFECT[0], PERFECT[1], day, PERFECT[3])
    assert report.share("contradictions shown") == GoldShare("contradictions shown", 0, 1)
    assert report.share("contradictions that are right").value is None
    assert report.remarks == ("contradiction not shown: Day",)


def test_a_quote_that_is_no_longer_in_its_document_is_reported(gold: Path) -> None:
    report = compare_with_gold(glossary(*PERFECT), gold, [corpus_of({"rules.md": "Other words.", "more.md": OTHER})])
    assert report.share("found cells with their quotes on the page").right == 0
    assert any(remark.startswith("quote not on its page: Loan, definition: rules.md") for remark in report.remarks)


def test_a_report_on_a_gold_comparison_counts_the_remarks_that_it_omits(gold: Path) -> None:
    report = compared(gold)
    assert (
        report.lines(most_remarks=2)[-1]
        == f"  ... and {len(report.remarks) - 2} more remarks; --json lists all remarks"
    )
    assert report.to_json()["shares"]["precision"] == {"value": None, "right": 0, "of": 0}


def catalog(*rows: Row) -> JobResult:
    columns = ("formal_definition", "business_rules")
    return JobResult(job="trial", kind="catalog", tables=(Table(name="entities", columns=columns, rows=rows),))


@pytest.fixture
def gold_catalog(gold: Path) -> Path:
    sheets: list[dict[str, Any]] = [
        {"entity": "Loan", "fact_sheet_id": "s1", "term": "Loan", "term_join": "name", "must_not_match": ["Day"]},
        {"entity": "Shelf", "fact_sheet_id": None, "must_not_match": ["Loan"]},
        {"entity": None, "fact_sheet": "Other"},
    ]
    write(gold, "entities.jsonl", sheets)
    words = [{"words": "lent for a time"}]
    fields: list[dict[str, Any]] = [
        {"entity": "Loan", "field": "formal_definition", "verdict": "found", "any_of": words},
        {"entity": "Loan", "field": "business_rules", "verdict": "either"},
        {"entity": "Loan", "field": "not_a_column", "verdict": "found", "any_of": words},
        {"entity": "Shelf", "field": "formal_definition", "verdict": "absent"},
        {"entity": "Shelf", "field": "business_rules", "verdict": "absent"},
    ]
    write(gold, "fields.jsonl", fields)
    return gold


def entity(name: str, definition: Cell, sheet: str = "") -> Row:
    corpus = corpus_of({f"list.xlsx#fact-sheet/{sheet}": "Some sheet."}, "inventory")
    cells = {"formal_definition": definition, "business_rules": absent_cell()}
    if sheet:
        cells["inventory_description"] = found_cell("Some sheet.", [corpus.documents[0].evidence(0, 11, 1.0)])
    return Row(key=name, name=name, cells=cells)


LOAN = PERFECT[0].cells["definition"]


def test_joins_and_fields_that_equal_the_gold_file_are_counted_as_all_correct(gold_catalog: Path) -> None:
    report = compare_with_gold(
        catalog(entity("Loan", LOAN, "s1"), entity("Shelf", absent_cell())), gold_catalog, [CORPUS]
    )
    assert report.share("matching F1") == GoldShare("matching F1", 4, 4)
    assert report.share("found or absent as in gold") == GoldShare("found or absent as in gold", 3, 3)
    assert report.share("found cells with the right words").value == 1


def test_a_wrong_join_of_an_entity_with_a_similar_name_is_reported(gold_catalog: Path) -> None:
    report = compare_with_gold(
        catalog(entity("Loan", absent_cell()), entity("Shelf", LOAN, "s1")), gold_catalog, [CORPUS]
    )
    assert report.share("matching F1") == GoldShare("matching F1", 0, 4)
    assert report.share("near-duplicates kept apart") == GoldShare("near-duplicates kept apart", 1, 2)
    assert "near-duplicates joined: Shelf, Loan" in report.remarks
    assert "Loan, formal_definition: expected found" in report.remarks
    assert "Shelf, formal_definition: expected absent" in report.remarks


def test_a_found_cell_that_does_not_contain_the_words_of_the_gold_cell_is_reported(gold_catalog: Path) -> None:
    wrong = PERFECT[3].cells["definition"]
    report = compare_with_gold(catalog(entity("Loan", wrong), entity("Shelf", absent_cell())), gold_catalog, [CORPUS])
    assert report.share("found or absent as in gold").value == 1
    assert report.share("found cells with the right words").right == 0


def classed(name: str, value: str) -> Row:
    return Row(key=name, name=name, cells={"any": Cell(value=value, verdict="inferred", confidence=1)})


def test_coverage_classes_and_gaps_are_compared_with_gold_by_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        "coverage.jsonl",
        [
            {"entity": "Loan", "coverage": "STRONG"},
            {"entity": "Shelf", "coverage": "THIN", "also_right": ["ABSENT"]},
            {"entity": "Room", "coverage": "ABSENT"},
        ],
    )
    write(tmp_path, "gaps.jsonl", [{"name": "Loan", "gap": "MATCHED"}, {"name": "Day", "gap": "HANDBOOK_ONLY"}])
    tables = (
        Table(name="coverage", columns=("any",), rows=(classed("Loans", "STRONG"), classed("Shelf", "ABSENT"))),
        Table(name="gaps", columns=("any",), rows=(classed("Loan", "MODEL_ONLY"), classed("Day", "HANDBOOK_ONLY"))),
    )
    report = compare_with_gold(JobResult(job="trial", kind="coverage", tables=tables), tmp_path, [])
    assert report.share("coverage as in gold") == GoldShare("coverage as in gold", 2, 3)
    assert report.share("gaps, MATCHED").right == 0
    assert report.share("gaps, MODEL_ONLY").value is None
    assert report.remarks == (
        "coverage of Room: no row, expected ABSENT",
        "gap of Loan: MODEL_ONLY, expected MATCHED",
    )


def test_a_folder_without_a_gold_file_and_an_invalid_line_of_a_gold_file_are_reported(gold: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no glossary\.jsonl in"):
        compared(gold / "elsewhere", *PERFECT)
    write(gold, "glossary_distractors.jsonl", [{"document": "rules.md"}])
    with pytest.raises(UsageError, match=r"glossary_distractors\.jsonl, line 1 is not valid: sentence: Field required"):
        compared(gold, *PERFECT)


def test_a_comparison_with_gold_is_refused_for_a_job_kind_without_gold_data(gold: Path) -> None:
    with pytest.raises(UsageError, match="There is no gold data"):
        compare_with_gold(JobResult(job="trial", kind="handbook", tables=()), gold, [])

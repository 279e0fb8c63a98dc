import pytest
from elt_llm_consumer.coverage.job import CoverageJob
from elt_llm_consumer.evidence import JobResult
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_core.enterprise import FactSheet
from elt_llm_core.errors import UsageError
from row_jobs.contexts import context_of, inventory_of, model_of

HANDBOOK = """# Part A: Members

## A1 Definitions

| Term | Meaning |
|---|---|
| Member Club | A club that the board has admitted. |
| Working Day | A day other than a Saturday or a Sunday. |

## A2 Fees

A2.1 A Member Club must pay its fee by 30 June.

A2.2 A Member Club shall keep its receipts for two years.

## A3 Meetings

A3.1 Every Member Club may send one person. A Member Club that sends two must say why.

A3.2 The minutes must be signed by the chair within ten days of the meeting.

## A4 Colours

The Team Sheet is green.

## A5 Sin bins

Whoever argues spends ten minutes off the field. The office keeps a list of Temporary Dismissals.
"""
MODEL = {"Members": ["Member Club", "Affiliation"], "Matches": ["Team Sheet", "Sin Bin"], "": ["Ground", "Sheet"]}


def context(**coverage: object) -> JobContext:
    aliases = {"Sin Bin": ["Temporary Dismissal"]}
    return context_of({"handbook.md": HANDBOOK}, model=model_of(MODEL), aliases=aliases, coverage=coverage)


def result_of(job_context: JobContext) -> JobResult:
    job = CoverageJob(job_context)
    return job.result([task.row(task.material(), None) for task in job.tasks()])


def values(result: JobResult, table: str, column: str) -> dict[str, object]:
    return {row.name: row.cells[column].value for row in result.table(table).rows}


def test_each_entity_has_a_coverage_class_that_is_based_on_its_statements() -> None:
    assert values(result_of(context()), "coverage", "coverage") == {
        "Member Club": "STRONG",
        "Affiliation": "ABSENT",
        "Team Sheet": "THIN",
        "Sin Bin": "THIN",
        "Ground": "ABSENT",
        "Sheet": "THIN",
    }


def test_the_job_file_sets_the_thresholds_of_coverage_classes() -> None:
    result = result_of(context(thresholds={"strong_rules": 50}, rule_words=["is green"]))
    classes = values(result, "coverage", "coverage")
    assert (classes["Member Club"], classes["Team Sheet"]) == ("MODERATE", "MODERATE")


def test_a_coverage_class_is_given_with_evidence_and_counts() -> None:
    job_context = context()
    [row] = [row for row in result_of(job_context).table("coverage").rows if row.name == "Member Club"]
    cell = row.cells["coverage"]
    assert cell.evidence[0].quote == "Member Club | A club that the board has admitted."
    assert cell.note == "Defined, 4 rules and 5 statements in 3 sections."
    assert (row.cells["rules"].value, row.cells["sections"].value, row.cells["defined"].value) == (4.0, 3, "yes")


def test_an_entity_named_only_within_a_longer_name_has_the_longer_name_as_coverage_evidence() -> None:
    [row] = [row for row in result_of(context()).table("coverage").rows if row.name == "Sheet"]
    assert row.cells["coverage"].evidence[0].quote == "The Team Sheet is green."


def test_gaps_in_the_enterprise_model_and_in_the_documents_are_reported_with_their_location() -> None:
    result = result_of(context())
    assert values(result, "gaps", "gap") == {
        "Member Club": "MATCHED",
        "Affiliation": "MODEL_ONLY",
        "Team Sheet": "MATCHED",
        "Sin Bin": "MATCHED",
        "Ground": "MODEL_ONLY",
        "Sheet": "MATCHED",
        "Working Day": "HANDBOOK_ONLY",
    }
    by_name = {row.name: row for row in result.table("gaps").rows}
    assert by_name["Member Club"].cells["joined_by"].value == "same"
    assert by_name["Team Sheet"].cells["joined_by"].value == "named"
    assert by_name["Affiliation"].cells["in_handbook"].verdict == "absent"
    assert by_name["Working Day"].cells["in_handbook"].evidence[0].section == "Part A: Members > A1 Definitions"


def test_rules_without_an_entity_are_listed_with_the_nearest_entity() -> None:
    [row] = result_of(context()).table("rules_without_entity").rows
    assert row.cells["rule"].value == "A3.2 The minutes must be signed by the chair within ten days of the meeting."
    assert row.cells["section"].value == "Part A: Members > A3 Meetings"


UNNAMED = """# Rules

D1 The minutes must be signed by the chair within ten days.

D2 The books are open to everybody at all times.

Nobody may enter the office after six in the evening.

Nobody may enter the office after six in the evening.
"""


def _rules_of(text: str) -> dict[str, object]:
    """Return the rules that name no entity, by key."""
    rows = result_of(context_of({"a.md": text}, model=model_of(MODEL))).table("rules_without_entity").rows
    return {row.key: row.cells["rule"].value for row in rows}


@pytest.mark.parametrize(
    "sentence",
    [
        "A person who may vote at the yearly meeting of the club (a “Voter”).",
        "4.2 A person who may vote at the yearly meeting of the club (a “Voter”).",
        "4.2 “Voter” means a person who may vote at the yearly meeting of the club.",
        "4.2 In these Rules, “Voter” means a person who may vote at the yearly meeting.",
    ],
)
def test_a_sentence_that_only_defines_a_term_is_not_a_rule(sentence: str) -> None:
    assert _rules_of(f"# Rules\n\n{sentence}\n") == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "4.2 The Annual General Meeting (AGM) is held in May of every year.",
        "4.2 The Annual General Meeting (AGM) elects the clerk of the house.",
        "The clerk must keep a list of the readers of the house (the “Register”).",
    ],
)
def test_a_rule_that_also_gives_the_meaning_of_a_term_is_listed(sentence: str) -> None:
    assert list(_rules_of(f"# Rules\n\n{sentence}\n").values()) == [sentence]


def test_the_key_of_a_rule_is_its_number_or_is_made_of_its_text() -> None:
    key = "rules/a.md/Nobody may enter the office after 22b32713"
    assert list(_rules_of(UNNAMED)) == ["rules/a.md/D1", "rules/a.md/D2", key, f"{key} (2)"]


def test_the_keys_of_rules_stay_if_text_is_inserted_before_them() -> None:
    longer = UNNAMED.replace("# Rules", "# Rules of the house\n\nThey must be read by everybody who lives in it.")
    assert set(_rules_of(UNNAMED)) < set(_rules_of(longer))
    changed = _rules_of(UNNAMED.replace("ten days", "two days"))
    assert changed["rules/a.md/D1"] == "D1 The minutes must be signed by the chair within two days."


def test_a_number_that_several_rules_have_is_not_their_key() -> None:
    twice = UNNAMED + "\n## Annex\n\nD1 The doors must be shut by the last guest of the day.\n"
    assert [key[:18] for key in _rules_of(twice)][:2] == ["rules/a.md/D1 The ", "rules/a.md/D2"]


def test_a_rule_that_also_defines_a_term_is_listed_but_a_mere_definition_is_not() -> None:
    rule = "The person who signs the letters (the “Reporting Officer”) must not be a guest of the house."
    definition = "“Late Guest” means a person who must ring the bell of the house."
    assert list(_rules_of(f"# Rules\n\n{definition}\n\n{rule}\n").values()) == [rule]


def test_the_domains_table_counts_entities_and_classes() -> None:
    result = result_of(context())
    assert values(result, "domains", "entities") == {"Matches": 2, "Members": 2, "(no domain)": 2}
    assert values(result, "domains", "share_covered") == {"Matches": 1.0, "Members": 0.5, "(no domain)": 0.5}
    assert result.figures["STRONG"] == 1


def test_all_quotes_match_their_spans_and_two_runs_of_a_coverage_job_give_equal_results() -> None:
    job_context = context()
    result = result_of(job_context)
    model = job_context.model
    assert model is not None
    evidence = [place for table in result.tables for row in table.rows for place in row.evidence]
    assert evidence
    assert all(job_context.corpus.holds(place) or model.corpus.holds(place) for place in evidence)
    assert result == result_of(context())


def test_aliases_in_the_inventory_count_as_mentions() -> None:
    model = model_of({"Papers": ["Deletion List"]})
    sheet = FactSheet(id="s", name="Deletion List", fields={"Alias": "Disposal Log"})
    inventory = inventory_of([sheet])
    given = context_of({"a.md": "The Disposal Log must be kept."}, model=model, inventory=inventory)
    assert values(result_of(given), "coverage", "coverage") == {"Deletion List": "MODERATE"}


def test_the_job_file_excludes_entities_by_type_and_name() -> None:
    assert list(values(result_of(context(skip=["ground", "Sheet"])), "coverage", "type")) == [
        "Member Club",
        "Affiliation",
        "Team Sheet",
        "Sin Bin",
    ]
    assert result_of(context(types=["Interface"])).table("coverage").rows == ()


def test_an_entity_whose_row_failed_is_left_out_of_the_coverage_result() -> None:
    job = CoverageJob(context())
    first = job.tasks()[0]
    result = job.result([first.row(first.material(), None)])
    assert list(values(result, "coverage", "coverage")) == ["Member Club"]
    assert [row.name for row in result.table("gaps").rows] == ["Member Club", "Working Day"]


def test_a_term_is_not_reported_as_a_gap_while_the_row_of_its_entity_is_unfinished() -> None:
    job = CoverageJob(context())
    last = job.tasks()[-1]
    result = job.result([last.row(last.material(), None)])
    assert values(result, "gaps", "gap") == {"Sheet": "MATCHED", "Working Day": "HANDBOOK_ONLY"}


@pytest.mark.parametrize("texts", [{}, {"handbook.md": HANDBOOK}])
def test_a_coverage_job_without_an_enterprise_model_or_documents_is_refused_and_the_missing_setting_is_named(
    texts: dict[str, str],
) -> None:
    model = None if texts else model_of(MODEL)
    with pytest.raises(UsageError, match="needs an enterprise model and texts") as raised:
        CoverageJob(context_of(texts, model=model))
    assert "sources.model" in raised.value.hint


def test_an_absent_entity_that_the_texts_may_spell_otherwise_gets_a_note_with_that_spelling() -> None:
    texts = {"handbook.md": "# Giving\n\nEach Donor gets a letter.\n"}
    result = result_of(context_of(texts, model=model_of({"Charity": ["Doner", "Vessel"]}, [])))
    notes = {row.name: row.cells["coverage"].note for row in result.table("coverage").rows}
    assert notes["Doner"] == (
        "Neither the name nor an alias appears in the texts. Perhaps the texts write “Donor”: handbook.md."
    )
    assert "Perhaps" not in notes["Vessel"]

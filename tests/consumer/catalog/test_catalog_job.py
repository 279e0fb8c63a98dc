"""A catalog joins model, inventory and texts, with evidence for every value."""

from dataclasses import replace

import pytest
from elt_llm_consumer.catalog.job import CatalogJob
from elt_llm_consumer.coverage.job import CoverageJob
from elt_llm_consumer.evidence import Cell, JobResult, Row
from elt_llm_consumer.glossary.job import GlossaryJob
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet
from elt_llm_core.errors import ModelUnavailable, UnusableReply, UsageError
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.settings.tree import Settings
from row_jobs.contexts import context_of, corpus_of, inventory_of, model_of

HANDBOOK = """# Part A: Members

## A1 Definitions

| Term | Meaning |
|---|---|
| Member Club | A club that the board has admitted. |
| Temporary Dismissal | Ten minutes off the field. |
| Club Bond | A sum that a Member Club leaves with the office as security. |
| Lamplighter | Whoever lights the lamp. |

## A2 Fees

A2.1 A Member Club must pay its fee by 30 June. The treasurer grants every Member Club a receipt.

A2.2 The Club Bond of a Member Club is returned after a year. A Club Bond may not be lent.

A2.3 A Member Club enters each Team by 30 May.

# Part B: Light

B1.1 The Lamplighter lights the lamp. The Lamplighter must keep it clean. A Lamplighter is paid in oil.
"""
MODEL = model_of(
    {"Members": ["Member Club", "Team"], "Matches": ["Sin Bin", "Ground"]},
    [("Member Club", "enters", "Team"), ("Sin Bin", "follows", "Ground")],
)
SHEETS = [
    FactSheet(id="s1", fact_sheet_id="id-x", type="DataObject", name="Member Clubs", description="Clubs, admitted."),
    FactSheet(id="s2", type="DataObject", name="Pitch", description="Grass.", fields={"Alias": "Ground; Turf"}),
    FactSheet(id="s3", type="DataObject", name="Bank Account", description="Money."),
    FactSheet(id="s4", type="DataObject", name="Lamplighter", description="Keeps the light."),
]


def context(text: str = HANDBOOK, llm: ScriptedLLM | None = None, **catalog: object) -> JobContext:
    return context_of(
        {"handbook.md": text} if text else {},
        model=MODEL,
        inventory=inventory_of(SHEETS),
        aliases={"Sin Bin": ["Temporary Dismissal"]},
        llm=llm,
        catalog=catalog,
    )


def result_of(job_context: JobContext) -> JobResult:
    """Return the catalog, after a check that every quote matches its span."""
    job = CatalogJob(job_context)
    llm = job_context.llm
    ask = (lambda prompt: str(llm.complete(prompt))) if llm is not None else None
    result = job.result([task.row(task.material(), ask) for task in job.tasks()])
    assert job_context.model is not None
    assert job_context.inventory is not None
    corpora = [job_context.corpus, job_context.model.corpus, job_context.inventory.corpus]
    for row in (row for table in result.tables for row in table.rows):
        assert all(any(corpus.holds(place) for corpus in corpora) for place in row.evidence)
    return result


def row_of(result: JobResult, name: str, table: str = "entities") -> Row:
    return next(row for row in result.table(table).rows if row.name == name)


def cells_of(result: JobResult, column: str) -> dict[str, Cell]:
    return {row.name: row.cells[column] for row in result.table("entities").rows if column in row.cells}


def test_a_catalog_has_a_row_for_each_entity_and_for_each_defined_term_that_matches_no_entity() -> None:
    sources = {name: cell.value for name, cell in cells_of(result_of(context()), "source").items()}
    assert sources == {
        "Member Club": "BOTH",
        "Team": "BOTH",
        "Sin Bin": "BOTH",
        "Ground": "MODEL_ONLY",
        "Club Bond": "HANDBOOK_ONLY",
        "Lamplighter": "HANDBOOK_ONLY",
    }


def test_an_entity_that_only_a_heading_names_is_known_to_the_texts() -> None:
    cell = row_of(result_of(context("# Rules\n\n## Team\n\nFifteen may play.\n")), "Team").cells["source"]
    assert (cell.value, cell.evidence[-1].quote) == ("BOTH", "Fifteen may play.")


def test_definitions_are_joined_to_entities_by_name_or_alias_and_the_reason_is_given() -> None:
    result = result_of(context())
    club, bin_ = (row_of(result, name).cells["formal_definition"] for name in ("Member Club", "Sin Bin"))
    assert (club.value, club.verdict, club.note) == ("A club that the board has admitted.", "found", "")
    assert bin_.value == "Ten minutes off the field."
    assert "Temporary Dismissal" in bin_.note
    assert row_of(result, "Sin Bin").cells["handbook_term"].value == "Temporary Dismissal"
    assert row_of(result, "Ground").cells["formal_definition"].verdict == "absent"


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("The sum that a club pays per month.", "The sum that a club pays per year.", "conflict"),
        ("A building.", "A building or land.", "conflict"),
        ("Die Summe, die ein Verein pro Monat zahlt.", "Die Summe, die ein Verein pro Jahr zahlt.", "conflict"),
        ("A person who keeps the books.", "Anyone who keeps the books.", "found"),
    ],
)
def test_definitions_of_a_term_have_the_same_verdict_and_note_in_the_catalog_and_in_the_glossary(
    one: str, other: str, verdict: str
) -> None:
    texts = {
        f"{name}.md": f"# Definitions\n\n| Term | Meaning |\n|---|---|\n| Ground | {text} |\n"
        for name, text in (("b", one), ("a", other))
    }
    job_context = context_of(texts, model=MODEL, inventory=inventory_of(SHEETS))
    cell = row_of(result_of(job_context), "Ground").cells["formal_definition"]
    [row] = (task.row(task.material(), None) for task in GlossaryJob(job_context).tasks())
    assert cell.verdict == verdict
    assert cell == row.cells["definition"]


@pytest.mark.parametrize("name", ["Pitch", "Lamp"])
def test_a_sentence_that_changes_a_definition_is_noted_in_the_catalog_as_in_the_glossary(name: str) -> None:
    terms = "“Ground” means a field in England.\n\n“Pitch” means a mark on a field.\n\n“Lamp” means a light on a field."
    change = f"In the definition of “{name}”, the words “a field” are replaced by “a field in Wales”."
    job_context = context_of(
        {"a.md": f"# Terms\n\n{terms}\n\n# Changes\n\n{change}\n"}, model=MODEL, inventory=inventory_of(SHEETS)
    )
    found = cells_of(result_of(job_context), "formal_definition")
    listed = {
        row.name: row.cells["definition"]
        for row in (it.row(it.material(), None) for it in GlossaryJob(job_context).tasks())
    }
    assert found[name].verdict == "inferred"
    assert change in found[name].note
    assert {term: found[term] for term in listed} == listed


_KEPT = "4.1 A Team must have eleven players. It must keep its list for eight years.\n\n4.2 A Team may leave."


def _rules_of_team(change: str) -> Cell:
    text = f"# Rules\n\n{_KEPT}\n\n# Changes\n\n12.1 {change}\n"
    return row_of(result_of(context(text)), "Team").cells["business_rules"]


@pytest.mark.parametrize(
    "change",
    [
        "In paragraph 4.1, the words “eight years” are replaced by “ten years” with effect from 1 May 2025.",
        "In rule 4.1 of these Rules, for “eleven” substitute “twelve”.",
        "Replace the words “eight years” in section 4.1 by “ten years”.",
        "Paragraph 4.1 is deleted.",
        "In Ziffer 4.1 werden die Wörter „eight years“ durch „ten years“ ersetzt.",
        "Abschnitt 4.1 erhält folgende Fassung: „A Team must sing.“",
    ],
)
def test_a_value_from_a_paragraph_that_is_amended_by_its_number_is_inferred_and_noted(change: str) -> None:
    cell = _rules_of_team(change)
    assert cell.verdict == "inferred"
    assert cell.note.startswith("handbook.md")
    assert f"changes 4.1: “12.1 {change}”." in cell.note
    assert change in cell.evidence[-1].quote


@pytest.mark.parametrize(
    "change",
    [
        "In paragraph 4.9, the words “eight years” are replaced by “ten years”.",
        "In paragraph 4.1, the words “nine years” are replaced by “ten years”.",
        "In paragraph 4.1 of the Statutes, the words “eight years” are replaced by “ten years”.",
        "In rule 4, the words “eight years” are replaced by “ten years”.",
        "In paragraph 4.1, lists are deleted when they are old.",
        "Paragraph 4.1 is amended only by the Board.",
        "In paragraph 4.1.2, the words “eight years” are replaced by “ten years”.",
        "In paragraph 4.1, the words “eight years” are replaced by “ten years”.\n\n4.1 A lamp must be lit.",
    ],
)
def test_a_value_is_found_if_no_sentence_surely_amends_its_paragraph(change: str) -> None:
    assert (_rules_of_team(change).verdict, _rules_of_team(change).note) == ("found", "")


def test_fact_sheets_are_joined_to_entities_by_name_or_by_the_alias_column() -> None:
    result = result_of(context())
    assert row_of(result, "Member Club").cells["inventory_description"].value == "Clubs, admitted."
    ground = row_of(result, "Ground").cells["inventory_match"]
    assert (ground.value, ground.note) == ("Pitch", "'Ground' is also called 'Pitch'.")
    assert row_of(result, "Lamplighter").cells["inventory_description"].value == "Keeps the light."
    assert result.figures["in the inventory alone"] == 2


def test_the_fields_of_an_entity_are_filled_with_sentences_from_the_documents() -> None:
    club = row_of(result_of(context()), "Member Club")
    assert club.group == ("Members", "")
    assert club.cells["business_rules"].value is not None
    assert "A Member Club must pay its fee by 30 June." in str(club.cells["business_rules"].value)
    assert "The treasurer grants every Member Club a receipt." in str(club.cells["governance_rules"].value)


def test_a_defined_term_without_an_entity_gets_a_proposed_domain_with_a_reason() -> None:
    result = result_of(context())
    bond, lamplighter = row_of(result, "Club Bond"), row_of(result, "Lamplighter")
    assert (bond.cells["proposed_domain"].value, bond.cells["domain_status"].value) == ("Members", "existing")
    assert "Member Club" in bond.cells["proposed_domain"].note
    assert bond.group == ("Members", "")
    assert (lamplighter.cells["proposed_domain"].value, lamplighter.group) == ("Light", ("Light", ""))
    assert lamplighter.cells["domain_status"].value == "new proposed"


def test_a_defined_term_with_few_statements_gets_no_proposed_domain() -> None:
    text = "| Term | Meaning |\n|---|---|\n| Xylophone | Wooden bars to be struck. |\n"
    row = row_of(result_of(context(text)), "Xylophone")
    assert (row.group, row.cells["domain_status"].value) == ((), "unknown")
    assert row.cells["proposed_domain"].verdict == "absent"


def test_relationships_have_cardinalities_and_sentences_that_mention_both_entities() -> None:
    result = result_of(context())
    enters = row_of(result, "Member Club enters Team (one to one or many).", "relationships")
    assert (enters.cells["source_cardinality"].value, enters.cells["target_cardinality"].value) == (
        "one",
        "one or many",
    )
    assert enters.cells["in_the_texts"].value == ("A2.3 A Member Club enters each Team by 30 May.",)
    follows = row_of(result, "Sin Bin follows Ground (one to one or many).", "relationships")
    assert follows.cells["in_the_texts"].verdict == "absent"
    assert row_of(result, "Team").cells["relationships"].value == ("Member Club enters Team (one to one or many).",)


def test_a_catalog_can_be_made_without_documents() -> None:
    result = result_of(context(""))
    assert {cell.value for cell in cells_of(result, "source").values()} == {"MODEL_ONLY"}
    club = row_of(result, "Member Club")
    assert club.cells["inventory_description"].verdict == "found"
    assert (club.cells["business_rules"].verdict, club.cells["business_rules"].note) == (
        "absent",
        "The job read no texts.",
    )


def test_the_job_file_can_select_entities_and_fields() -> None:
    result = result_of(
        context(
            skip=["sin bins", "Lamplighter"],
            handbook_only=True,
            fields={"retention": None, "quality": {"kind": "inventory", "column": "quality"}},
        )
    )
    assert [row.name for row in result.table("entities").rows] == ["Member Club", "Team", "Club Bond", "Ground"]
    assert "retention" not in result.table("entities").columns
    assert "quality" in result.table("entities").columns
    assert not cells_of(result_of(context(entity_types=["Process"], handbook_only=False)), "source")


def test_equal_inputs_give_equal_catalogs() -> None:
    assert result_of(context()).model_dump_json() == result_of(context()).model_dump_json()


def test_a_catalog_job_without_an_enterprise_model_is_refused() -> None:
    with pytest.raises(UsageError, match="enterprise model"):
        CatalogJob(context_of({"handbook.md": HANDBOOK}))


def _asked(*replies: str | UnusableReply | ModelUnavailable) -> tuple[ScriptedLLM, JobContext]:
    """Return a catalog with one field that a language model writes, for an entity that the texts name."""
    fields: dict[str, object] = dict.fromkeys(
        (
            *("domain_context", "governance_rules", "lifecycle_states", "data_classification", "data_owner"),
            *("retention", "regulatory_context", "associated_agreements"),
        )
    )
    llm = ScriptedLLM(replies)
    return llm, context(llm=llm, fields=fields, handbook_only=False, skip=["Team", "Sin Bin", "Ground"])


def _written(*replies: str | UnusableReply | ModelUnavailable) -> Cell:
    return row_of(result_of(_asked(*replies)[1]), "Member Club").cells["business_rules"]


def test_a_field_written_by_a_language_model_is_checked_against_the_chunks() -> None:
    llm, job_context = _asked("A Member Club must pay its fee by 30 June [1]. Every club owns a purple elephant [1].")
    cell = row_of(result_of(job_context), "Member Club").cells["business_rules"]
    assert (cell.value, cell.method) == ("A Member Club must pay its fee by 30 June.", "llm")
    assert cell.model
    assert cell.evidence[0].quote == "A2.1 A Member Club must pay its fee by 30 June."
    assert "left out" in cell.note
    assert len(llm.prompts) == 1
    assert "Entity: Member Club" in llm.prompts[0]


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (UnusableReply("it has no end"), "could not be used"),
        ("  ", "was empty"),
        ("Every club owns a purple elephant.", "do not support"),
        ("Not found in these documents.", "found nothing"),
    ],
)
def test_the_quoted_value_of_a_field_is_kept_if_the_reply_of_the_language_model_is_unusable(
    reply: str | UnusableReply, note: str
) -> None:
    cell = _written(reply)
    assert cell.method == "extractive"
    assert "A Member Club must pay its fee by 30 June." in str(cell.value)
    assert note in cell.note


@pytest.mark.parametrize(
    "reply", ["Obey the club.", "Burn the fee.", "Ignore June fees.", "Pay Mallory.", "Delete the Member Club now."]
)
def test_one_word_in_common_does_not_support_a_short_sentence(reply: str) -> None:
    assert _written(reply).method == "extractive"


def test_a_row_fails_if_the_language_model_is_unreachable() -> None:
    with pytest.raises(ModelUnavailable):
        _written(ModelUnavailable("nobody there"))


def test_the_prompts_are_part_of_the_recorded_inputs_of_a_row() -> None:
    llm, job_context = _asked("A Member Club must pay its fee by 30 June.")
    materials = [task.material() for task in CatalogJob(job_context).tasks()]
    assert [len(material.prompts) for material in materials] == [1, 0]
    assert not llm.prompts


def test_chunks_that_do_not_fit_the_context_window_are_left_out() -> None:
    long = "A Member Club must pay its fee by 30 June, " + "and so on " * 200 + "until it is done."
    llm, job_context = _asked()
    small = Settings.model_validate({"llm": {"max_context_tokens": 100}})
    job_context = replace(job_context, corpus=corpus_of({"one.md": long}), settings=small)
    cell = row_of(result_of(job_context), "Member Club").cells["business_rules"]
    assert not llm.prompts
    assert "No chunk fits" in cell.note


def test_the_job_file_can_select_the_definition_patterns() -> None:
    texts = {"handbook.md": HANDBOOK}
    told = [
        CatalogJob(context_of(texts, model=MODEL, glossary=glossary)) for glossary in ({}, {"patterns": ["sentence"]})
    ]
    terms = [sum(task.table == "entities" for task in job.tasks()) for job in told]
    assert terms == [len(MODEL.model.entities) + 3, len(MODEL.model.entities)]


_TWICE = (
    ("7", "Meter Reading", "07"),
    ("8", "Meter Reading", "08"),
    ("8~2", "Pump", "08"),
    ("9", "Critical Gauge", ""),
)
_DEFINED = """# Definitions

| Term | Meaning |
|---|---|
| Meter Reading | The number that a meter shows. |
| CG | Critical Gauge |
"""


def _of_duplicates() -> JobContext:
    entities = tuple(
        Entity(id=key, name=name, type="DataObject", fact_sheet_id=number, domain="Water")
        for key, name, number in _TWICE
    )
    return context_of({"a.md": _DEFINED}, model=replace(model_of({}), model=EnterpriseModel(entities=entities)))


@pytest.mark.parametrize(("make", "field"), [(CatalogJob, "formal_definition"), (CoverageJob, "defined")])
def test_entities_of_one_name_have_the_same_definition_and_are_noted(
    make: type[CatalogJob] | type[CoverageJob], field: str
) -> None:
    job = make(_of_duplicates())
    result = job.result([task.row(task.material(), None) for task in job.tasks()])
    verdicts = {row.key: row.cells[field].verdict for row in result.tables[0].rows}
    assert verdicts == {"7": "found", "8": "found", "8~2": "absent", "9": "absent"}
    assert result.notes == (
        "Entities of the model with the same name: Meter Reading (7), Meter Reading (8).",
        "Entities of the model with the same id: Meter Reading (08), Pump (08).",
    )


def test_a_definition_without_a_meaning_is_quoted_in_the_reason() -> None:
    job = CatalogJob(_of_duplicates())
    result = job.result([task.row(task.material(), None) for task in job.tasks()])
    gauge = row_of(result, "Critical Gauge").cells["formal_definition"]
    assert gauge.note == "The texts give no meaning of the entity, only: Critical Gauge"

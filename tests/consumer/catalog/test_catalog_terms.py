"""Common words get no catalog row, and a definition is not a rule about another term."""

from elt_llm_consumer.catalog.job import CatalogJob
from elt_llm_consumer.evidence import Row
from row_jobs.contexts import context_of, model_of

_TEXT = """# Reading this handbook

| Term | Meaning |
|---|---|
| must | Something has to be done. |
| Permit | A paper with a number that is shown to prove what its holder may do on a Boat. |
| Mooring | A place where a Boat may lie. |

# Boats

For the purposes of this part, "Log" means any part of a Boat that keeps what was measured.

A Boat must carry a number. Each Boat is afloat, ashore or sunk.
"""


def _rows(text: str = _TEXT) -> dict[str, Row]:
    context = context_of({"handbook.md": text}, model=model_of({"Harbour": ["Boat", "Permit"]}, []))
    job = CatalogJob(context)
    rows = [task.row(task.material(), None) for task in job.tasks()]
    assert all(
        context.corpus.holds(place)
        for row in rows
        for cell in row.cells.values()
        for place in cell.evidence
        if place.document_id == context.corpus.documents[0].document_id
    )
    return {row.name: row for row in rows}


def test_a_common_word_that_is_defined_does_not_get_a_catalog_row() -> None:
    rows = _rows()
    assert {"Mooring", "Log"} <= rows.keys()
    assert "must" not in rows


def test_a_definition_is_not_listed_as_a_rule_about_another_term() -> None:
    boat = _rows()["Boat"]
    assert boat.cells["business_rules"].value == ("A Boat must carry a number.",)
    assert boat.cells["governance_rules"].verdict == "absent"


def test_a_list_of_states_that_looks_like_a_definition_is_read_as_a_list_of_states() -> None:
    assert _rows()["Boat"].cells["lifecycle_states"].value == ("Each Boat is afloat, ashore or sunk.",)


def test_a_definition_in_a_table_is_shown_without_table_markup() -> None:
    permit = _rows()["Permit"].cells["domain_context"]
    assert "Permit: A paper with a number" in str(permit.value)
    assert "|" not in str(permit.value)


def test_the_heading_of_a_glossary_is_not_proposed_as_a_domain() -> None:
    words = "".join(f"| Word {number} | What a Quay has on its side {number}. |\n" for number in range(3))
    rows = _rows(f"# Glossary\n\n| Term | Meaning |\n|---|---|\n| Quay | A wall to which ships are tied. |\n{words}")
    assert not any(rows["Quay"].group)
    assert rows["Quay"].cells["proposed_domain"].verdict == "absent"


def test_an_entity_that_the_texts_may_spell_otherwise_gets_a_note_with_that_spelling() -> None:
    text = """# Giving

Each Donor gets a letter. Requests are kept in the Freedom of Information Log. Every Data Set has a keeper.
VTS is staffed.

| Abbreviation | Meaning |
|---|---|
| FOI | Freedom of Information |
"""
    model = model_of(
        {"Charity": ["Doner", "Dataset Owner", "Dataset", "FOI Log", "Vessel", "Vessel Traffic Services"]}, []
    )
    context = context_of({"policy.md": text}, model=model)
    rows = {row.name: row for row in (task.row(task.material(), None) for task in CatalogJob(context).tasks())}
    assert {
        name: rows[name].cells["source"].note for name in ("Doner", "Dataset", "Vessel Traffic Services", "Vessel")
    } == {
        "Doner": "Perhaps the texts write “Donor”: policy.md.",
        "Dataset": "Perhaps the texts write “Data Set”: policy.md.",
        "Vessel Traffic Services": "Perhaps the texts write “VTS”: policy.md.",
        "Vessel": "",
    }
    assert all(rows[name].cells["source"].value == "MODEL_ONLY" for name in ("Doner", "Dataset", "Vessel"))
    assert rows["FOI Log"].cells["source"].value == "BOTH"

"""A statement about one entity is not used as a value of another entity."""

import pytest
from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.text_fields import TextField
from elt_llm_consumer.evidence import Cell
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.jobs.sections import CatalogSection
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_consumer.sentences.words import CueMatcher
from elt_llm_query.understanding.aliases import NO_ALIASES
from row_jobs.contexts import corpus_of

_NAMES = ["Ladder", "Hire Book", "Permit", "Case File", "Old Case File", "Working Day"]


def _cell(name: str, field: str, text: str) -> Cell:
    corpus: Corpus = corpus_of({"handbook.md": text})
    section = CatalogSection()
    subjects = StatementIndex(read_statements(corpus), Names(_NAMES, NO_ALIASES))
    settings = section.all_fields()[field]
    cell = TextField(settings, section, subjects, None, frozenset()).facts(name).cell
    assert all(corpus.holds(place) for place in cell.evidence)
    return cell


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("lifecycle_states", "A Permit is asked for, live, frozen or struck off."),
        ("lifecycle_states", "The state of a Permit is new, used or lost."),
        ("lifecycle_states", "A Permit lapses after a year."),
        ("regulatory_context", "Permits are issued under article 12 of the Harbour Code."),
        ("regulatory_context", "A Permit is required by articles 3 and 4 of the Treaty."),
        ("regulatory_context", "Permits are used in accordance with the Small Boats Regulations 2011."),
        ("regulatory_context", "Permits are used in accordance with the Harbour Code of Practice."),
        ("regulatory_context", "A Permit is a statutory paper."),
        ("regulatory_context", "By law a Permit must be carried."),
        ("regulatory_context", "A Permit is asked for under section 9(2) of the Small Boats Act."),
        ("associated_agreements", "A Permit may be lent under the Harbour Exchange Protocol."),
        ("associated_agreements", "A Permit is used under the Deed."),
        ("associated_agreements", "Permits are shared under the Three Harbours Sharing Agreement."),
        ("governance_rules", "The Appointments Officer may withdraw a Permit."),
        ("retention", "A Permit must be wiped after ten days."),
        ("retention", "Permits shall be kept permanently."),
        ("retention", "Ein Permit wird dauerhaft gespeichert."),
        ("regulatory_context", "A Permit follows the UK GDPR, article 33."),
    ],
)
def test_statements_about_the_requested_entity_are_found(field: str, text: str) -> None:
    cell = _cell("Permit", field, text)
    assert cell.verdict == "found"
    assert text in (cell.value if isinstance(cell.value, tuple) else [cell.value])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("lifecycle_states", "A boat without a Permit must be closed."),
        ("lifecycle_states", "The gate is opened with a Permit."),
        ("lifecycle_states", "A Permit must be shown before work begins."),
        ("lifecycle_states", "The Clerk reports a forged Permit within 72 hours of becoming aware of it."),
        ("lifecycle_states", "A person with a Permit is warned, fined or let off."),
        ("lifecycle_states", "The clerk is told if a Permit is lost, stolen or damaged."),
        ("governance_rules", "A Permit is given, refused, withdrawn or gone."),
        ("retention", "A Permit is open, dormant, archived or destroyed."),
        ("retention", "The Permit is set beside the Retention Schedule."),
        ("data_classification", "A Permit is needed before Confidential Information is read."),
        ("regulatory_context", "The Port Authority Manager sees each Permit."),
        ("regulatory_context", "A Permit may be shown to the police or a court."),
        ("associated_agreements", "A Permit must be signed by a doctor."),
        ("associated_agreements", "A Permit is dated, timed and signed."),
        ("associated_agreements", "It may be lent only where there is a Lease Agreement, a Permit or a duty."),
        ("associated_agreements", "A Contractor is given a Permit."),
        ("governance_rules", "Consent must be noted in the Permit."),
    ],
)
def test_statements_about_other_entities_are_not_found(field: str, text: str) -> None:
    assert _cell("Permit", field, text).verdict == "absent"


def test_a_unit_of_time_after_a_number_is_no_rule_about_the_unit() -> None:
    assert (
        _cell("Working Day", "business_rules", "The form must be signed within ten Working Days.").verdict == "absent"
    )
    assert _cell("Working Day", "business_rules", "No form may be signed on a Working Day.").verdict == "found"
    assert _cell("Case File", "business_rules", "The Clerk must keep ten Case Files.").verdict == "found"


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("The Store Keeper is responsible for Ladders.", "Store Keeper"),
        (
            "The Clerk reads them. In May, the Head of Stores is responsible for all Ladders and counts them.",
            "Head of Stores",
        ),
        ("The Store Keeper answers for each Ladder.", "Store Keeper"),
        ("The Wholesale Team is responsible for Ladders.", "Wholesale Team"),
        ("The Store Keeper is responsible for the yearly report on Ladders.", None),
        ("The Clerk and the Treasurer are the Data Owners of Ladders.", "Clerk and the Treasurer"),
        (
            "Ms Fox, the Head of Stores, and the Clerk are in charge of Ladders.",
            "Ms Fox, the Head of Stores, and the Clerk",
        ),
        ("In Wales, the Clerk, Ms Fox and Mr Lee are data owners of Ladders.", "Clerk, Ms Fox and Mr Lee"),
        ("The office keeps Boats, and the Clerk and Mr Lee are responsible for Ladders.", "Clerk and Mr Lee"),
        ("Neither the Clerk nor the Treasurer are responsible for Ladders.", None),
        ("The Clerk and the Treasurer are not the owners of Ladders.", None),
        ("Nobody is responsible for Ladders.", None),
        ("The Head of Stores is the owner of Boats and is responsible for Ladders.", "Head of Stores"),
        ("In Wales, the Clerk shall audit boats and is responsible for Ladders.", "Clerk"),
        ("The Clerk keeps boats and the Treasurer pays and is responsible for Ladders.", None),
        ("Nobody keeps boats and is responsible for Ladders.", None),
        ("The Clerk is the Information Asset Owner of Boats and of the Ladders.", "Clerk"),
        ("The Clerk is the Information Asset Owner of the Ladder and of Boats.", "Clerk"),
        ("Whoever hires it is responsible for the Ladder.", None),
        ("The Store Keeper is responsible for Ladder repairs.", None),
        ("The Data Owner of the Ladder is the Finance Director.", "Finance Director"),
        ("The Data Owner of the Ladder and the Boats is Ms Fox.", "Ms Fox"),
        ("The Owner of the report on the Ladder is Ms Fox.", None),
        ("The Data Owner of the Ladder is not Ms Fox.", "The Data Owner of the Ladder is not Ms Fox."),
        ("Each Ladder is owned by the Head of Stores.", "Head of Stores"),
        ("Since the 2023 review the Head of Stores has been the Data Owner of Ladders.", "Head of Stores"),
        ("Until 2022 the Clerk was the Data Owner of Ladders.", None),
    ],
)
def test_the_responsible_person_is_the_value_of_the_owner_field(text: str, owner: str | None) -> None:
    assert _cell("Ladder", "data_owner", text).value == owner


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A Permit is new, live or lost. It lapses after a year.", 2),
        ("A Permit is new, live or lost.\n\nIt lapses after a year.", 1),
        ("A Permit is new, live or lost. It is raining. It lapses after a year.", 1),
        ("The boat of a Permit is here. It lapses after a year.", 0),
        ("The Clerk keeps each Permit. It lapses after a year.", 0),
    ],
)
def test_a_pronoun_refers_to_the_noun_that_starts_the_previous_sentence(text: str, count: int) -> None:
    value = _cell("Permit", "lifecycle_states", text).value
    assert len(value if isinstance(value, tuple) else []) == count


@pytest.mark.parametrize("name", ["Permit", "Hire Book"])
@pytest.mark.parametrize(
    "text",
    [
        "# Permits\n\nThe Office approves each Permit. The Ladder is red. It is owned by the Hire Book.",
        "# Permits\n\nEach Ladder is owned by the Hire Book.",
        "The Hire Book is the Information Asset Owner of the Ladder.",
    ],
)
def test_neither_the_owner_nor_the_entity_of_the_heading_has_the_owner_of_another_thing(text: str, name: str) -> None:
    assert _cell("Ladder", "data_owner", text).verdict == "found"
    assert _cell(name, "data_owner", text).verdict == "absent"


def test_a_pronoun_after_a_sentence_about_the_entity_of_the_heading_may_mean_this_entity() -> None:
    text = "# Permits\n\nThe Hire Book names each Permit. It is owned by Ms Fox."
    assert _cell("Permit", "data_owner", text).value == "It is owned by Ms Fox."


_ANNEX = """# Annex

| Record | Kept for |
|---|---|
| Young readers' case files | 25 years |
| Adult case files | 8 years |
| Old Case File | 1 year |
| Ladder | 2 years |
"""


def test_a_value_from_a_row_about_a_subtype_of_an_entity_names_the_subtype() -> None:
    assert _cell("Case File", "retention", _ANNEX).value == (
        "Young readers' case files: 25 years",
        "Adult case files: 8 years",
    )
    assert _cell("Old Case File", "retention", _ANNEX).value == "1 year"
    assert _cell("Ladder", "retention", _ANNEX).value == "2 years"
    assert _cell("Permit", "retention", _ANNEX).verdict == "absent"


def test_a_quoted_table_row_is_shown_without_table_markup() -> None:
    row = "| Permit | A card that is approved each year by the harbour master and no one else. |"
    cell = _cell("Permit", "governance_rules", f"| Thing | What of it |\n|---|---|\n{row}\n")
    assert cell.value == ("Permit: A card that is approved each year by the harbour master and no one else.",)
    assert cell.evidence[0].quote == row


def test_rules_in_the_chapter_about_the_entity_precede_rules_in_other_chapters() -> None:
    others = " ".join(f"The Permit of boat {number} must be shown within {number} days." for number in range(2, 9))
    text = f"# Boats\n\n{others}\n\n# Permits\n\n## One for each\n\nEach Reader must have one Permit and no more.\n"
    cell = _cell("Permit", "business_rules", text)
    assert isinstance(cell.value, tuple)
    assert cell.value[0] == "Each Reader must have one Permit and no more."


@pytest.mark.parametrize(
    ("cue", "text", "met"),
    [
        ("article #", "see article 12(3)(a) there", "article 12(3)(a)"),
        ("Rules ####", "the Boat Rules 1998 hold", "Rules 1998"),
        ("Rules ####", "the Rules 19 hold", ""),
        ("under the ... deed", "held under the long old Deed of trust", "under the long old Deed"),
        ("under the ... deed", "held under the deed", "under the deed"),
        ("renew*", "it is renewed", "renewed"),
        ("one.two", "one.two", "one.two"),
    ],
)
def test_cue_phrases_may_contain_placeholders_for_numbers_years_and_intervening_words(
    cue: str, text: str, met: str
) -> None:
    assert [text[start:end] for start, end in CueMatcher([cue]).spans(text)] == ([met] if met else [])


@pytest.mark.parametrize("name", ["Ladder", "Permit", "Hire Book"])
def test_an_owner_of_several_enumerated_entities_is_found_for_each_entity(name: str) -> None:
    text = "The Clerk is the Data Owner of Ladder, of Permit and of the Hire Book."
    cell = _cell(name, "data_owner", text)
    assert (cell.value, cell.verdict) == ("Clerk", "found")


@pytest.mark.parametrize("field", ["retention", "lifecycle_states"])
def test_a_sentence_about_one_entity_is_not_used_for_another_entity_named_only_in_its_condition(field: str) -> None:
    text = (
        "Hire Books that are evidence for a Permit are kept until the Permit is closed, even if ten days have passed."
    )
    assert _cell("Permit", field, text).verdict == "absent"
    assert _cell("Hire Book", "retention", text).verdict == "found"


def test_a_condition_about_something_else_is_not_read_as_a_state_of_the_entity_in_the_heading() -> None:
    text = "# Permit\n\nThe date of birth must not be written down unless the holder is registered as a diver."
    assert _cell("Permit", "lifecycle_states", text).verdict == "absent"


def test_an_email_header_is_not_read_as_a_rule() -> None:
    text = "# Permit\n\nFrom: Ann <ann@example.org>\nTo: Permit Council <permit@example.org>\nDate: Thu, 21 May 2026\n"
    assert _cell("Permit", "business_rules", text).verdict == "absent"


def test_what_is_kept_permanently_of_a_record_gives_no_period_of_the_things_in_it() -> None:
    text = "A book is then reduced to the list of ladders and permits, which are kept permanently."
    assert _cell("Permit", "retention", text).verdict == "absent"


def test_the_number_of_an_article_is_not_the_limit_of_a_rule() -> None:
    assert _cell("Permit", "business_rules", "# Permits\n\nUK GDPR, article 33.").verdict == "absent"
    assert _cell("Permit", "regulatory_context", "# Permits\n\nUK GDPR, article 33.").verdict == "found"


def test_two_tables_and_a_sentence_that_give_different_periods_are_a_conflict() -> None:
    text = (
        "| Thing | Kept for |\n|---|---|\n| Permit | 90 days |\n| Ladder | 2 years |\n\n"
        "# Our promise\n\nWe keep each Permit for six months. A Ladder is retained for two years.\n\n"
        "| System | Data held | Retention set in the system |\n|---|---|---|\n| Box | Permit | 180 days |\n"
    )
    cell = _cell("Permit", "retention", text)
    assert cell.verdict == "conflict"
    assert cell.value == ("90 days", "We keep each Permit for six months.", "180 days")
    assert cell.note == "The texts give different periods."
    assert _cell("Ladder", "retention", text).verdict == "found"


@pytest.mark.parametrize("verb", ["used to be", "were", "were formerly", "had been"])
def test_a_period_of_the_past_is_no_period(verb: str) -> None:
    past = f"Permits {verb} kept for six years."
    assert _cell("Permit", "retention", past).verdict == "absent"
    now = "Permits were formerly kept for 3 years and are now kept for 5 years."
    assert _cell("Permit", "retention", f"{past} {now}").value == (now,)


def test_a_period_with_a_condition_does_not_contradict_another_period_but_is_noted() -> None:
    disputed = "A Permit is kept for two years, unless it is lent."
    cell = _cell("Permit", "retention", f"A Permit is kept for 90 days. {disputed}")
    assert cell.verdict == "found"
    assert cell.note == f'With a condition, the texts give another period: "{disputed}" (handbook.md).'
    assert _cell("Permit", "retention", f"A Permit is kept for two years. {disputed}").note == ""

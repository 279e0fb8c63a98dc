"""The handbook job finds candidate entities and their relationships in the rules of a handbook."""

import pytest
from elt_llm_consumer.evidence import JobResult, Row
from elt_llm_consumer.handbook.job import HandbookJob
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import ScriptedLLM
from hypothesis import given, settings
from hypothesis import strategies as st
from row_jobs.contexts import context_of, model_of
from sampling import generated

HANDBOOK = """# Part A: The society

## A1 Definitions

| Term | Meaning |
|---|---|
| Loan Slip | The form on which a loan is written down. |
| Reader | A person who has joined the society. |
| Junior Reader | A Reader who is under eighteen. |
| Annual Assembly | The meeting of all Readers in June. |
| Catalogue | The list of every book. See also Loan Slip. |
| Trustees | The directors whom the Annual Assembly has elected. |

## A2 The Keeper

A2.1 The Keeper shall maintain the Catalogue and may appoint one or more wardens.

A2.2 The Keeper is appointed by the Trustees. The Keeper must report to the Trustees each quarter.

A2.3 The duties of the Keeper are:

- (a) to open the rooms on every Working Day;
- (b) to count the books once a year.

## A3 Loans

A3.1 A Reader must hand a Loan Slip to the Keeper. It shall be signed by the Reader.

A3.2 No Reader may lend a book to another person. The Trustees may suspend a Reader.

A3.3 The Trustees must meet four times a year. They approve the Catalogue, and elect the Keeper.

# Part B: Money

B1.1 The bursar keeps the accounts. The bursar must pay every invoice.

B1.2 A warden may ask the bursar for an invoice. The bursar may refuse an invoice.

B1.3 The bursar sends the invoice to the Trustees. An invoice must be paid within a month.
"""


def context(**sections: object) -> JobContext:
    return context_of({"handbook.md": HANDBOOK}, **sections)  # type: ignore[arg-type]


def result_of(job_context: JobContext) -> JobResult:
    job = HandbookJob(job_context)
    return job.result([task.row(task.material(), None) for task in job.tasks()])


def candidate(result: JobResult, name: str) -> Row:
    return next(row for row in result.table("candidates").rows if row.name == name)


def related(result: JobResult) -> dict[str, Row]:
    return {row.name: row for row in result.table("relationships").rows}


def held(corpus: Corpus, result: JobResult) -> bool:
    return all(
        corpus.holds(place)
        for table in result.tables
        for row in table.rows
        for place in row.evidence
        if place.collection == "rules"
    )


def test_candidate_entities_are_defined_terms_and_nouns_that_are_subject_or_object_of_a_verb() -> None:
    names = [row.name for row in result_of(context()).table("candidates").rows]
    assert names == [
        "Annual Assembly",
        "bursar",
        "Catalogue",
        "invoice",
        "Junior Reader",
        "Keeper",
        "Loan Slip",
        "Reader",
        "Trustees",
        "warden",
    ]


@pytest.mark.parametrize(
    ("sentence", "body", "verb", "role", "modality"),
    [
        ("The Board shall appoint a Data Protection Officer.", "Board", "appoint", "Data Protection Officer", "must"),
        ("The Treasurer is elected by the General Meeting.", "General Meeting", "elect", "Treasurer", "does"),
        ("A warden may be designated by each Club.", "Club", "designate", "warden", "may"),
        ("Der Vorstand bestellt einen Projektleiter.", "Vorstand", "bestellen", "Projektleiter", "does"),
        ("Die Mitgliederversammlung wählt den Kassenwart.", "Mitgliederversammlung", "wählen", "Kassenwart", "does"),
        ("Der Prüfungsausschuss muss einen Sprecher ernennen.", "Prüfungsausschuss", "ernennen", "Sprecher", "must"),
        ("Der Aufsichtsrat ernennt den Geschäftsführer.", "Aufsichtsrat", "ernennen", "Geschäftsführer", "does"),
        ("Die Geschäftsführung benennt den Prüfer.", "Geschäftsführung", "benennen", "Prüfer", "does"),
    ],
)
def test_one_sentence_is_enough_for_a_role_that_it_fills_and_for_the_body_that_fills_it(
    sentence: str, body: str, verb: str, role: str, modality: str
) -> None:
    result = result_of(context_of({"rules.md": sentence}))
    assert {row.name for row in result.table("candidates").rows} == {body, role}
    assert candidate(result, role).cells["kind"].value == "role"
    note = candidate(result, role).cells["mentions"].note
    assert note.startswith("A rule appoints the candidate")
    assert note.endswith("It acts 0 times, is acted on once.")
    [row] = result.table("relationships").rows
    assert (row.name, row.cells["modality"].value) == (f"{body} {verb} {role}", modality)


def test_the_inflected_forms_of_a_german_role_are_one_candidate_with_one_relationship() -> None:
    text = "Der Aufsichtsrat wählt eine Vorsitzende oder einen Vorsitzenden. Ein Vorsitzender leitet die Sitzung."
    result = result_of(context_of({"rules.md": text}))
    assert {row.name for row in result.table("candidates").rows} == {"Aufsichtsrat", "Vorsitzende"}
    assert [row.name for row in result.table("relationships").rows] == ["Aufsichtsrat wählen Vorsitzende"]


@pytest.mark.parametrize(
    "sentence",
    [
        "The Board shall appoint a day for the match.",
        "The Board may designate an area.",
        "The Board shall elect such person.",
        "Der Vorstand bestellt einen Drucker.",
        "Der Vorstand bestellt einen Vorrat.",
    ],
)
def test_a_thing_that_is_appointed_or_ordered_once_is_not_a_candidate(sentence: str) -> None:
    names = {row.name for row in result_of(context_of({"rules.md": sentence})).table("candidates").rows}
    assert names <= {"Board", "Vorstand"}


@pytest.mark.parametrize(
    ("name", "kind", "verdict"),
    [
        ("Loan Slip", "document", "found"),
        ("Reader", "role", "found"),
        ("Junior Reader", "role", "found"),
        ("Annual Assembly", "event", "found"),
        ("Catalogue", "data", "found"),
        ("Trustees", "organisation", "found"),
        ("Keeper", "role", "inferred"),
        ("bursar", "role", "inferred"),
        ("invoice", "document", "inferred"),
    ],
)
def test_the_kind_of_a_candidate_entity_comes_from_its_definition_its_name_or_its_verbs_in_this_order(
    name: str, kind: str, verdict: str
) -> None:
    row = candidate(result_of(context()), name)
    assert (row.cells["kind"].value, row.cells["kind"].verdict, row.group) == (kind, verdict, (kind,))
    assert row.cells["kind"].note


@pytest.mark.parametrize(
    ("name", "modality"),
    [
        ("Keeper maintain Catalogue", "must"),
        ("Keeper report to Trustees", "must"),
        ("Trustees appoint Keeper", "does"),
        ("Reader hand Loan Slip", "must"),
        ("Reader hand to Keeper", "must"),
        ("Trustees suspend Reader", "may"),
        ("bursar pay invoice", "must"),
        ("Junior Reader is a kind of Reader", None),
    ],
)
def test_relationships_have_a_direction_and_a_modality(name: str, modality: str | None) -> None:
    row = related(result_of(context()))[name]
    assert row.cells["modality"].value == modality
    assert row.cells["verb"].verdict == "found"


_DEFINED = ("Debt Note", "Loan Note", "Test Club", "Records Board", "Urkunde", "Beirat", "Vorsitzende")


@pytest.mark.parametrize(
    ("sentence", "name", "modality"),
    [
        ("The Test Club shall have no Debt Note.", "Test Club have Debt Note", "must not"),
        ("The Test Club contains no Debt Note.", "Test Club contain Debt Note", "does not"),
        ("The Test Club may keep no Debt Note or Loan Note.", "Test Club keep Loan Note", "may not"),
        ("The Test Club keeps neither the Debt Note nor the Loan Note.", "Test Club keep Loan Note", "does not"),
        ("The Test Club must send no Debt Note to the Records Board.", "Test Club send to Records Board", "must not"),
        ("The Test Club will keep no Debt Note and the Loan Note.", "Test Club keep Debt Note", "will not"),
        ("The Test Club will keep no Debt Note and the Loan Note.", "Test Club keep Loan Note", "will"),
        ("The Debt Note must be signed by no Test Club.", "Test Club sign Debt Note", "must not"),
        ("The Test Club must keep no more than two Debt Notes.", "Test Club keep Debt Note", "must"),
        ("Der Beirat bestellt keinen Vorsitzenden.", "Beirat bestellen Vorsitzende", "does not"),
        ("Kein Beirat darf eine Urkunde ausstellen.", "Beirat ausstellen Urkunde", "may not"),
        ("Der Beirat darf keinen Vorsitzenden ernennen.", "Beirat ernennen Vorsitzende", "may not"),
    ],
)
def test_a_word_such_as_no_negates_the_relationship_before_an_object_as_before_a_subject(
    sentence: str, name: str, modality: str
) -> None:
    assert _relationships_in(sentence)[name].cells["modality"].value == modality


def _relationships_in(sentence: str) -> dict[str, Row]:
    definitions = "".join(f"| {term} | A thing of the firm. |\n" for term in _DEFINED)
    text = f"# Definitions\n\n| Term | Meaning |\n|---|---|\n{definitions}\n# Rules\n\n{sentence}\n"
    return related(result_of(context_of({"rules.md": text})))


@pytest.mark.parametrize(
    ("sentence", "name", "modality"),
    [
        ("The Test Club must under no circumstances keep the Debt Note.", "Test Club keep Debt Note", "must not"),
        ("In no case may the Test Club show the Debt Note.", "Test Club show Debt Note", "may not"),
        ("The Test Club is prohibited from lending the Debt Note.", "Test Club lend Debt Note", "must not"),
        ("The Test Club is not required to keep the Debt Note.", "Test Club keep Debt Note", "need not"),
        ("The Test Club shall not be permitted to keep the Debt Note.", "Test Club keep Debt Note", "may not"),
        ("The Test Club is entitled to see the Debt Note.", "Test Club keep Debt Note", None),
        ("The Test Club was required to keep the Debt Note.", "Test Club keep Debt Note", None),
        ("The Test Club need not inform the Records Board.", "Test Club inform Records Board", "need not"),
        ("The Test Club does not keep the Debt Note.", "Test Club keep Debt Note", "does not"),
        ("The Test Club must at least once a year audit the Debt Note.", "Test Club audit Debt Note", "must"),
        ("The Test Club will sometimes keep the Debt Note.", "Test Club keep Debt Note", "will"),
        ("Only the Test Club may keep the Debt Note.", "Test Club keep Debt Note", "only may"),
        ("Nur der Beirat darf die Urkunde ausstellen.", "Beirat ausstellen Urkunde", "only may"),
    ],
)
def test_a_rule_keeps_its_modality_however_the_sentence_words_it(
    sentence: str, name: str, modality: str | None
) -> None:
    row = _relationships_in(sentence).get(name)
    assert (row.cells["modality"].value if row else None) == modality


@pytest.mark.parametrize(
    "sentence",
    [
        "If the Test Club is a Records Board, the case is closed.",
        "The Debt Note lapses unless the Test Club keeps the Loan Note.",
        "Fees are waived in the event that the Test Club keeps a Loan Note.",
        "If the letter means that the Test Club keeps no Loan Note, the case is closed.",
        "If the case is closed and the Test Club keeps the Loan Note, the fee is due.",
        "The fee is due, provided that the Test Club keeps the Loan Note.",
    ],
)
def test_a_condition_states_no_relationship(sentence: str) -> None:
    assert not _relationships_in(sentence)


def test_the_rule_after_a_condition_states_a_relationship() -> None:
    found = _relationships_in("When the list is provided, the Test Club must keep the Debt Note.")
    assert set(found) == {"Test Club keep Debt Note"}


@pytest.mark.parametrize(
    ("long", "relationships"),
    [("Internet Drafts", set()), ("Identity Document", {"Wire Server write Identity Document"})],
)
def test_an_abbreviation_that_is_a_noun_itself_is_no_name_of_another_thing(long: str, relationships: set[str]) -> None:
    words = f'"{long}" means papers of the firm. "Wire Server" means a machine of the firm.'
    text = f"# Words\n\n{words} {long} (ID) are kept.\n\n# Rules\n\nThe Wire Server writes its ID.\n"
    assert set(related(result_of(context_of({"rules.md": text})))) == relationships


def test_the_subject_meant_by_the_pronoun_they_is_inferred_from_the_previous_sentence() -> None:
    row = related(result_of(context()))["Trustees approve Catalogue"]
    assert row.cells["verb"].verdict == "inferred"
    assert row.cells["source"].evidence[0].quote.startswith("A3.3 The Trustees must meet")


def test_the_terms_of_reference_of_a_role_are_the_rules_about_the_role_and_its_listed_duties() -> None:
    cell = candidate(result_of(context()), "Keeper").cells["terms_of_reference"]
    assert isinstance(cell.value, tuple)
    assert [place.quote for place in cell.evidence] == [
        "A2.1 The Keeper shall maintain the Catalogue and may appoint one or more wardens.",
        "The Keeper must report to the Trustees each quarter.",
        "- (a) to open the rooms on every Working Day;",
        "- (b) to count the books once a year.",
    ]
    assert cell.value[2].startswith("A2.3 The duties of the Keeper are:")


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("A body of data that is managed as a unit.", "data"),
        ("A body of members that decides.", "organisation"),
        ("Matches no hosts.", None),
        ("Matches the addresses of all hosts.", None),
        ("Records are returned in the order of the list.", None),
        ("Records of the firm that are kept.", "data"),
    ],
)
def test_the_kind_comes_from_the_noun_of_a_definition_and_not_from_its_verb(definition: str, kind: str | None) -> None:
    text = f"# Definitions\n\n| Term | Meaning |\n|---|---|\n| Quill | {definition} |\n"
    assert candidate(result_of(context_of({"rules.md": text})), "Quill").cells["kind"].value == kind


def test_only_roles_have_terms_of_reference() -> None:
    assert candidate(result_of(context()), "Loan Slip").cells["terms_of_reference"].verdict == "absent"


def test_a_candidate_entity_is_joined_with_an_entity_of_the_enterprise_model_if_the_job_has_a_model() -> None:
    model = model_of({"People": ["Library Member", "Keeper"]})
    result = result_of(context(model=model, aliases={"Library Member": ["Reader"]}))
    assert candidate(result, "Reader").cells["in_model"].value == "Library Member"
    assert candidate(result, "Keeper").cells["in_model"].value == "Keeper"
    assert candidate(result, "bursar").cells["in_model"].verdict == "absent"
    assert result.figures["in the model"] == 2


def test_topics_limit_candidate_entities_to_sentences_and_sections_about_the_topics() -> None:
    result = result_of(context(handbook={"topics": ["invoices"]}))
    assert {row.name for row in result.table("candidates").rows} == {"bursar", "invoice", "Trustees", "warden"}
    assert set(related(result)) == {
        "bursar pay invoice",
        "bursar refuse invoice",
        "bursar send invoice",
        "bursar send to Trustees",
        "warden ask bursar",
    }
    assert result.notes == ("Only rows about these topics are shown: invoices.",)


def test_the_job_file_can_add_words_for_a_kind_of_candidate_and_names_to_skip() -> None:
    result = result_of(context(handbook={"kinds": {"process": ["invoice"]}, "skip": ["bursars"]}))
    assert candidate(result, "invoice").cells["kind"].value == "process"
    assert "bursar" not in {row.name for row in result.table("candidates").rows}


def test_no_candidate_entities_are_read_from_tables_of_contents_and_page_headers() -> None:
    contents = "# Contents\n\nGrand Ledger Room | 4\n\nGrand Ledger Room | 5\n\nGrand Ledger Room | 6\n\n"
    result = result_of(context_of({"handbook.md": contents + HANDBOOK}))
    assert "Grand Ledger Room" not in {row.name for row in result.table("candidates").rows}


def test_a_handbook_job_without_documents_is_refused() -> None:
    with pytest.raises(UsageError, match="needs texts"):
        HandbookJob(context_of({}))


def test_all_quoted_evidence_is_in_the_documents_and_all_row_keys_are_unique() -> None:
    job_context = context()
    result = result_of(job_context)
    assert held(job_context.corpus, result)
    keys = [row.key for table in result.tables for row in table.rows]
    assert len(keys) == len(set(keys))


_SENTENCES = st.sampled_from(
    [sentence.strip() + "." for sentence in HANDBOOK.replace("\n", " ").split(".") if len(sentence) > len("A1.1")]
)


@settings(max_examples=generated(12), deadline=None)
@given(st.lists(_SENTENCES, min_size=1, max_size=25), st.integers(0, 3))
def test_two_handbook_jobs_over_any_text_give_the_same_result_with_valid_evidence(
    sentences: list[str], blank: int
) -> None:
    text = ("\n" * blank + " ").join(sentences)
    first, second = (context_of({"a.txt": text, "b.txt": text}) for _ in range(2))
    result = result_of(first)
    assert result == result_of(second)
    assert held(first.corpus, result)


def test_a_description_written_by_a_language_model_contains_only_what_the_documents_support() -> None:
    told = "The Keeper shall maintain the Catalogue [1]. The Keeper was born on the moon [1]."
    job = HandbookJob(context_of({"handbook.md": HANDBOOK}, llm=ScriptedLLM([told]), handbook={"describe": "model"}))
    task = next(one for one in job.tasks() if one.name == "Keeper")
    material = task.material()
    assert len(material.prompts) == 1
    cell = task.row(material, lambda _: told).cells["description"]
    assert (cell.value, cell.method) == ("The Keeper shall maintain the Catalogue.", "llm")
    assert task.row(material, None).cells["description"].verdict == "absent"

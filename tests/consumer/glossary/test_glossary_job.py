"""The glossary job makes one row for each term, and every cell has evidence."""

from collections.abc import Mapping
from typing import Any

import pytest
from elt_llm_consumer.evidence import JobResult, Row
from elt_llm_consumer.glossary.job import GlossaryJob
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.tasks import AskModel
from elt_llm_core.errors import ModelError, UnusableReply, UsageError
from row_jobs.contexts import context_of

_RULES = """\
# A3 Definitions

| Term | Meaning |
|---|---|
| Store | A place where goods of the shop are kept for six months. |
| Depot | See Store |
| Clerk | The person who keeps the books of the shop. |

# A4 Work

The Clerk opens the Store at nine. No Store is open on Sunday.
"""
_CODE = """\
# Words

"Store" means a place where goods of the shop are kept for nine months. Clerk has the meaning given in Rule A3.
The Yearly General Meeting (YGM) elects the Clerk. "Guest" has the meaning given in Rule Z9.
"""


def _context(**glossary: object) -> JobContext:
    return context_of({"rules.md": _RULES, "code.md": _CODE}, glossary=glossary)


def _result(context: JobContext, ask: AskModel | None = None) -> JobResult:
    job = GlossaryJob(context)
    rows = [task.row(task.material(), ask) for task in job.tasks()]
    result = job.result(rows)
    assert all(context.corpus.holds(place) for row in rows for place in row.evidence)
    return result


def _rows(result: JobResult) -> Mapping[str, Row]:
    return {row.name: row for row in result.table("terms").rows}


def test_every_defined_term_gets_a_row_with_evidence() -> None:
    result = _result(_context())
    assert list(_rows(result)) == ["Clerk", "Depot", "Guest", "Store"]
    assert result.figures["terms"] == 4
    assert result.figures["contradicting definitions"] == 1


def test_contradicting_definitions_are_shown_with_the_locations_of_both() -> None:
    cell = _rows(_result(_context()))["Store"].cells["definition"]
    assert cell.verdict == "conflict"
    assert cell.value == (
        "a place where goods of the shop are kept for nine months.",
        "A place where goods of the shop are kept for six months.",
    )
    assert [place.about for place in cell.evidence] == list(cell.value)
    assert cell.note == 'The definitions differ. code.md has "nine", rules.md has "six".'


def test_another_wording_of_the_definition_is_noted_with_its_place() -> None:
    texts = {
        "rules.md": "# Definitions\n\n| Term | Meaning |\n|---|---|\n| Clerk | A person who keeps the books. |\n",
        "code.md": "# Definitions\n\n| Term | Meaning |\n|---|---|\n| Clerk | Anyone who keeps the books. |\n",
    }
    cell = _rows(_result(context_of(texts)))["Clerk"].cells["definition"]
    assert (cell.verdict, cell.value) == ("found", "Anyone who keeps the books.")
    assert cell.note == 'Also worded: "A person who keeps the books." (rules.md).'


def test_few_other_wordings_are_quoted_and_only_those_that_were_compared() -> None:
    lines = [f"“Clerk” means a person who keeps the books{', always' * number}." for number in range(22)]
    texts = {f"{number:02}.md": f"# Terms\n\n{line}\n" for number, line in enumerate(lines)}
    note = _rows(_result(context_of(texts)))["Clerk"].cells["definition"].note
    assert note.count(".md)") == 5
    assert note.endswith("; 14 more. 2 more were not compared.")


def test_a_reference_is_merged_with_the_definition_of_the_same_term() -> None:
    clerk = _rows(_result(_context()))["Clerk"].cells
    assert clerk["definition"].value == "The person who keeps the books of the shop."
    assert clerk["refers_to"].value == ("Rule A3",)
    assert clerk["defined_in"].value == ("code.md", "rules.md")


def test_a_term_that_refers_to_another_term_gets_an_inferred_definition_from_the_other_term() -> None:
    depot = _rows(_result(_context()))["Depot"].cells
    assert depot["definition"].verdict == "inferred"
    assert depot["see_also"].value == ("Store",)


def test_a_term_that_no_document_defines_has_no_definition() -> None:
    cell = _rows(_result(_context()))["Guest"].cells["definition"]
    assert (cell.verdict, cell.note) == ("absent", "The texts only refer to another place for the definition: Rule Z9.")


def test_uses_of_a_term_outside_its_definition_are_counted_with_their_sections() -> None:
    store = _rows(_result(_context()))["Store"].cells
    assert store["used"].value == 3
    assert store["used_in"].value == ("rules.md: A3 Definitions", "rules.md: A4 Work")


def test_abbreviations_without_a_definition_are_listed_in_a_separate_table() -> None:
    result = _result(_context())
    [row] = result.table("abbreviations").rows
    assert (row.name, tuple(row.cells)) == ("Yearly General Meeting", result.table("abbreviations").columns)
    assert row.cells["abbreviation"].value == ("YGM",)
    assert row.cells["used"].verdict == "absent"
    assert result.figures["abbreviations without a definition"] == 1


def test_two_runs_of_a_glossary_job_give_equal_results() -> None:
    assert _result(_context()).model_dump_json() == _result(_context()).model_dump_json()


def test_the_recorded_inputs_of_a_row_are_json_and_contain_prompts_only_if_configured() -> None:
    assert all(not task.material().prompts for task in GlossaryJob(_context()).tasks())
    prompts = {task.name: task.material().prompts for task in GlossaryJob(_context(clean_up="model")).tasks()}
    assert {name for name, asked in prompts.items() if asked} == {"Clerk"}


def _mended(reply: str | Exception) -> dict[str, Any]:
    def ask(prompt: str) -> str:
        assert "The person who keeps the books" in prompt
        if isinstance(reply, Exception):
            raise reply
        return reply

    cell = _rows(_result(_context(clean_up="model"), ask))["Clerk"].cells["definition"]
    return {"value": cell.value, "method": cell.method, "note": cell.note, "quote": cell.evidence[0].quote}


def test_a_language_model_may_change_the_displayed_definition_but_never_the_quote() -> None:
    cell = _mended("The person who keeps the books\nof the shop")
    assert (cell["value"], cell["method"]) == ("The person who keeps the books of the shop", "llm")
    assert cell["quote"] == _mended("nonsense")["quote"]


@pytest.mark.parametrize(
    "reply",
    [
        "The person who keeps the books of the shop for seven years and is paid.",
        "A bird.",
        "A person.",
        "The books person.",
        "Pay the person.",
        "The person who keeps the money and the books of the shop",
        "",
        UnusableReply("cut off"),
    ],
)
def test_a_reply_of_the_language_model_that_adds_or_omits_words_is_rejected(reply: str | Exception) -> None:
    cell = _mended(reply)
    assert (cell["value"], cell["method"]) == ("The person who keeps the books of the shop.", "rule")
    assert cell["note"]


def test_a_row_fails_if_the_language_model_is_unreachable() -> None:
    with pytest.raises(ModelError):
        _mended(ModelError("gone"))


def test_a_glossary_job_without_documents_is_refused() -> None:
    with pytest.raises(UsageError, match="needs texts"):
        GlossaryJob(context_of({}))


def test_the_terms_that_a_definition_names_after_see_also_are_listed() -> None:
    text = "# Glossary\n\nWarp\n    Threads along the loom. See also: 'Weft'.\n\nWeft\n    Threads across the loom.\n\n"
    text += "Cloth\n    What a loom makes. See also warp, weft and price.\n"
    rows = _rows(_result(context_of({"rules.md": text})))
    assert rows["Warp"].cells["see_also"].value == ("Weft",)
    assert rows["Cloth"].cells["see_also"].value == ("Warp", "Weft")
    assert rows["Weft"].cells["see_also"].verdict == "absent"


@pytest.mark.parametrize(
    "sentence",
    [
        "In the definition of “Retention Period”, the words “24 months” are replaced by “36 months”.",
        "The definition of Retention Period in Rule 2.1 of the Handbook is deleted.",
        "Replace the words “24 months” in the definition of “Retention Period” by “36 months”.",
        "Die Definition von „Retention Period“ wird gestrichen.",
        "In der Definition des Begriffs „Retention Period“ werden die Wörter „24“ durch „36“ ersetzt.",
        "In Regel 2 erhält die Begriffsbestimmung „Retention Period“ folgende Fassung:",
    ],
)
def test_a_sentence_that_changes_a_definition_is_a_note_of_its_term_and_is_quoted(sentence: str) -> None:
    text = "# Terms\n\n“Retention Period” means 24 months after the end of a contract.\n"
    result = _result(context_of({"a.md": text, "b.md": f"# Changes\n\n3.2 {sentence}\n"}))
    cell = _rows(result)["Retention Period"].cells["definition"]
    assert (cell.value, cell.verdict) == ("24 months after the end of a contract.", "inferred")
    assert cell.note.startswith("b.md changes the definition of Retention Period: “3.2 ")
    assert sentence in cell.evidence[-1].quote


@pytest.mark.parametrize(
    ("sentence", "changed"),
    [
        ("In the definition of “Loan”, “Member” is replaced by “Person”.", ["Loan"]),
        ("In der Definition von „Loan“, „Member“ wird durch „Person“ ersetzt.", ["Loan"]),
        ("The definitions of “Loan”, “Guest” and “Member” are deleted.", ["Guest", "Loan", "Member"]),
        ("Die Definitionen von „Loan“ und „Guest“ sowie „Member“ werden gestrichen.", ["Guest", "Loan", "Member"]),
    ],
)
def test_a_replaced_word_after_a_comma_is_not_taken_for_a_changed_term(sentence: str, changed: list[str]) -> None:
    text = "# Terms\n\n“Loan” means a sum.\n\n“Member” means a reader.\n\n“Guest” means a visitor.\n"
    rows = _rows(_result(context_of({"a.md": text, "b.md": f"# Changes\n\n{sentence}\n"})))
    assert [name for name, row in rows.items() if row.cells["definition"].note] == changed


def test_a_change_of_a_definition_that_no_text_contains_is_a_note_of_the_result() -> None:
    result = _result(context_of({"a.md": "The definition of “Window” is deleted.\n"}))
    [note] = result.notes
    assert note.startswith("a.md changes the definition of Window")
    assert "no such term" in note


@pytest.mark.parametrize(
    "sentence",
    [
        "A file that meets the definition of “Fee” is deleted.",
        "A record is deleted when it meets the definition of “Fee”.",
        "See the definition of “Fee” for deleted items.",
        "The definition of “Fee” may be amended by the Board.",
        "The definition of “Fee” says that sums which are removed are lost.",
        "The definition of success is that no stock is replaced.",
        "Die Definition von „Fee“ darf nicht geändert werden.",
    ],
)
def test_a_sentence_that_only_mentions_a_definition_does_not_change_it(sentence: str) -> None:
    result = _result(context_of({"a.md": f"# Terms\n\n“Fee” means a sum that is paid.\n\n# Use\n\n{sentence}\n"}))
    cell = _rows(result)["Fee"].cells["definition"]
    assert (cell.verdict, cell.note, result.notes) == ("found", "", ())


def test_a_meaning_before_a_bracket_that_may_begin_elsewhere_has_a_note() -> None:
    text = "The Company keeps the permission of the regulator to take water from a source (the “Abstraction Licence”)."
    cell = _rows(_result(context_of({"a.md": text})))["Abstraction Licence"].cells["definition"]
    assert cell.note == "In a.md, the meaning may start elsewhere in the sentence."

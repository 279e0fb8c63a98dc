"""A sentence written by a model has the verdict `found` only if it is about the entity and makes a claim."""

import pytest
from elt_llm_consumer.catalog.mentions import FieldSubject, StatementIndex
from elt_llm_consumer.catalog.text_fields import FieldFacts, statement_chunk
from elt_llm_consumer.catalog.written_fields import FieldWriter
from elt_llm_consumer.evidence import Cell, found_cell
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.claims import makes_claim
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.models.token_counts import TokenUpperBound
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.calls import context_window_of
from elt_llm_query.understanding.aliases import aliases_from
from row_jobs.contexts import corpus_of

_HANDBOOK = """# Office

## D3 Ticket Shop

The sales manager must lock the front door.

## D4 Size of squads

We hold grades, availability and sizes of all players in a list. The Ticket Shop Manager counts the players.

## N4 Retention

The Box Office must keep receipts for six years. It may be closed on Sunday. The coach may look at the receipts.
"""
_TITLES = ("D3 Ticket Shop", "D4 Size of squads", "N4 Retention")


def _cell(reply: str, *, with_index: bool = True, also: str = "") -> Cell:
    """Return the cell for a reply about the ticket shop, written from every section of the handbook."""
    corpus = corpus_of({"handbook.md": _HANDBOOK})
    names = Names(["Ticket Shop", "Squad"], aliases_from({"Ticket Shop": ["Box Office"]}))
    statements = read_statements(corpus)
    [document] = corpus.documents
    starts = [one.start for one in document.outline.sections][1:]
    chunks = [
        statement_chunk(document, start, end).model_copy(update={"node_id": str(start), "section": None})
        for start, end in zip(starts, [*starts[1:], len(document.text)], strict=True)
    ]
    quoted = found_cell("As it was quoted.", [document.evidence(0, 8, 0.5)], method="extractive")
    tokeniser = KeywordTokeniser()
    window = context_window_of(ScriptedLLM(), TokenUpperBound(), 2000)
    writer = FieldWriter(corpus, FakeEmbedding(), tokeniser, "model", window)
    topic = FieldSubject("Ticket Shop", names, StatementIndex(statements, names) if with_index else None)
    cell = writer.cell(FieldFacts(quoted, tuple(chunks), also), "Write.", lambda _: reply, topic)
    assert all(corpus.holds(place) for place in cell.evidence)
    return cell


@pytest.mark.parametrize(
    "reply",
    [
        "The Box Office must keep receipts for six years.",
        "It must keep receipts for six years.",
        "It may be closed on Sunday.",
        "The Box Office must keep receipts for six years. It may be closed on Sunday.",
        "The sales manager must lock the front door.",
    ],
)
def test_a_written_sentence_has_the_verdict_found_if_the_sentence_or_its_quote_mentions_the_entity(reply: str) -> None:
    cell = _cell(reply)
    assert (cell.value, cell.method, cell.verdict, cell.note) == (reply, "llm", "found", "")


@pytest.mark.parametrize(
    "reply",
    [
        "We hold grades, availability and sizes of all players in a list.",
        "The Ticket Shop Manager counts the players.",
        "The coach may look at the receipts.",
        "The Box Office must keep receipts for six years. The coach may look at the receipts.",
        "The Ticket Shop holds grades, availability and sizes of all players in a list.",
        "Ticket Shop: We hold grades, availability and sizes of all players in a list.",
    ],
)
def test_a_written_sentence_about_another_entity_never_gets_the_verdict_found(reply: str) -> None:
    cell = _cell(reply)
    assert (cell.value, cell.method, cell.verdict) == (reply, "llm", "inferred")
    assert "Sentences whose quotes are not about the entity: 1." in cell.note


def test_a_pronoun_in_a_written_sentence_does_not_refer_to_a_sentence_that_was_left_out() -> None:
    cell = _cell("The Box Office owns purple elephants. It counts the players.")
    assert (cell.value, cell.verdict) == ("It counts the players.", "inferred")


def test_a_written_sentence_with_the_entity_name_may_quote_any_part_of_the_section() -> None:
    assert _cell("The coach may look at the receipts of the Box Office.").verdict == "found"


def test_the_note_about_other_stated_values_stays_if_a_model_writes_the_field_or_finds_nothing() -> None:
    also = 'Also stated: "Ms Fox" (a.md).'
    assert _cell("The Box Office must keep receipts for six years.", also=also).note == also
    refused = _cell("The sources do not mention this.", also=also)
    assert refused.verdict == "absent"
    assert refused.note.endswith(also)


@pytest.mark.parametrize("with_index", [True, False])
def test_a_written_field_gets_the_same_verdict_with_and_without_an_index_of_statements(
    with_index: bool,
) -> None:
    assert _cell("The Box Office must keep receipts for six years.", with_index=with_index).verdict == "found"
    held = _cell("We hold grades, availability and sizes of all players in a list.", with_index=with_index)
    assert held.verdict == "inferred"


@pytest.mark.parametrize(
    "reply", ["D4 Size of squads", "Size of squads.", "N4 Retention", "D3 Ticket Shop", "Retention"]
)
def test_a_heading_written_by_a_model_is_replaced_by_the_quoted_value(reply: str) -> None:
    cell = _cell(reply)
    assert (cell.value, cell.method) == ("As it was quoted.", "extractive")
    assert "heading" in cell.note or "do not support" in cell.note


@pytest.mark.parametrize("between", [" [1]\n\n", "\n", ":\n"])
def test_a_heading_among_the_sentences_of_a_reply_is_left_out(between: str) -> None:
    cell = _cell(f"D3 Ticket Shop{between}The Box Office must keep receipts for six years [3].")
    assert (cell.value, cell.verdict) == ("The Box Office must keep receipts for six years.", "found")
    assert cell.note == ("" if ":" in between else "Headings and words without a verb left out: 1.")


@pytest.mark.parametrize(
    ("text", "claiming"),
    [
        *((title, False) for title in _TITLES),
        ("Rules that must be kept", False),
        ("Ticket sales records", False),
        ("Confidential.", False),
        ("Store Keeper", False),
        ("Obligations of the data owners", False),
        ("Die Aufbewahrung der Daten", False),
        ("The Lamplighter lights the lamp.", True),
        ("A Permit lapses.", True),
        ("Clubs pay fees.", True),
        ("It lapses after a year.", True),
        ("Records are kept for 7 years", True),
        ("Der Verein f\u00fchrt die Liste.", True),
        ("Tickets for all matches of every ground within the town one week ahead.", True),
    ],
)
def test_headings_and_phrases_without_a_verb_do_not_make_a_claim(text: str, claiming: bool) -> None:
    assert makes_claim(text, ["Rules that must be kept", *_TITLES]) is claiming

"""What a model writes of an entity is found only where it is of that entity, and says something."""

import pytest
from elt_llm_consumer.fields.about import Subjects
from elt_llm_consumer.fields.claims import claims
from elt_llm_consumer.fields.statements import statements
from elt_llm_consumer.fields.text_field import FieldFacts, as_passage
from elt_llm_consumer.fields.topic import Topic
from elt_llm_consumer.fields.written_field import Writer
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell, found
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.budget import window_of
from elt_llm_query.understanding.aliases import aliases_from
from job_contexts import corpus_of

_HANDBOOK = """# Office

## D3 Ticket Shop

The sales manager must lock the front door.

## D4 Size of squads

We hold grades, availability and sizes of all players in a list. The Ticket Shop Manager counts the players.

## N4 Retention

The Box Office must keep receipts for six years. It may be closed on Sunday. The coach may look at the receipts.
"""
_TITLES = ("D3 Ticket Shop", "D4 Size of squads", "N4 Retention")


def _cell(reply: str, *, with_subjects: bool = True) -> Cell:
    """What becomes of a reply about the ticket shop, written from every section of the handbook."""
    corpus = corpus_of({"handbook.md": _HANDBOOK})
    names = Names(["Ticket Shop", "Squad"], aliases_from({"Ticket Shop": ["Box Office"]}))
    stated = statements(corpus)
    [document] = corpus.documents
    starts = [one.start for one in document.outline.sections][1:]
    passages = [
        as_passage(stated[0]).model_copy(
            update={"node_id": str(start), "text": document.text[start:end], "span": (start, end), "section": None}
        )
        for start, end in zip(starts, [*starts[1:], len(document.text)], strict=True)
    ]
    quoted = found("As it was quoted.", [document.evidence(0, 8, 0.5)], method="extractive")
    tokeniser = KeywordTokeniser()
    window = window_of(ScriptedLLM(), TokenBound(), 2000)
    writer = Writer(corpus, FakeEmbedding(), tokeniser, "told", window)
    topic = Topic("Ticket Shop", names, Subjects(stated, names) if with_subjects else None)
    cell = writer.cell(FieldFacts(quoted, tuple(passages)), "Write.", lambda _: reply, topic)
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
def test_what_names_it_or_rests_on_a_place_that_does_is_found(reply: str) -> None:
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
def test_what_is_said_of_others_is_inferred_at_most(reply: str) -> None:
    cell = _cell(reply)
    assert (cell.value, cell.method, cell.verdict) == (reply, "llm", "inferred")
    assert "Sentences that rest on a place which does not speak of it: 1." in cell.note


def test_a_pronoun_takes_up_nothing_that_was_left_out() -> None:
    cell = _cell("The Box Office owns purple elephants. It counts the players.")
    assert (cell.value, cell.verdict) == ("It counts the players.", "inferred")


def test_what_names_it_may_rest_on_a_place_in_a_section_that_does() -> None:
    assert _cell("The coach may look at the receipts of the Box Office.").verdict == "found"


@pytest.mark.parametrize("with_subjects", [True, False])
def test_words_of_the_quote_tell_where_nothing_else_is_known(with_subjects: bool) -> None:
    assert _cell("The Box Office must keep receipts for six years.", with_subjects=with_subjects).verdict == "found"
    held = _cell("We hold grades, availability and sizes of all players in a list.", with_subjects=with_subjects)
    assert held.verdict == "inferred"


@pytest.mark.parametrize(
    "reply", ["D4 Size of squads", "Size of squads.", "N4 Retention", "D3 Ticket Shop", "Retention"]
)
def test_a_heading_is_no_value_and_what_was_quoted_stays(reply: str) -> None:
    cell = _cell(reply)
    assert (cell.value, cell.method) == ("As it was quoted.", "extractive")
    assert "heading" in cell.note or "do not bear out" in cell.note


@pytest.mark.parametrize("between", [" [1]\n\n", "\n", ":\n"])
def test_a_heading_among_sentences_is_left_out(between: str) -> None:
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
def test_words_without_a_verb_and_headings_claim_nothing(text: str, claiming: bool) -> None:
    assert claims(text, ["Rules that must be kept", *_TITLES]) is claiming

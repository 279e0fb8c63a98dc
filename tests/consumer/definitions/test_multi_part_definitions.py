"""Definitions may span several paragraphs, and a sentence may contain several definitions."""

import pytest
from row_jobs.definitions import defined, definitions_in, terms_in

ITEMS = "\n\n    (a) as a Member,\n\n    (b) as the servant of a Member, or\n\n    (c) for hire.\n\nThe gate is shut.\n"


@pytest.mark.parametrize("lead", ["any person, whether", "any person who comes", "any of these, namely:", "any:"])
def test_list_items_in_separate_paragraphs_belong_to_the_definition(lead: str) -> None:
    text = f'1.9 "Carrier" means {lead}{ITEMS}'
    assert defined(text) == [("Carrier", f"{lead} (a) as a Member, (b) as the servant of a Member, or (c) for hire.")]


def test_a_short_start_of_a_sentence_above_list_items_is_not_read_as_a_heading() -> None:
    text = "# Rules\n\n**Incident** means any event by which goods\n\n(a) are lost,\n\n(b) are broken.\n\nMore.\n"
    assert defined(text) == [("Incident", "any event by which goods (a) are lost, (b) are broken.")]


def test_the_next_items_of_a_list_are_not_part_of_the_definition_in_one_item() -> None:
    text = '(h) "Fee" means a sum of money\n\n(i) "Tag" means a mark of lead\n\n(j) the rest\n'
    assert defined(text) == [("Fee", "a sum of money"), ("Tag", "a mark of lead")]


@pytest.mark.parametrize("ending", [".", "\n"])
def test_list_items_after_a_finished_sentence_are_not_part_of_the_definition(ending: str) -> None:
    text = f'"Fee" means a sum of money{ending}\n\n1. Pay at the gate.\n\n2. Keep the paper.\n'
    assert defined(text) == [("Fee", f"a sum of money{ending.strip()}")]


@pytest.mark.parametrize(
    "text",
    [
        '"Gross" means the whole; "Tare" means\nthe lorry; and "Net" means the rest.',
        "“Gross” means the whole, “Tare” means the lorry and “Net” means the rest.",
        'In these Rules, "Gross" means the whole; the term "Tare" refers to the lorry; "Net" is defined as the rest.',
        "Gross means the whole; Tare means the lorry; and Net means the rest.",
    ],
)
def test_each_clause_of_a_sentence_may_define_a_term(text: str) -> None:
    found = [(term, body.rstrip(".")) for term, body in defined(f"# Definitions\n\n{text}\n")]
    assert found == [("Gross", "the whole"), ("Tare", "the lorry"), ("Net", "the rest")]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ('If a rule says that "Fee" means a sum and "Fine" means a penalty, pay both.', []),
        ('"Day" means a day of work, and "day-time" is light.', ["Day"]),
        ('"Day" means a day of work; by no means is it a night.', ["Day"]),
        ('"Day" means a day of work; this means that it has an end.', ["Day"]),
    ],
)
def test_clauses_without_a_quoted_term_are_not_split_off(text: str, terms: list[str]) -> None:
    assert terms_in(text) == terms


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('In this Code "Fee" means a sum.', '"Fee" means a sum.'),
        ("The term “Fee” means a sum.", "“Fee” means a sum."),
        ("**Fee** means a sum.", "**Fee** means a sum."),
        ('The person who keeps the books (the "Clerk") pays.', 'The person who keeps the books (the "Clerk")'),
        ("The Annual General Meeting (AGM) is held.", "Annual General Meeting (AGM)"),
        ("Late Fee means a sum of money.", "Late Fee means a sum of money."),
    ],
)
def test_a_quote_includes_the_quotation_marks_around_its_term(text: str, quote: str) -> None:
    (found,) = definitions_in(text)
    assert found.evidence.quote == quote
    assert text[slice(*found.term_span)] == found.term

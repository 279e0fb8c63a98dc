"""Interpretation clauses ("the singular includes the plural") and idioms ("'must' means business") define nothing."""

import pytest
from row_jobs.definitions import defined, definitions_in, terms_in

CLAUSES = [
    ("2.4 Construing", 'The singular includes the plural. "Including" is never meant to limit.'),
    ("Gender", "The masculine includes the feminine."),
    ("Persons", "A person includes a company and a body of persons."),
    ("1.3 Headings", "Headings are for convenience and have no effect."),
    ("Defined expressions", "In this Code the following expressions are used as the list says."),
    ("Reading the Code", "Words importing one gender include the others."),
    ("Statutes", "A reference to an Act is a reference to it as amended."),
    ("Time", "Nothing in this clause is defined so narrowly as to defeat its purpose."),
]


@pytest.mark.parametrize(("title", "text"), CLAUSES)
def test_an_interpretation_clause_is_not_read_as_a_definition(title: str, text: str) -> None:
    assert terms_in(f"# 2 Interpretation\n\n## {title}\n\n{text}\n\n# 3 Work\n\nWe work.\n") == []
    assert terms_in(f"# 2 Interpretation\n\n{title}\n{text}\n\n# 3 Work\n\nWe work.\n") == []


def test_definitions_under_the_heading_of_an_interpretation_clause_are_found() -> None:
    text = '# Definitions\n\n## Further expressions\n\n"Fee" means a sum of money.\n\n"Tag" means a mark of lead.\n'
    assert defined(text) == [("Fee", "a sum of money."), ("Tag", "a mark of lead.")]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Person", "A man, woman or child who visits the shop."),
        ("Time", "A span between two acts that is told in hours."),
        ("Plural voting", "The right of a member to vote more than once."),
        ("Depot", "Where goods are kept."),
    ],
)
def test_a_heading_directly_above_a_definition_is_read_as_the_defined_term(title: str, text: str) -> None:
    assert defined(f"# Glossary\n\n## {title}\n\n{text}\n\n## Till\n\nA box in which money is kept.\n")[:-1] == [
        (title, text)
    ]


@pytest.mark.parametrize(
    "text",
    [
        'The word "must" means business.',
        'To him "late" means trouble.',
        '"Including" is never meant to limit.',
        "Nothing in this clause is defined so narrowly as to defeat its purpose.",
        "“Month” is defined in the Interpretation Act.",
        "“Month” is defined in section 5 of the Interpretation Act.",
        "“Month” is set out in the Interpretation Act.",
        "Periods in months mean calendar reckoning unless the rule says otherwise.",
    ],
)
def test_idioms_such_as_means_business_are_not_read_as_definitions_under_any_heading(text: str) -> None:
    assert terms_in(text) == []
    assert terms_in(f"# Interpretation\n\n{text}\n") == []


@pytest.mark.parametrize("place", ["Rule A3", "section 5 of this Code", "Terms of hire"])
def test_a_definition_that_only_names_a_rule_of_the_same_documents_is_a_reference(place: str) -> None:
    (found,) = definitions_in(f"# Interpretation\n\n“Fee” is defined in {place}.\n\n# Terms of hire\n\nWe hire.\n")
    assert (found.term, found.refers_to) == ("Fee", place)

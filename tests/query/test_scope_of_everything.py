"""Which collections are searched if a question is put to all of them."""

import pytest
from elt_llm_query.understanding.question import asks_for_relations
from elt_llm_query.understanding.routing import concerns_models


@pytest.mark.parametrize(
    "question",
    [
        "What is Player related to?",
        "Which systems hold the registration data?",
        "What is the relationship between Club and Competition?",
        "What does the fact sheet of Fixture state?",
        "Welche Anwendungen nutzen Spielerdaten?",
        "Womit ist der Verein verbunden mit dem Wettbewerb?",
    ],
)
def test_a_question_about_entities_and_their_relations_is_recognised_as_concerning_enterprise_models(
    question: str,
) -> None:
    assert asks_for_relations(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many days does a club have to lodge an appeal, and what does it cost?",
        "How do I send an application for registration?",
        "Who decides about a relative of a player?",
        "Wie hoch ist die Gebühr?",
    ],
)
def test_a_question_about_rules_is_not_recognised_as_concerning_enterprise_models(question: str) -> None:
    assert not asks_for_relations(question)


@pytest.mark.parametrize(
    ("question", "named"),
    [("What does demo_model state?", True), ("What is in the demo model?", True), ("Who remodels the stand?", False)],
)
def test_a_question_concerns_enterprise_models_if_it_names_a_model_collection_as_a_whole_word(
    question: str, named: bool
) -> None:
    assert concerns_models(question, ["demo_model", "mod"]) == named

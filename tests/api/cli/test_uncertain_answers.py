"""How the command line shows an uncertain answer."""

import pytest
from elt_llm_api.cli.render.answers import answer_lines
from elt_llm_core.results import AnswerOutcome, QueryResult


def lines(outcome: AnswerOutcome) -> list[str]:
    result = QueryResult(question="Why?", answer="So.", answered=True, outcome=outcome, confidence=0.42)
    return list(answer_lines(result))


def test_an_uncertain_answer_is_followed_by_a_warning_with_its_confidence() -> None:
    assert (
        "Uncertain: this may not be the answer to the question. Confidence that the documents hold it: 42%."
        in "\n".join(lines("uncertain"))
    )


def test_an_answer_that_is_not_uncertain_has_no_warning() -> None:
    assert lines("answered") == ["So."]


def test_a_stored_refusal_without_an_outcome_gets_the_outcome_not_found() -> None:
    stored = {"question": "Why?", "answer": "Not found in these documents.", "answered": False}
    assert QueryResult.model_validate(stored).outcome == "not found"


@pytest.mark.parametrize(("answered", "outcome"), [(True, "not found"), (False, "answered"), (False, "uncertain")])
def test_a_query_result_whose_outcome_contradicts_its_answered_field_is_invalid(
    answered: bool, outcome: AnswerOutcome
) -> None:
    with pytest.raises(ValueError, match="but the outcome is"):
        QueryResult(question="Why?", answer="So.", answered=answered, outcome=outcome)

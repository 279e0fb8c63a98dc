import pytest
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.answerer import Answer, AnswerRequest, ExtractiveAnswerer
from elt_llm_query.synthesis.model_answerer import ModelAnswerer
from elt_llm_query.synthesis.prompts import load_prompts
from model_servers.scripted_model import chunk

pytestmark = pytest.mark.halved


QUESTION = "How much annual leave do I accrue in each pay period?"
ANNUAL = chunk("Annual leave accrues at six hours in each pay period. Holidays are booked in the calendar.", 0.9)
SICK = chunk("Sick leave accrues at four hours in each pay period.", 0.8).model_copy(update={"source_id": "sick leave"})


def _written(reply: str, **answer: object) -> Answer:
    settings = Settings.model_validate({"answer": answer})
    extractive = ExtractiveAnswerer(create_embedding(settings), KeywordTokeniser(), cite=True)
    answerer = ModelAnswerer(ScriptedLLM([reply]), extractive, settings, load_prompts(None))
    return answerer.answer(AnswerRequest(QUESTION, [ANNUAL, SICK]))


def test_a_written_answer_that_rests_on_the_sentence_closest_to_the_question_is_certain() -> None:
    answer = _written("Annual leave accrues at six hours in each pay period [1].")
    assert (answer.outcome, answer.notes) == ("answered", ())
    assert [citation.reference for citation in answer.citations] == ["[1]"]


def test_a_supported_answer_that_does_not_use_the_sentence_closest_to_the_question_is_uncertain() -> None:
    answer = _written("Sick leave accrues at four hours in each pay period [2].")
    assert answer.checked[0].verdict == "supported"
    assert answer.outcome == "uncertain"
    assert answer.notes == ("The answer does not use the sentences closest to the question: [1].",)


def test_the_unused_sentence_is_cited_without_a_mark_in_the_text() -> None:
    answer = _written("Sick leave accrues at four hours in each pay period [2].")
    excerpts = {citation.reference: citation.excerpt for citation in answer.citations}
    assert excerpts["[1]"] == "Annual leave accrues at six hours in each pay period."
    assert "[1]" not in answer.text


def test_another_sentence_of_the_same_chunk_is_no_use_of_the_closest_one() -> None:
    answer = _written("Holidays are booked in the calendar [1].")
    assert answer.outcome == "uncertain"
    assert [citation.excerpt for citation in answer.citations] == [ANNUAL.text]


@pytest.mark.parametrize("abstain", [True, False])
def test_only_with_abstain_is_an_answer_marked_as_uncertain(abstain: bool) -> None:
    answer = _written("Sick leave accrues at four hours in each pay period [2].", abstain=abstain)
    assert (answer.outcome == "uncertain") is abstain


def test_a_refusal_of_the_model_notes_that_sentences_close_to_the_question_were_found() -> None:
    answer = _written("Not found in these documents.")
    assert answer.outcome == "not found"
    assert answer.notes == ("Without the model, the closest chunks would have been quoted as the answer.",)

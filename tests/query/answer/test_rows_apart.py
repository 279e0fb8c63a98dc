from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.answer.grounding import ground
from written_answers import chunk

TABLE = "Rule | Subject | Fee\nJ2.1 | Appeal in Senior football | £120\nA1.2 | Registration of a player | £10\n"


def verdict(claim: str, passages: list[RetrievedChunk]) -> str:
    (sentence,) = ground(claim, passages, FakeEmbedding(64), KeywordTokeniser()).sentences
    return sentence.verdict


def test_the_number_of_one_row_bears_out_nothing_that_is_said_of_another() -> None:
    passages = [chunk(TABLE, 0.9)]
    assert verdict("The fee for an appeal in Senior football is £120.", passages) == "supported"
    assert verdict("The fee for an appeal in Senior football is £10.", passages) != "supported"

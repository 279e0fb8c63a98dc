from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import ground_answer
from model_servers.scripted_model import chunk

TABLE = "Rule | Subject | Fee\nJ2.1 | Appeal in Senior football | £120\nA1.2 | Registration of a player | £10\n"


def verdict(claim: str, chunks: list[RetrievedChunk]) -> str:
    (sentence,) = ground_answer(claim, chunks, FakeEmbedding(64), KeywordTokeniser()).sentences
    return sentence.verdict


def test_a_number_in_one_table_row_does_not_support_a_claim_about_another_row() -> None:
    chunks = [chunk(TABLE, 0.9)]
    assert verdict("The fee for an appeal in Senior football is £120.", chunks) == "supported"
    assert verdict("The fee for an appeal in Senior football is £10.", chunks) != "supported"

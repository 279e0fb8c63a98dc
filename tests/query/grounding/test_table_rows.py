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


def test_a_written_table_stays_a_table_with_its_citations_in_the_last_cells() -> None:
    chunks = [chunk("An appeal in Senior football costs £120.", 0.9), chunk("A registration costs £10.", 0.8)]
    written = "| what | fee |\n|---|--:|\n| appeal in Senior football [1] | £120 |\n| registration | £10 [2] |"
    found = ground_answer(written, chunks, FakeEmbedding(64), KeywordTokeniser())
    assert [one.verdict for one in found.sentences[:2]] == ["no claim", "no claim"]
    assert found.text.splitlines() == [
        "| what | fee |",
        "|---|--:|",
        "| appeal in Senior football | £120 [1] |",
        "| registration | £10 [2] |",
    ]

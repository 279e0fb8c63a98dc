from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.tokens import count_tokens


def test_tokens_are_those_of_the_model() -> None:
    assert count_tokens(FakeEmbedding(), "Go, now.") == 4
    assert count_tokens(FakeEmbedding(), " ") == 0

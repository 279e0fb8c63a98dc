from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.models.server_embedding import find_model_family, model_families
from elt_llm_core.models.token_counts import TokenEstimate
from hypothesis import given
from hypothesis import strategies as st

ESTIMATE = TokenEstimate()
EMBEDDED = EmbeddedMiniLm()


@given(st.text(max_size=80))
def test_token_spans_ascend_within_the_text_and_none_is_empty(text: str) -> None:
    spans = ESTIMATE.spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    # One character may be several tokens; each of them has the character as its span.
    assert spans == sorted(spans)


@given(st.text(max_size=80))
def test_the_token_estimate_is_at_least_the_bert_token_count(text: str) -> None:
    assert len(ESTIMATE.spans(text)) >= len(EMBEDDED.token_spans(text))


def test_the_token_estimate_of_english_text_equals_the_bert_token_count() -> None:
    text = "A club must register its players before the first of July, says rule 12.3."
    assert ESTIMATE.spans(text) == EMBEDDED.token_spans(text)


def test_the_token_estimate_of_an_unknown_word_is_one_token_per_character() -> None:
    assert ESTIMATE.spans("\u0e01\u0e02\u0e03") == [(0, 1), (1, 2), (2, 3)]


def test_each_model_family_is_recognised_by_the_model_names_that_servers_use() -> None:
    names = {
        "nomic-embed-text": "search_query: ",
        "nomic-embed-text-v2-moe": "search_query: ",
        "jeffh/intfloat-multilingual-e5-large:f16": "query: ",
        "intfloat/multilingual-e5-large-instruct": "Instruct: ",
        "bge-m3:567m": "",
        "BAAI/bge-small-en-v1.5": "Represent this sentence",
        "BAAI/bge-small-zh-v1.5": "为这个句子",
        "snowflake-arctic-embed2": "query: ",
        "snowflake-arctic-embed:33m": "Represent this sentence",
        "dengcao/Qwen3-Embedding-0.6B": "Instruct: ",
        "embeddinggemma:300m": "task: search result",
        "all-minilm": "",
    }
    for name, prefix in names.items():
        known = find_model_family(name)
        assert known is not None, name
        assert known.query_prefix.startswith(prefix)
        assert bool(known.query_prefix) == bool(prefix)
    assert find_model_family("a-model-of-my-own") is None


def test_every_model_family_in_the_list_is_found_by_some_model_name() -> None:
    for known in model_families():
        assert find_model_family("".join(known.parts)) is known

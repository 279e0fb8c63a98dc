import numpy as np
import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage


def test_fake_vectors_of_texts_with_common_words_are_nearer_than_those_of_other_texts() -> None:
    model = FakeEmbedding(dimension=256)
    question = model.embed_question("Who registers players?")
    near, far = model.embed_texts(["The club registers a player.", "Rain stopped the game."]) @ question
    assert near > far


@given(text=st.text(min_size=1, max_size=40).filter(str.strip), dimension=st.integers(1, 96))
def test_fake_vectors_have_length_one_and_are_deterministic(text: str, dimension: int) -> None:
    vector = FakeEmbedding(dimension).embed_texts([text])[0]
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vector, FakeEmbedding(dimension).embed_question(text))


def test_the_fake_model_counts_calls_and_embedded_chunks() -> None:
    model = FakeEmbedding()
    model.embed_texts(["one goal", "two goals"])
    model.embed_texts([])
    model.embed_question("how many goals?")
    assert (model.calls, model.texts_embedded) == (2, 2)


def test_the_fingerprint_of_the_fake_model_depends_on_dimension_and_version() -> None:
    models = [FakeEmbedding(), FakeEmbedding(32), FakeEmbedding(version="2")]
    assert len({model.fingerprint.digest for model in models}) == 3
    assert FakeEmbedding().fingerprint.key == FakeEmbedding().fingerprint.key
    assert not np.array_equal(models[0].embed_texts(["a goal"]), models[2].embed_texts(["a goal"]))


def test_the_fake_model_refuses_texts_that_are_empty_or_above_the_token_limit() -> None:
    with pytest.raises(ModelError, match="without words"):
        FakeEmbedding().embed_texts([" "])
    with pytest.raises(ModelError, match="255 tokens"):
        FakeEmbedding().embed_texts(["ball " * 255])


def test_fake_token_spans_are_words_and_punctuation_marks() -> None:
    assert FakeEmbedding().token_spans("Go, now.") == [(0, 2), (2, 3), (4, 7), (7, 8)]


def test_the_scripted_model_returns_its_responses_in_order_and_records_prompts() -> None:
    model = ScriptedLLM(["first", "second"])
    assert [model.complete("a").text, model.complete("b").text] == ["first", "second"]
    assert model.prompts == ["a", "b"]


def test_the_scripted_model_streams_its_answer_word_by_word() -> None:
    parts = list(ScriptedLLM(["Up to 25 players."]).stream_complete("how many?"))
    assert "".join(part.delta or "" for part in parts) == "Up to 25 players."
    assert [part.text for part in parts][0::3] == ["Up ", "Up to 25 players."]


def test_the_scripted_model_answers_chat_messages() -> None:
    model = ScriptedLLM(["Hello."])
    assert model.chat([ChatMessage(role="user", content="Good morning")]).message.content == "Hello."
    assert "Good morning" in model.prompts[0]


def test_the_scripted_model_raises_when_its_responses_run_out() -> None:
    with pytest.raises(ModelError, match="has 0 responses for 1 requests"):
        ScriptedLLM().complete("anything")

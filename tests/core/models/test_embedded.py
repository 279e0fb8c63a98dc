import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedded import EmbeddedMiniLm
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.halved


TEXTS = [
    "A club must register its players before the first of July.",
    "Rain.",
    "The referee may abandon a match when the pitch is not playable, and reports it on the same day. " * 4,
    "Die Spieler müssen vor dem ersten Spiel gemeldet sein.",
    "Rule 12.3.1 applies to v1.2.3 alike.",
    "Ein Satz, two phrases, trys žodžiai, 東京都.",
]


@pytest.fixture(scope="module")
def model() -> EmbeddedMiniLm:
    return EmbeddedMiniLm()


def test_the_vectors_of_related_texts_are_nearer_than_those_of_unrelated_texts(model: EmbeddedMiniLm) -> None:
    question = model.embed_question("How many players may a team register?")
    near, far = model.embed_texts(["A team may register up to 25 players.", "The weather is nice today."]) @ question
    assert near > 0.6
    assert far < 0.2


def test_vectors_have_length_one_and_the_documented_shape(model: EmbeddedMiniLm) -> None:
    vectors = model.embed_texts(TEXTS)
    assert vectors.shape == (len(TEXTS), model.fingerprint.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(len(TEXTS))))
def test_a_vector_does_not_depend_on_the_order_of_the_texts(model: EmbeddedMiniLm, order: list[int]) -> None:
    assert np.array_equal(model.embed_texts([TEXTS[place] for place in order]), model.embed_texts(TEXTS)[order])


def test_a_vector_does_not_depend_on_the_batch(model: EmbeddedMiniLm) -> None:
    together = model.embed_texts(TEXTS)
    alone = np.concatenate([EmbeddedMiniLm(threads=1).embed_texts([text]) for text in TEXTS])
    assert np.array_equal(together, alone)


def test_several_threads_share_one_embedding_model() -> None:
    model = EmbeddedMiniLm()
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: model.embed_texts(TEXTS), range(4))
    assert all(np.array_equal(first, other) for other in others)


def test_a_text_above_the_token_limit_is_refused_and_the_error_states_its_length(model: EmbeddedMiniLm) -> None:
    with pytest.raises(ModelError, match=r"255 tokens.* 254") as caught:
        model.embed_texts(["ball " * 255])
    assert "chunking.chunk_size" in caught.value.hint


def test_a_text_at_the_token_limit_is_embedded(model: EmbeddedMiniLm) -> None:
    assert model.token_limit == 254
    assert model.embed_texts(["ball " * 254]).shape == (1, 384)


def test_a_question_above_the_token_limit_is_truncated(model: EmbeddedMiniLm) -> None:
    assert np.array_equal(model.embed_question("ball " * 300), model.embed_question("ball " * 254))


@pytest.mark.parametrize("empty", ["", " \n\t", "\u200b"])
def test_a_text_without_words_is_refused(model: EmbeddedMiniLm, empty: str) -> None:
    with pytest.raises(ModelError, match="without words"):
        model.embed_texts(["words", empty])
    with pytest.raises(ModelError, match="empty question"):
        model.embed_question(empty)


def test_an_empty_list_of_texts_gives_an_array_without_rows(model: EmbeddedMiniLm) -> None:
    assert model.embed_texts([]).shape == (0, 384)


def test_texts_with_lone_surrogates_are_embedded(model: EmbeddedMiniLm) -> None:
    assert model.embed_texts(["broken \ud800 text"]).shape == (1, 384)
    assert model.token_spans("broken \ud800 text")[0] == (0, 6)


@given(text=st.text(max_size=80))
def test_token_spans_ascend_and_lie_within_the_text(model: EmbeddedMiniLm, text: str) -> None:
    spans = model.token_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


def test_the_token_spans_of_a_text_cover_all_of_its_words(model: EmbeddedMiniLm) -> None:
    text = "Žaidėjų registration: 12.3"
    pieces = [text[start:end] for start, end in model.token_spans(text)]
    assert "".join(pieces) == text.replace(" ", "")
    assert pieces[-4:] == [":", "12", ".", "3"]


def test_a_text_prefix_lowers_the_token_limit_and_changes_fingerprint_and_vectors(model: EmbeddedMiniLm) -> None:
    prefixed = EmbeddedMiniLm(text_prefix="passage: ", query_prefix="query: ")
    assert prefixed.token_limit == model.token_limit - 2
    assert prefixed.fingerprint.key != model.fingerprint.key
    assert np.array_equal(prefixed.embed_texts(["a goal"]), model.embed_texts(["passage: a goal"]))
    assert np.array_equal(prefixed.embed_question("a goal"), model.embed_question("query: a goal"))


def test_the_llama_index_methods_return_the_same_vectors_as_embed_texts(model: EmbeddedMiniLm) -> None:
    assert model.get_text_embedding(TEXTS[0]) == model.embed_texts([TEXTS[0]])[0].tolist()
    assert model.get_query_embedding(TEXTS[0]) == model.embed_question(TEXTS[0]).tolist()
    assert model.get_text_embedding_batch(TEXTS) == model.embed_texts(TEXTS).tolist()


def test_the_model_writes_no_identifier_of_the_machine_into_the_home_folder(tmp_path: Path) -> None:
    """ONNX Runtime writes an identifier for its telemetry, except if a variable such as CI indicates a test."""
    script = "from elt_llm_core.models.embedded import EmbeddedMiniLm; EmbeddedMiniLm(threads=1).embed_question('word')"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert list(tmp_path.rglob("*")) == []

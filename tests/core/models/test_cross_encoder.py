import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.cross_encoder import CrossEncoder
from elt_llm_core.models.model_files import find_model_folder, model_folders, with_models_dir
from elt_llm_core.settings.tree import Settings, StorageSettings
from model_servers.tiny_cross_encoder import model_bytes, write_tiny_cross_encoder

PASSAGES = ["the secretary records cards", "annual leave is approved by a manager", "cards", ""]
QUESTION = "who records cards"


def test_the_cross_encoder_score_of_a_chunk_does_not_depend_on_other_chunks(tmp_path: Path) -> None:
    model = CrossEncoder(write_tiny_cross_encoder(tmp_path, PASSAGES))
    scores = model.score(QUESTION, PASSAGES)
    assert len(set(scores)) > 3
    assert [model.score(QUESTION, [passage])[0] for passage in PASSAGES] == scores
    assert model.score(QUESTION, PASSAGES[::-1]) == scores[::-1]
    assert model.score(QUESTION, []) == []
    assert len(model.score("\ud800 who", ["odd \udfff"])) == 1


def test_cross_encoder_scores_do_not_depend_on_the_number_of_threads_and_callers(tmp_path: Path) -> None:
    write_tiny_cross_encoder(tmp_path, PASSAGES)
    one, many = CrossEncoder(tmp_path, threads=1), CrossEncoder(tmp_path, threads=4)
    expected = one.score(QUESTION, PASSAGES)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: many.score(QUESTION, PASSAGES), range(20))) == [expected] * 20


def test_the_cross_encoder_ignores_text_beyond_its_token_limit(tmp_path: Path) -> None:
    model = CrossEncoder(write_tiny_cross_encoder(tmp_path, PASSAGES))
    assert model.token_limit == 64
    long = "secretary " * 100
    assert model.score(QUESTION, [long]) == model.score(QUESTION, [long + "manager"])
    assert len(model.score("who " * 2000, [long])) == 1


def test_a_cross_encoder_in_the_folder_layout_of_model_hubs_is_loaded(tmp_path: Path) -> None:
    flat = CrossEncoder(write_tiny_cross_encoder(tmp_path / "flat", PASSAGES))
    nested = CrossEncoder(write_tiny_cross_encoder(tmp_path / "nested", PASSAGES, nested=True))
    assert flat.score(QUESTION, PASSAGES) == nested.score(QUESTION, PASSAGES)


def test_cross_encoders_without_token_types_or_with_two_classes_are_supported(tmp_path: Path) -> None:
    plain = write_tiny_cross_encoder(tmp_path / "plain", PASSAGES, inputs=("input_ids", "attention_mask"))
    assert len(set(CrossEncoder(plain).score(QUESTION, PASSAGES))) > 3
    pair = CrossEncoder(write_tiny_cross_encoder(tmp_path / "pair", PASSAGES, logits=2))
    assert pair.score(QUESTION, PASSAGES) == [0.0] * len(PASSAGES)


def test_a_model_that_is_not_a_cross_encoder_is_refused(tmp_path: Path) -> None:
    many = CrossEncoder(write_tiny_cross_encoder(tmp_path / "many", logits=5))
    with pytest.raises(ModelError, match="returns 5 scores"):
        many.score(QUESTION, PASSAGES)
    folder = write_tiny_cross_encoder(tmp_path / "strange", inputs=("input_ids", "token_type_ids", "pixels"))
    with pytest.raises(ModelError, match="requires pixels"):
        CrossEncoder(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_of_a_cross_encoder_is_reported_by_name(tmp_path: Path, name: str) -> None:
    (write_tiny_cross_encoder(tmp_path) / name).unlink()
    with pytest.raises(ModelError, match=name) as raised:
        CrossEncoder(tmp_path)
    assert "folder with model.onnx and tokenizer.json" in raised.value.hint


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"\x08\x08", model_bytes()[:-200]])
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_of_a_cross_encoder_is_reported_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    (write_tiny_cross_encoder(tmp_path) / name).write_bytes(content)
    with pytest.raises(ModelError, match=name):
        CrossEncoder(tmp_path)


def test_a_damaged_configuration_is_reported_and_a_configuration_without_a_valid_limit_means_512_tokens(
    tmp_path: Path,
) -> None:
    configuration = write_tiny_cross_encoder(tmp_path) / "config.json"
    configuration.write_text("{")
    with pytest.raises(ModelError, match=r"config\.json"):
        CrossEncoder(tmp_path)
    strange: object
    for strange in ([], {"max_position_embeddings": "many"}, {"max_position_embeddings": 99999}):
        configuration.write_text(json.dumps(strange))
        assert CrossEncoder(tmp_path).token_limit == 512
    configuration.unlink()
    assert CrossEncoder(tmp_path).token_limit == 512


def test_a_model_folder_is_located_by_its_path_or_by_its_name_in_the_model_directory(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    assert find_model_folder("owner/tiny", tmp_path) == tmp_path / "tiny"
    assert find_model_folder(str(tmp_path / "tiny"), None) == tmp_path / "tiny"
    assert find_model_folder("tiny", None) is None
    assert find_model_folder("other", tmp_path) is None
    assert model_folders("owner/tiny", tmp_path) == [tmp_path / "owner" / "tiny", tmp_path / "tiny"]


def test_the_model_directory_is_in_the_data_directory_unless_the_settings_name_another_folder(tmp_path: Path) -> None:
    assert with_models_dir(Settings(), tmp_path).storage.models_dir == tmp_path / "models"
    chosen = Settings(storage=StorageSettings(models_dir=tmp_path / "mine"))
    assert with_models_dir(chosen, tmp_path / "data") == chosen

"""Models are pulled from a hub, added from a folder, and removed."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_core.errors import EltError, ModelError, UsageError
from elt_llm_core.models.cross_encoder import CrossEncoder
from elt_llm_core.models.hub import (
    KnownModel,
    add_model,
    find_known_model,
    installed_models,
    known_models,
    pull_model,
    read_record,
    remove_model,
)
from model_servers.model_hub import COMMIT, ModelHub, model_hub
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder

TEXTS = ["cards are recorded", "leave"]
REPOSITORY = "tests/tiny"
FILES = ("config.json", "tokenizer.json", "onnx/model.onnx")
# The first argument is the hub, the second the folder of models. Files may have at most 1,000 bytes.
PULL_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from elt_llm_core.errors import ModelError
from elt_llm_core.models.hub import KnownModel, pull_model
model = KnownModel.model_validate_json(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    pull_model(model, Path(sys.argv[2]), sys.argv[1], allowed=True)
except ModelError as error:
    print(error, error.hint)
"""


def known(**sha256: str) -> KnownModel:
    """Return a known model. Checksums are given by file name without suffix, as in known(model="ab12...")."""
    checksums = {file: sha256[Path(file).stem] for file in FILES if Path(file).stem in sha256}
    return KnownModel(
        name="tiny",
        kind="cross-encoder",
        repository=REPOSITORY,
        revision="main",
        files=FILES,
        sha256=checksums,
        licence="Apache-2.0",
        size_mb=1,
        max_tokens=64,
        languages=("en",),
    )


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ModelHub]:
    """A hub with one tiny cross-encoder."""
    with model_hub() as served:
        served.publish(REPOSITORY, write_tiny_cross_encoder(tmp_path / "source", TEXTS, nested=True))
        yield served


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "models"


def left_behind(models_dir: Path) -> list[str]:
    """Return the names of all files and folders in the models folder."""
    return sorted(path.name for path in models_dir.iterdir()) if models_dir.exists() else []


def test_a_pulled_model_runs_and_gives_the_same_scores_as_the_original(
    hub: ModelHub, models_dir: Path, tmp_path: Path
) -> None:
    record = pull_model(known(), models_dir, hub.url, allowed=True)
    source = CrossEncoder(tmp_path / "source")
    assert CrossEncoder(models_dir / "tiny").score("who", TEXTS) == source.score("who", TEXTS)
    assert record.origin == f"{REPOSITORY}@{COMMIT}"
    assert installed_models(models_dir) == ["tiny"]
    assert left_behind(models_dir) == ["tiny", "tiny.checksums.json"]
    assert sorted(path.name for path in (models_dir / "tiny").iterdir()) == ["config.json", "onnx", "tokenizer.json"]
    assert set(hub.keys) == {None}


def test_a_checksum_that_is_not_listed_is_recorded_and_must_match_at_the_next_pull(
    hub: ModelHub, models_dir: Path
) -> None:
    content = hub.repositories[REPOSITORY]["config.json"]
    first = pull_model(known(config=hashlib.sha256(content).hexdigest()), models_dir, hub.url, allowed=True)
    assert first.first_seen == ("tokenizer.json", "onnx/model.onnx")
    remove_model("tiny", models_dir)
    assert read_record("tiny", models_dir) == first
    hub.repositories[REPOSITORY]["tokenizer.json"] += b" "
    with pytest.raises(ModelError, match=r"tokenizer.json of 'tiny' has sha256 .*Nothing was installed") as caught:
        pull_model(known(), models_dir, hub.url, allowed=True)
    assert "tiny.checksums.json" in caught.value.hint
    assert left_behind(models_dir) == ["tiny.checksums.json"]
    assert read_record("tiny", models_dir) == first


def test_a_file_whose_checksum_differs_from_the_listed_checksum_is_refused(hub: ModelHub, models_dir: Path) -> None:
    with pytest.raises(ModelError, match=r"model.onnx of 'tiny' has sha256 .* instead of aaaa"):
        pull_model(known(model="a" * 64), models_dir, hub.url, allowed=True)
    assert left_behind(models_dir) == []


def test_no_request_is_sent_to_the_model_hub_if_downloads_are_not_allowed(hub: ModelHub, models_dir: Path) -> None:
    with pytest.raises(ModelError, match=r"allow_model_downloads is false") as caught:
        pull_model(known(), models_dir, hub.url, allowed=False)
    assert "elt-llm models add" in caught.value.hint
    assert hub.requests == []
    assert left_behind(models_dir) == []


def test_an_unreachable_model_hub_is_reported_with_its_address(models_dir: Path) -> None:
    with model_hub() as closed:
        pass
    with pytest.raises(ModelError, match=closed.url) as caught:
        pull_model(known(), models_dir, closed.url, allowed=True)
    assert "HF_ENDPOINT" in caught.value.hint
    assert left_behind(models_dir) == []


def test_the_error_for_a_repository_that_the_model_hub_lacks_names_the_repository(
    hub: ModelHub, models_dir: Path
) -> None:
    hub.repositories.clear()
    with pytest.raises(ModelError, match=f"does not have all files of '{REPOSITORY}'"):
        pull_model(known(), models_dir, hub.url, allowed=True)


def test_a_repository_without_a_tokenizer_is_not_installed(hub: ModelHub, models_dir: Path) -> None:
    del hub.repositories[REPOSITORY]["tokenizer.json"]
    with pytest.raises(ModelError, match=f"does not have all files of '{REPOSITORY}'"):
        pull_model(known(), models_dir, hub.url, allowed=True)
    assert left_behind(models_dir) == []


def test_a_damaged_model_is_not_installed(hub: ModelHub, models_dir: Path) -> None:
    hub.repositories[REPOSITORY]["onnx/model.onnx"] = b"not a model"
    with pytest.raises(ModelError, match=r"not installed, because it cannot be used: The model file onnx/model\.onnx"):
        pull_model(known(), models_dir, hub.url, allowed=True)
    assert left_behind(models_dir) == []


def test_a_disk_that_fills_up_during_a_pull_is_reported_and_no_file_is_left(hub: ModelHub, models_dir: Path) -> None:
    assert len(hub.repositories[REPOSITORY]["onnx/model.onnx"]) > 1000
    arguments = [hub.url, str(models_dir), known().model_dump_json()]
    ended = subprocess.run(
        [sys.executable, "-c", PULL_ON_A_FULL_DISK, *arguments], capture_output=True, text=True, check=True
    )
    assert f"could not be written to {models_dir}" in ended.stdout
    assert "Free space" in ended.stdout
    assert left_behind(models_dir) == []


def test_an_installed_model_is_not_replaced(hub: ModelHub, models_dir: Path) -> None:
    pull_model(known(), models_dir, hub.url, allowed=True)
    with pytest.raises(UsageError, match="already installed") as caught:
        pull_model(known(), models_dir, hub.url, allowed=True)
    assert "elt-llm models remove tiny" in caught.value.hint


def test_a_damaged_checksum_file_is_not_treated_as_a_missing_checksum_file(hub: ModelHub, models_dir: Path) -> None:
    models_dir.mkdir()
    (models_dir / "tiny.checksums.json").write_text("{")
    with pytest.raises(ModelError, match="is damaged"):
        pull_model(known(), models_dir, hub.url, allowed=True)
    assert installed_models(models_dir) == []


def test_a_model_is_copied_from_a_folder_without_the_other_files_of_the_folder(
    tmp_path: Path, models_dir: Path
) -> None:
    source = write_tiny_cross_encoder(tmp_path / "source", TEXTS)
    (source / "README.md").write_text("A model.")
    record = add_model(source, "mine", models_dir)
    assert sorted(path.name for path in (models_dir / "mine").iterdir()) == sorted(record.sha256)
    assert CrossEncoder(models_dir / "mine").score("who", TEXTS) == CrossEncoder(source).score("who", TEXTS)


@pytest.mark.parametrize("name", ["modeling.py", "pytorch_model.bin", "data.PKL", "deep/weights.pt"])
def test_a_model_folder_with_code_or_pickled_data_is_refused(name: str, tmp_path: Path, models_dir: Path) -> None:
    source = write_tiny_cross_encoder(tmp_path / "source", TEXTS)
    (source / name).parent.mkdir(exist_ok=True)
    (source / name).write_text("raise SystemExit('this was run')")
    with pytest.raises(ModelError, match=f"can run code: {name}"):
        add_model(source, "mine", models_dir)
    assert left_behind(models_dir) == []


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.onnx"])
def test_a_model_folder_without_tokenizer_or_weights_is_refused(missing: str, tmp_path: Path, models_dir: Path) -> None:
    source = write_tiny_cross_encoder(tmp_path / "source", TEXTS)
    (source / missing).unlink()
    with pytest.raises(ModelError, match=f"contains no {missing}"):
        add_model(source, "mine", models_dir)
    assert left_behind(models_dir) == []


@pytest.mark.parametrize("name", ["../out", "", ".", "a/b", "-x"])
def test_a_model_name_that_is_not_a_valid_folder_name_is_refused(name: str, tmp_path: Path, models_dir: Path) -> None:
    with pytest.raises(UsageError, match="not a valid model name"):
        add_model(write_tiny_cross_encoder(tmp_path / "source", TEXTS), name, models_dir)


@pytest.mark.parametrize("name", ["..", "../source", "absent", "tiny.checksums.json"])
def test_only_an_installed_model_can_be_removed(name: str, tmp_path: Path, models_dir: Path) -> None:
    add_model(write_tiny_cross_encoder(tmp_path / "source", TEXTS), "mine", models_dir)
    with pytest.raises(UsageError, match="is installed"):
        remove_model(name, models_dir)
    assert (tmp_path / "source" / "model.onnx").exists()
    assert installed_models(models_dir) == ["mine"]


def test_the_error_for_an_unknown_model_name_lists_the_most_similar_names() -> None:
    with pytest.raises(EltError, match="There is no known model") as caught:
        find_known_model("ms-marco-minilm")
    assert "ms-marco-MiniLM-L-6-v2" in caught.value.hint
    assert find_known_model("BAAI/bge-reranker-base").name == "bge-reranker-base"


def test_each_model_that_can_be_pulled_has_weights_a_tokenizer_and_a_licence() -> None:
    for model in known_models():
        assert {"tokenizer.json", "onnx/model.onnx"} <= set(model.files)
        assert set(model.sha256) <= set(model.files)
        assert json.loads(model.model_dump_json())["licence"]

from pathlib import Path

import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedded import VOCABULARY, WEIGHTS
from elt_llm_core.models.model_files import ModelFile


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake distribution `tiny-model` that contains weights.bin with the bytes "abc"."""
    information = tmp_path / "tiny_model-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
    (information / "RECORD").write_text("tiny_model/weights.bin,,\ntiny_model-1.0.dist-info/METADATA,,\n")
    weights = tmp_path / "tiny_model" / "weights.bin"
    weights.parent.mkdir()
    weights.write_bytes(b"abc")
    monkeypatch.syspath_prepend(str(tmp_path))
    return weights


def wanted(name: str = "weights.bin", distribution: str = "tiny-model") -> ModelFile:
    sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    return ModelFile(distribution=distribution, version="1.0", name=name, sha256=sha256_of_abc)


@pytest.mark.parametrize("file", [WEIGHTS, VOCABULARY])
def test_the_installed_files_of_the_embedded_model_have_the_expected_hashes(file: ModelFile) -> None:
    assert len(file.read()) > 100_000


def test_a_model_file_with_the_expected_hash_is_read(installed: Path) -> None:
    assert wanted().read() == installed.read_bytes()


def test_a_changed_model_file_is_refused_with_the_command_that_installs_it(installed: Path) -> None:
    installed.write_bytes(b"abd")
    with pytest.raises(ModelError, match="instead of ba7816bf8f01") as caught:
        wanted().read()
    assert caught.value.hint == "Run: uv pip install --reinstall tiny-model==1.0"


def test_a_deleted_model_file_is_reported_with_the_command_that_installs_it(installed: Path) -> None:
    installed.unlink()
    with pytest.raises(ModelError, match=r"cannot be read|does not contain") as caught:
        wanted().read()
    assert "--reinstall" in caught.value.hint


def test_a_model_file_that_the_package_does_not_contain_is_reported(installed: Path) -> None:
    assert installed.exists()
    with pytest.raises(ModelError, match=r"does not contain other\.bin"):
        wanted(name="other.bin").read()


def test_a_model_package_that_is_not_installed_is_reported() -> None:
    with pytest.raises(ModelError, match=r"not-here-at-all, which contains .* is not installed") as caught:
        wanted(distribution="not-here-at-all").read()
    assert "not-here-at-all==1.0" in caught.value.hint

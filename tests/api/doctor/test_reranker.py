"""`elt-llm doctor` reports which reranker is in use and whether its model exists."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder

Look = Callable[..., dict[str, str]]


@pytest.fixture
def look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Look:
    """Return the verdict of the reranker check with these query settings."""

    def of(code: int = 0, **query: str) -> dict[str, str]:
        environment = {"ELT_LLM_EMBEDDING__PROVIDER": "fake"} | {
            f"ELT_LLM_QUERY__{key.upper()}": value for key, value in query.items()
        }
        assert run(["doctor", "--json"], environment, tmp_path) == code
        checks: list[dict[str, str]] = json.loads(capsys.readouterr().out)["checks"]
        return next(check for check in checks if check["name"] == "reranker")

    return of


def test_the_doctor_names_the_reranker_in_use(look: Look) -> None:
    assert (look()["outcome"], look()["detail"]) == ("ok", "embedding")
    assert look(use_reranker="false")["detail"] == "none"
    assert look(reranker_strategy="auto")["detail"] == "embedding"


def test_a_cross_encoder_is_found_in_the_data_directory_or_reported_missing(look: Look, tmp_path: Path) -> None:
    missing = look(1, reranker_strategy="cross-encoder")
    assert missing["outcome"] == "FAIL"
    assert str(tmp_path / ".elt_llm" / "models") in missing["detail"]
    assert "elt-llm models pull ms-marco-MiniLM-L-6-v2" in missing["hint"]
    folder = write_tiny_cross_encoder(tmp_path / ".elt_llm" / "models" / "ms-marco-MiniLM-L-6-v2")
    assert look(reranker_strategy="cross-encoder")["detail"] == f"cross-encoder, {folder}, 64 tokens"
    assert look(reranker_strategy="auto")["detail"].startswith("cross-encoder, ")


def test_the_doctor_warns_about_a_configured_model_that_the_reranker_strategy_auto_cannot_use(look: Look) -> None:
    said = look(reranker_strategy="auto", reranker_model="mine")
    assert said["outcome"] == "warn"
    assert "'mine' is not on this machine" in said["detail"]


@pytest.mark.parametrize(("strategy", "word"), [("llm", "language model"), ("cohere", "allow_remote_models")])
def test_a_reranker_that_cannot_be_used_fails_the_check_with_the_remedy(look: Look, strategy: str, word: str) -> None:
    said = look(1, reranker_strategy=strategy)
    assert said["outcome"] == "FAIL"
    assert word in said["detail"]
    assert "query.reranker_strategy" in said["hint"]

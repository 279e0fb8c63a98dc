"""`elt-llm models`: list, pull, add and remove, and the use of a pulled model."""

from dataclasses import replace
from pathlib import Path

from model_servers.model_hub import model_hub
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder
from processes.command_line import CommandLine

NAME = "ms-marco-MiniLM-L-6-v2"


def with_variables(elt_llm: CommandLine, **variables: str) -> CommandLine:
    return replace(elt_llm, environment={**elt_llm.environment, **variables})


def test_a_pulled_model_is_listed_and_used_without_a_connection_to_the_model_hub(
    elt_llm: CommandLine, tmp_path: Path
) -> None:
    with model_hub() as hub:
        hub.publish(f"cross-encoder/{NAME}", write_tiny_cross_encoder(tmp_path / "source", ["a"], nested=True))
        online = with_variables(elt_llm, HF_ENDPOINT=hub.url, ELT_LLM_NETWORK__ALLOW_MODEL_DOWNLOADS="true")
        pulled = online.done("models", "pull", NAME)
    assert f"Installed {NAME}" in pulled.out
    assert "No checksum is known" in pulled.err
    assert elt_llm.done("models", "list", "--json").json["installed"] == [NAME]
    ranked = with_variables(elt_llm, ELT_LLM_QUERY__RERANKER_STRATEGY="cross-encoder")
    checks = ranked("doctor", "--json").json["checks"]
    [reranker] = [check for check in checks if check["name"] == "reranker"]
    assert (reranker["outcome"], NAME in reranker["detail"]) == ("ok", True)


def test_pulling_a_model_is_refused_unless_the_settings_allow_downloads(elt_llm: CommandLine) -> None:
    refused = elt_llm("models", "pull", NAME)
    assert refused.code == 1
    assert "network.allow_model_downloads" in refused.err
    assert "no" in elt_llm.done("models", "list").out


def test_a_model_that_the_settings_use_is_removed_only_with_force(elt_llm: CommandLine, tmp_path: Path) -> None:
    source = write_tiny_cross_encoder(tmp_path / "source", ["a"])
    elt_llm.done("models", "add", source, "--name", "mine")
    used = with_variables(elt_llm, ELT_LLM_QUERY__RERANKER_MODEL="mine")
    refused = used("models", "remove", "mine")
    assert refused.code == 2
    assert "--force" in refused.err
    assert used.done("models", "list", "--json").json["installed"] == ["mine"]
    used.done("models", "remove", "mine", "--force")
    assert used.done("models", "list", "--json").json["installed"] == []


def test_the_doctor_names_the_command_that_installs_a_missing_cross_encoder(elt_llm: CommandLine) -> None:
    asked = with_variables(elt_llm, ELT_LLM_QUERY__RERANKER_STRATEGY="cross-encoder")
    [reranker] = [check for check in asked("doctor", "--json").json["checks"] if check["name"] == "reranker"]
    assert f"elt-llm models pull {NAME}" in str(reranker)

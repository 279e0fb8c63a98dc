"""`elt-llm init`, called within this process."""

from pathlib import Path

import pytest
from elt_llm_api.cli import run
from elt_llm_api.cli.commands.init import starting_files
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.profiles import load_profile, profile_names
from elt_llm_core.settings.tree import Settings

PROJECT = Path(__file__).parents[2]
UV_RUN = {"UV_RUN_RECURSION_DEPTH": "1"}


def test_the_init_command_writes_settings_and_profiles_that_can_be_loaded(tmp_path: Path) -> None:
    assert run(["init", "project"], {}, tmp_path) == 0
    loaded = load_settings(None, {}, tmp_path / "project")
    assert loaded.settings == Settings()
    assert loaded.source == tmp_path / "project" / "config" / "rag_config.yaml"
    assert {path.stem for path in loaded.config_dir.glob("profiles/*")} == {"classic", "default", "fast", "thorough"}
    for name in profile_names(loaded):
        load_profile(name, loaded)


def test_the_init_command_with_the_ollama_option_configures_the_language_and_the_embedding_model(
    tmp_path: Path,
) -> None:
    assert run(["init", "--ollama"], {}, tmp_path) == 0
    settings = load_settings(None, {}, tmp_path).settings
    assert (settings.embedding.provider, settings.llm.provider) == ("ollama", "ollama")


def test_the_init_command_does_not_overwrite_existing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "config" / "profiles" / "fast.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("description: mine\n")
    assert run(["init"], {}, tmp_path) == 2
    assert mine.read_text() == "description: mine\n"
    assert not (tmp_path / "config" / "rag_config.yaml").exists()
    assert str(mine) in capsys.readouterr().err


def test_the_init_command_reports_a_folder_that_it_cannot_create(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(["init", "file/below"], {}, tmp_path) == 1
    assert "Error: " in capsys.readouterr().err


@pytest.mark.parametrize("name", starting_files(ollama=False, examples=True))
def test_the_configuration_of_this_repository_is_up_to_date(name: str) -> None:
    assert (PROJECT / name).read_text(encoding="utf-8") == starting_files(ollama=False, examples=True)[name]


def test_the_init_command_writes_example_files_only_with_the_examples_option(tmp_path: Path) -> None:
    assert run(["init", "mine"], {}, tmp_path) == 0
    assert [path for path in (tmp_path / "mine").rglob("*.yaml") if "demo" in path.read_text(encoding="utf-8")] == []
    assert run(["init", "--examples", "examples"], {}, tmp_path) == 0
    assert (tmp_path / "examples" / "config" / "consumer" / "glossary.yaml").is_file()


@pytest.mark.parametrize(("environment", "words"), [({}, "Next: elt-llm"), (UV_RUN, "Next: uv run elt-llm")])
def test_the_suggested_next_command_starts_the_program_as_the_user_started_it(
    environment: dict[str, str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init"], environment, tmp_path) == 0
    assert words in capsys.readouterr().out

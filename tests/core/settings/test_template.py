"""Settings and profiles that are written are read back unchanged."""

import re
from pathlib import Path

import pytest
from elt_llm_core.settings.loader import load_settings, read_model
from elt_llm_core.settings.profiles import built_in_profiles
from elt_llm_core.settings.template import profile_as_yaml, settings_as_yaml
from elt_llm_core.settings.tree import Profile, Settings


def uncommented(text: str) -> str:
    """Return the YAML text with every commented key uncommented: "#seed: 7" becomes "seed: 7"."""
    return re.sub(r"^(\s*)#(?=\w)", r"\1", text, flags=re.MULTILINE)


def loaded(folder: Path, text: str) -> Settings:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {}, folder).settings


def test_a_settings_file_written_without_given_values_has_the_default_settings(tmp_path: Path) -> None:
    assert loaded(tmp_path, settings_as_yaml({})) == Settings()


def test_the_written_settings_file_has_every_key_with_its_default(tmp_path: Path) -> None:
    settings = loaded(tmp_path, uncommented(settings_as_yaml({})))
    assert settings == Settings()
    for name in Settings.model_fields:
        section = getattr(settings, name)
        assert section.model_fields_set == set(type(section).model_fields)


def test_values_given_to_the_writer_are_set_in_the_written_settings_file(tmp_path: Path) -> None:
    settings = loaded(tmp_path, settings_as_yaml({"llm": {"provider": "ollama", "model": "a: b"}}))
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "a: b")


@pytest.mark.parametrize("name", built_in_profiles())
def test_a_written_built_in_profile_is_read_back_unchanged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(profile_as_yaml(built_in_profiles()[name]), encoding="utf-8")
    assert read_model(path, Profile, tmp_path) == built_in_profiles()[name]


@pytest.mark.parametrize("name", built_in_profiles())
def test_the_keys_in_comments_of_a_written_profile_are_valid(tmp_path: Path, name: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(uncommented(profile_as_yaml(built_in_profiles()[name])), encoding="utf-8")
    assert read_model(path, Profile, tmp_path).collections == ("my-documents",)


def test_no_explanatory_comment_in_the_written_settings_file_looks_like_a_key() -> None:
    texts = [settings_as_yaml({}), *map(profile_as_yaml, built_in_profiles().values())]
    assert all(len(line) <= 120 for text in texts for line in text.splitlines())

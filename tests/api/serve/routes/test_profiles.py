"""Only administrators save profiles, under valid names, and replace existing profiles only on request."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.profiles import ProfileActions, apply_changes
from elt_llm_api.serve.services import open_services
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from elt_llm_core.settings.profiles import load_profile
from elt_llm_core.settings.tree import Profile, QuerySettings
from served.answering_server import EXTRACTIVE

GIVEN = {
    "description": "Vectors first.",
    "collections": ["samples", "secret"],
    "query": {"dense_weight": 0.9},
    "prompt": {"system": "Answer in short sentences."},
}


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    return load_settings(None, EXTRACTIVE, tmp_path)


@pytest.fixture
def profiles(loaded: LoadedSettings) -> Iterator[ProfileActions]:
    with open_services(loaded) as services:
        yield ProfileActions(services)


def test_a_saved_profile_is_read_back_unchanged(profiles: ProfileActions, loaded: LoadedSettings) -> None:
    path = profiles.save(LOCAL, "vectors-first", GIVEN)
    assert path.name == "vectors-first.yaml"
    assert load_profile("vectors-first", loaded).model_dump(mode="json", exclude_unset=True) == GIVEN
    assert sorted(one.name for one in path.parent.iterdir()) == ["vectors-first.yaml"], "nothing is left beside it"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\x0b", "\n\n"])
def test_a_profile_description_cannot_inject_yaml_keys(
    profiles: ProfileActions, loaded: LoadedSettings, end: str
) -> None:
    given = {
        "description": f"mine{end}llm:{end}  model: another{end}query:{end}  retriever_top_k: 7{end}"
        "\x00\x1b\ufeff\ufffe"
    }
    profiles.save(LOCAL, "mine", given)
    assert load_profile("mine", loaded).model_dump(mode="json", exclude_unset=True) == given


def test_only_administrators_may_save_a_profile(profiles: ProfileActions) -> None:
    with pytest.raises(Forbidden):
        profiles.save(Principal("reader"), "mine", GIVEN)


@pytest.mark.parametrize("name", ["", "../evil", "a/b", "Upper", ".hidden", "x" * 64, "with space", "ünder", "a\n"])
def test_an_invalid_profile_name_is_refused(profiles: ProfileActions, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a profile's name"):
        profiles.save(LOCAL, name, GIVEN)


@pytest.mark.parametrize("name", ["default", "fast"])
def test_a_shipped_profile_is_replaced_only_on_request(profiles: ProfileActions, name: str) -> None:
    with pytest.raises(UsageError, match="a built-in profile"):
        profiles.save(LOCAL, name, GIVEN)
    assert profiles.save(LOCAL, name, GIVEN, replace=True).is_file()


def test_an_existing_profile_is_replaced_only_on_request(profiles: ProfileActions) -> None:
    profiles.save(LOCAL, "mine", GIVEN)
    with pytest.raises(UsageError, match="an existing profile"):
        profiles.save(LOCAL, "mine", {"description": "Another."})


def test_an_invalid_profile_is_not_saved(profiles: ProfileActions, loaded: LoadedSettings) -> None:
    with pytest.raises(SettingsError, match="dense_weight"):
        profiles.save(LOCAL, "wrong", {"query": {"dense_weight": 2.0}})
    assert not (loaded.config_dir / "profiles" / "wrong.yaml").exists()


def test_a_profile_is_returned_without_the_collections_that_the_key_may_not_read(profiles: ProfileActions) -> None:
    profiles.save(LOCAL, "mine", GIVEN)
    assert profiles.get(Principal("reader", read=("samples",), write=()), "mine").collections == ("samples",)


def test_the_default_profile_is_listed_first(profiles: ProfileActions) -> None:
    names = [one.name for one in profiles.all()]
    assert names[0] == "default"
    assert names[1:] == sorted(names[1:])


def test_an_invalid_profile_file_does_not_affect_the_other_profiles(
    profiles: ProfileActions, loaded: LoadedSettings
) -> None:
    before = profiles.all()
    folder = loaded.config_dir / "profiles"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "broken.yaml").write_text("query:\n  top: 1\n", encoding="utf-8")
    (folder / "my own.yaml").write_text("description: no name\n", encoding="utf-8")
    assert profiles.all() == before
    assert profiles.get(LOCAL, "fast").description


def test_a_request_changes_only_the_profile_values_that_it_contains() -> None:
    base = Profile(description="Base.", query=QuerySettings(retriever_top_k=20))
    unchanged = {"retriever_top_k": 20, "dense_weight": 0.5, "use_mmr": False}
    changed = apply_changes(base, {"retriever_top_k": 20, "dense_weight": 0.7, "use_mmr": False}, unchanged)
    assert changed == {"description": "Base.", "query": {"retriever_top_k": 20, "dense_weight": 0.7}}
    assert apply_changes(Profile(), {"use_mmr": False}, unchanged) == {}

"""Profiles that callers save: by who administers, under names that are names, never over another in silence."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import EXTRACTIVE
from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.profiles import Profiles
from elt_llm_api.serve.actions.trying import with_changes
from elt_llm_api.serve.services import open_services
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings import Profile, QuerySettings
from elt_llm_core.settings_loader import LoadedSettings, load_profile, load_settings

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
def profiles(loaded: LoadedSettings) -> Iterator[Profiles]:
    with open_services(loaded) as services:
        yield Profiles(services)


def test_a_saved_profile_is_read_back_as_it_was_given(profiles: Profiles, loaded: LoadedSettings) -> None:
    path = profiles.save(LOCAL, "vectors-first", GIVEN)
    assert path.name == "vectors-first.yaml"
    assert load_profile("vectors-first", loaded).model_dump(mode="json", exclude_unset=True) == GIVEN
    assert sorted(one.name for one in path.parent.iterdir()) == ["vectors-first.yaml"], "nothing is left beside it"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\x0b", "\n\n"])
def test_a_description_begins_no_keys_of_its_own(profiles: Profiles, loaded: LoadedSettings, end: str) -> None:
    given = {
        "description": f"mine{end}llm:{end}  model: another{end}query:{end}  leg_top_k: 7{end}\x00\x1b\ufeff\ufffe"
    }
    profiles.save(LOCAL, "mine", given)
    assert load_profile("mine", loaded).model_dump(mode="json", exclude_unset=True) == given


def test_only_who_administers_may_save(profiles: Profiles) -> None:
    with pytest.raises(Forbidden):
        profiles.save(Principal("reader"), "mine", GIVEN)


@pytest.mark.parametrize("name", ["", "../evil", "a/b", "Upper", ".hidden", "x" * 64, "with space", "ünder", "a\n"])
def test_what_is_no_name_is_refused(profiles: Profiles, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a profile's name"):
        profiles.save(LOCAL, name, GIVEN)


@pytest.mark.parametrize("name", ["default", "fast"])
def test_a_shipped_profile_is_replaced_only_where_that_is_said(profiles: Profiles, name: str) -> None:
    with pytest.raises(UsageError, match="comes with the program"):
        profiles.save(LOCAL, name, GIVEN)
    assert profiles.save(LOCAL, name, GIVEN, replace=True).is_file()


def test_one_of_its_own_is_not_replaced_in_silence_either(profiles: Profiles) -> None:
    profiles.save(LOCAL, "mine", GIVEN)
    with pytest.raises(UsageError, match="is there already"):
        profiles.save(LOCAL, "mine", {"description": "Another."})


def test_what_does_not_hold_is_not_saved(profiles: Profiles, loaded: LoadedSettings) -> None:
    with pytest.raises(SettingsError, match="dense_weight"):
        profiles.save(LOCAL, "wrong", {"query": {"dense_weight": 2.0}})
    assert not (loaded.config_dir / "profiles" / "wrong.yaml").exists()


def test_a_caller_learns_no_name_of_a_collection_it_may_not_read(profiles: Profiles) -> None:
    profiles.save(LOCAL, "mine", GIVEN)
    assert profiles.get(Principal("reader", read=("samples",), write=()), "mine").collections == ("samples",)


def test_the_default_stands_first_in_the_list(profiles: Profiles) -> None:
    names = [one.name for one in profiles.all()]
    assert names[0] == "default"
    assert names[1:] == sorted(names[1:])


def test_a_file_that_does_not_hold_takes_none_of_the_others_from_anybody(
    profiles: Profiles, loaded: LoadedSettings
) -> None:
    before = profiles.all()
    folder = loaded.config_dir / "profiles"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "broken.yaml").write_text("query:\n  top: 1\n", encoding="utf-8")
    (folder / "my own.yaml").write_text("description: no name\n", encoding="utf-8")
    assert profiles.all() == before
    assert profiles.get(LOCAL, "fast").description


def test_only_what_was_turned_is_laid_over_a_profile() -> None:
    base = Profile(description="Base.", query=QuerySettings(leg_top_k=20))
    unchanged = {"leg_top_k": 20, "dense_weight": 0.5, "use_mmr": False}
    changed = with_changes(base, {"leg_top_k": 20, "dense_weight": 0.7, "use_mmr": False}, unchanged)
    assert changed == {"description": "Base.", "query": {"leg_top_k": 20, "dense_weight": 0.7}}
    assert with_changes(Profile(), {"use_mmr": False}, unchanged) == {}

"""Describe which profiles a collection's confidence was calibrated for."""

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from elt_llm_core.errors import CorruptIndex, EltError, StoreError

from elt_llm_api.display.text import local_time

if TYPE_CHECKING:
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_core.settings.tree import Settings
    from elt_llm_core.store.records import CollectionRecord
    from elt_llm_core.store.store import Store
    from elt_llm_query.extractive.confidence import ProfileCalibration

_STATE_NOTES = {
    "calibrated": "",
    "shipped": " (the shipped defaults were no worse)",
    "stale": " (outdated by later changes: shipped defaults are used)",
}


def load_calibrations(
    loaded: "LoadedSettings", store: "Store", record: "CollectionRecord"
) -> "list[ProfileCalibration]":
    """Load the calibrations of a collection's confidence, one for each profile that has one. Empty if unreadable."""
    from elt_llm_core.state.calibrations import CalibrationTable
    from elt_llm_core.state.database import has_state, open_state

    generation = next(
        (row for row in store.generations.of_collection(record.id) if row.number == record.published), None
    )
    if generation is None or not has_state(loaded.workspace):
        return []
    try:
        with closing(open_state(loaded.workspace)) as state:
            stored = CalibrationTable(state).of_collection(record.name)
    except StoreError:
        return []  # answers do not use unreadable calibrations either, and their notes give the reason
    if not stored:
        return []
    from elt_llm_core.index.passport import Passport, generation_identity
    from elt_llm_query.extractive.confidence import list_profile_calibrations

    try:
        identity = generation_identity(record.name, generation.number, Passport.from_json(generation.passport))
    except CorruptIndex:
        return []  # the collection cannot be searched until `verify` has repaired it
    return list_profile_calibrations(stored, identity, _readable_profiles(loaded))


def calibration_text(calibrations: "list[ProfileCalibration]", collection: str) -> str:
    """Describe when and for which profiles the collection was calibrated, and how to renew outdated calibrations."""
    if not calibrations:
        return "no: shipped defaults"
    described = [
        f"{local_time(one.fitted_at)} for profile {one.profile}{_STATE_NOTES[one.state]}" for one in calibrations
    ]
    stale = any(one.state == "stale" for one in calibrations)
    return "; ".join([*described, *([f"to renew: elt-llm eval --calibrate -c {collection}"] if stale else [])])


def _readable_profiles(loaded: "LoadedSettings") -> "Mapping[str, Settings]":
    from elt_llm_core.settings.profiles import load_profile, profile_names

    profiles = {}
    for name in profile_names(loaded):
        try:
            profiles[name] = load_profile(name, loaded).apply_to(loaded.settings)
        except EltError:
            continue  # an invalid profile cannot be used; `doctor` reports it
    return profiles

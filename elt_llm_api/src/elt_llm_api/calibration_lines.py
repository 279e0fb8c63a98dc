"""Whether what decides to answer was fitted to a collection, for `elt-llm status`."""

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from elt_llm_core.errors import CorruptIndex, EltError, StoreError

from elt_llm_api.render import local_time

if TYPE_CHECKING:
    from elt_llm_core.settings import Settings
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_core.store.records import CollectionRecord
    from elt_llm_core.store.store import Store
    from elt_llm_query.calibration import ProfileCalibration


def calibrations_of(loaded: "LoadedSettings", store: "Store", record: "CollectionRecord") -> "list[ProfileCalibration]":
    """What was fitted to a collection for the profiles there are; empty if nothing was, or none can be read."""
    from elt_llm_core.state.calibrations import Calibrations
    from elt_llm_core.state.database import STATE_NAME, open_state

    seen = next((row for row in store.generations.of_collection(record.id) if row.number == record.published), None)
    if seen is None or not (loaded.data_dir / STATE_NAME).exists():
        return []
    try:
        with closing(open_state(loaded.data_dir)) as state:
            kept = Calibrations(state).of_collection(record.name)
    except StoreError:
        return []  # nor is it used: the answers say why in their notes
    if not kept:
        return []
    from elt_llm_core.index.passport import Passport, generation_identity
    from elt_llm_query.calibration import profile_calibrations  # heavy, hence only where something was fitted

    try:
        identity = generation_identity(record.name, seen.number, Passport.from_json(seen.passport))
    except CorruptIndex:
        return []  # nothing is asked of it before `verify` has mended it
    return profile_calibrations(kept, identity, _profiles(loaded))


def calibration_line(found: "list[ProfileCalibration]", collection: str) -> str:
    """When and for which profiles, and what is to be done where that holds no more."""
    if not found:
        return "no: shipped defaults"
    told = [f"{local_time(one.fitted_at)} for profile {one.profile}{_BESIDES[one.state]}" for one in found]
    again = f"; again: elt-llm eval --calibrate -c {collection}" if any(one.state == "stale" for one in found) else ""
    return "; ".join(told) + again


_BESIDES = {
    "calibrated": "",
    "shipped": " (the shipped defaults were no worse)",
    "stale": " (to what has changed since: shipped defaults)",
}


def _profiles(loaded: "LoadedSettings") -> "Mapping[str, Settings]":
    from elt_llm_core.settings_loader import load_profile, profile_names

    profiles = {}
    for name in profile_names(loaded):
        try:
            profiles[name] = load_profile(name, loaded).apply_to(loaded.settings)
        except EltError:
            continue  # nothing can be asked with a profile that is not read; `doctor` names it
    return profiles

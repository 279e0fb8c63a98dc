"""Which weights decide whether to answer: those that are shipped, or those fitted to a collection as it stands."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from elt_llm_core.errors import StoreError
from elt_llm_core.settings import Settings
from elt_llm_core.state.calibrations import Calibrations, Kept
from elt_llm_core.state.database import STATE_NAME, open_state

from elt_llm_query.answer.abstention import SHIPPED, Weighing

if TYPE_CHECKING:
    from elt_llm_core.generation import Generation

State = Literal["shipped", "calibrated", "stale"]
_WITHOUT_BEARING = {"cache_size", "cache_ttl", "system_prompt", "use_lost_in_middle"}


@dataclass(frozen=True)
class Calibration:
    """The weights in use and why these; `stale`: some were fitted, but to another state of the collection."""

    weighing: Weighing = SHIPPED
    state: State = "shipped"
    notes: tuple[str, ...] = ()


NOT_CALIBRATED = Calibration()


def settings_key(settings: Settings) -> str:
    """Equal for settings whose passages are found alike: whatever else a profile sets has no bearing on the evidence.

    A profile that is changed is another one, whatever its name.
    """
    query = settings.query.model_dump(mode="json", exclude=_WITHOUT_BEARING)
    return hashlib.sha256(json.dumps(query, sort_keys=True).encode()).hexdigest()[:16]


def to_json(weighing: Weighing) -> str:
    """What is kept: the weights, and which shipped ones they were fitted from."""
    fitted = {"from": _digest(SHIPPED), "intercept": weighing.intercept, "weights": dict(weighing.weights)}
    return json.dumps(fitted, sort_keys=True)


def read_calibration(data_dir: Path, generations: "Sequence[Generation]", settings: Settings) -> Calibration:
    """What was fitted to just this generation and these settings, else the shipped weights.

    Several collections that are asked together are weighed as shipped: none of theirs was fitted to all of them.
    """
    if len(generations) != 1 or not (data_dir / STATE_NAME).exists():
        return NOT_CALIBRATED
    generation, profile = generations[0], settings_key(settings)
    try:
        with closing(open_state(data_dir)) as database:
            kept = Calibrations(database)
            fitted = kept.find(generation.collection, generation.identity, profile)
            earlier = kept.has_others(generation.collection, generation.identity, profile)
    except StoreError as error:
        return Calibration(notes=(f"What was fitted to '{generation.collection}' could not be read: {error}",))
    weighing = None if fitted is None else _weighing(fitted)
    if weighing is not None:
        return NOT_CALIBRATED if weighing == SHIPPED else Calibration(weighing, "calibrated")
    return _stale(generation.collection) if earlier or fitted is not None else NOT_CALIBRATED


@dataclass(frozen=True)
class ProfileCalibration:
    """Of one profile: when it was last fitted to the collection, ISO 8601, and which weights it is asked with now.

    `shipped`: fitting found none that are better.
    """

    profile: str
    state: State
    fitted_at: str


def profile_calibrations(
    kept: Sequence[Kept], identity: str, profiles: Mapping[str, Settings]
) -> list[ProfileCalibration]:
    """Of each profile, by name, that was ever fitted, what holds for the generation `identity`; `kept` latest first."""
    found = []
    for name, settings in profiles.items():
        key = settings_key(settings)
        its = sorted((one for one in kept if one.profile == key), key=lambda one: one.generation != identity)
        if its:
            found.append(ProfileCalibration(name, _state(its[0], identity), its[0].created_at))
    return found


def _state(kept: Kept, identity: str) -> State:
    weighing = _weighing(kept.fitted) if kept.generation == identity else None
    if weighing is None:
        return "stale"
    return "shipped" if weighing == SHIPPED else "calibrated"


def _stale(collection: str) -> Calibration:
    note = (
        f"What decides whether to answer was fitted to another state of '{collection}' and is not used."
        f" Run again: elt-llm eval --calibrate -c {collection}"
    )
    return Calibration(state="stale", notes=(note,))


def _weighing(fitted: str) -> Weighing | None:
    """The weights, or None where they were fitted from others than are shipped now."""
    try:
        read = json.loads(fitted)
        weights = tuple((name, float(read["weights"][name])) for name, _ in SHIPPED.weights)
        if not all(math.isfinite(value) for value in (float(read["intercept"]), *dict(weights).values())):
            return None
        return Weighing(float(read["intercept"]), weights) if read["from"] == _digest(SHIPPED) else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _digest(weighing: Weighing) -> str:
    return hashlib.sha256(repr(weighing).encode()).hexdigest()[:16]

"""Confidence: the calibrated chance that the chunks hold the answer, one logistic function of the evidence.

Certainty: the chance that the best sentence is the one that answers, a second such function (decision 60).

The weights were fitted offline: see decision 3 in `docs/decisions` for data, method and results, and decision 20 for
their update after a change of the ranking. Weights fitted to a collection replace the shipped ones.
"""

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self

from elt_llm_core.errors import StoreError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import AnswerOutcome
from elt_llm_core.settings.tree import FORMER_QUERY_KEYS, AnswerSettings, Settings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.calibrations import CalibrationTable, StoredCalibration
from elt_llm_core.state.database import has_state, open_state

from elt_llm_query.extractive.evidence import AnswerEvidence
from elt_llm_query.extractive.sentence_scores import ScoredSentence

_WEIGHTS = tomllib.loads(Path(__file__).with_name("confidence_weights.toml").read_text(encoding="utf-8"))
_COMPARED = 5  # best sentences with whose mean score the best one is compared
INTERCEPT: Final[float] = _WEIGHTS["intercept"]
WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(_WEIGHTS["weights"])


@dataclass(frozen=True)
class ConfidenceWeights:
    """An intercept and a weight for each kind of evidence, by name."""

    intercept: float
    weights: tuple[tuple[str, float], ...]


SHIPPED_WEIGHTS: Final = ConfidenceWeights(INTERCEPT, tuple(WEIGHTS.items()))
ACROSS_LANGUAGES: Final = ConfidenceWeights(
    _WEIGHTS["across_languages"]["intercept"], tuple(_WEIGHTS["across_languages"]["weights"].items())
)
"""The weights for a quote in another language than the question: the two share only names and numbers."""


CERTAINTY_WEIGHTS: Final = ConfidenceWeights(
    _WEIGHTS["certainty"]["intercept"], tuple(_WEIGHTS["certainty"]["weights"].items())
)


@dataclass(frozen=True)
class OutcomeThresholds:
    """The confidences, 0 to 1, below which an answer is `not found` or `uncertain`.

    A quoted answer is also `uncertain` if its certainty, 0 to 1, is below `least_certainty`.
    """

    refuse_below: float
    uncertain_below: float
    least_certainty: float = 0.0

    @classmethod
    def of(cls, settings: AnswerSettings) -> Self:
        """Return the configured thresholds; if `abstain` is false, thresholds of 0, which refuse no question."""
        if not settings.abstain:
            return cls(0.0, 0.0)
        return cls(settings.refuse_below, settings.uncertain_below, settings.least_certainty)

    def outcome(self, confidence: float, certainty: float = 1.0) -> AnswerOutcome:
        """Return the outcome of a question with this confidence and certainty."""
        if confidence < self.refuse_below:
            return "not found"
        certain = confidence >= self.uncertain_below and certainty >= self.least_certainty
        return "answered" if certain else "uncertain"


SHIPPED_THRESHOLDS: Final = OutcomeThresholds.of(AnswerSettings())
"""Decision 40 in docs/decisions explains the choice of these thresholds."""


def confidence_of(evidence: AnswerEvidence, weights: ConfidenceWeights = SHIPPED_WEIGHTS) -> float:
    """Return the chance that the chunks hold the answer, 0 to 1, rounded to four digits."""
    return _chance(evidence.as_dict(), weights)


def certainty_of(evidence: AnswerEvidence, scored: Sequence[ScoredSentence]) -> float:
    """Return the chance that the first of the `scored` sentences answers the question, 0 to 1, to four digits.

    It is higher the more this sentence leads over the mean of the best five, the nearer it is to the question, and the
    earlier its chunk ranks; and lower if a figure's unit or the rest of the question is far from it. The only sentence
    gets 1, because there is none that might be meant instead. So does a table row, for which no weights were fitted.
    """
    best, first = scored[0], scored[:_COMPARED]
    if len(scored) == 1 or best.candidate.kind == "row":
        return 1.0
    values = {
        **evidence.as_dict(),
        "lead": best.score - sum(one.score for one in first) / len(first),
        "chunk_rank": float(best.candidate.chunk),
        "cosine": best.cosine,
    }
    return _chance(values, CERTAINTY_WEIGHTS)


def _chance(values: Mapping[str, float], weights: ConfidenceWeights) -> float:
    logit = weights.intercept + sum(weight * values[name] for name, weight in weights.weights)
    return round(1.0 / (1.0 + math.exp(-logit)), 4)


CalibrationState = Literal["shipped", "calibrated", "stale"]
_IRRELEVANT_SETTINGS = {"cache_size", "cache_ttl", "system_prompt", "use_lost_in_middle"}


@dataclass(frozen=True)
class Calibration:
    """The weights in use; `stale` means that the fitted weights belong to another state of the collection."""

    weights: ConfidenceWeights = SHIPPED_WEIGHTS
    state: CalibrationState = "shipped"
    notes: tuple[str, ...] = ()


NOT_CALIBRATED = Calibration()


def settings_key(settings: Settings) -> str:
    """Return a key of the search settings that affect the evidence; equal settings have equal keys.

    The name of a profile does not matter: a profile whose settings change gets another key.
    """
    query = settings.query.model_dump(mode="json", exclude=_IRRELEVANT_SETTINGS)
    query = {FORMER_QUERY_KEYS.get(name, name): value for name, value in query.items()}
    return hashlib.sha256(json.dumps(query, sort_keys=True).encode()).hexdigest()[:16]


def calibration_json(weights: ConfidenceWeights) -> str:
    """Serialise the weights with a digest of the shipped weights they were fitted from."""
    fitted = {"from": _digest(SHIPPED_WEIGHTS), "intercept": weights.intercept, "weights": dict(weights.weights)}
    return json.dumps(fitted, sort_keys=True)


def read_calibration(place: Path | Workspace, generations: Sequence[Searchable], settings: Settings) -> Calibration:
    """Return the weights fitted to this generation and these settings, else the shipped ones.

    Several collections together use the shipped weights: no weights were fitted to all of them.
    """
    if len(generations) != 1 or not has_state(place):
        return NOT_CALIBRATED
    generation, profile = generations[0], settings_key(settings)
    try:
        with closing(open_state(place)) as database:
            table = CalibrationTable(database)
            fitted = table.find(generation.collection, generation.identity, profile)
            earlier = table.has_others(generation.collection, generation.identity, profile)
    except StoreError as error:
        return Calibration(notes=(f"The calibration of '{generation.collection}' could not be read: {error}",))
    weights = None if fitted is None else _fitted_weights(fitted)
    if weights is not None:
        return NOT_CALIBRATED if weights == SHIPPED_WEIGHTS else Calibration(weights, "calibrated")
    if not earlier and fitted is None:
        return NOT_CALIBRATED
    note = (
        f"The calibration of the confidence was fitted to another state of '{generation.collection}' and is not used."
        f" Run again: elt-llm eval --calibrate -c {generation.collection}"
    )
    return Calibration(state="stale", notes=(note,))


@dataclass(frozen=True)
class ProfileCalibration:
    """The calibration of a profile: which weights it uses now (`state`), and when they were fitted, in ISO 8601.

    The state `shipped` means that fitting found no better weights than the shipped ones.
    """

    profile: str
    state: CalibrationState
    fitted_at: str


def list_profile_calibrations(
    kept: Sequence[StoredCalibration], identity: str, profiles: Mapping[str, Settings]
) -> list[ProfileCalibration]:
    """Return the calibration state of every profile that was ever fitted, for the generation `identity`.

    `kept` are the stored calibrations, latest first.
    """
    listed = []
    for name, settings in profiles.items():
        key = settings_key(settings)
        own = sorted((one for one in kept if one.profile == key), key=lambda one: one.generation != identity)
        if own:
            weights = _fitted_weights(own[0].fitted) if own[0].generation == identity else None
            state: CalibrationState = "stale" if weights is None else "calibrated"
            listed.append(
                ProfileCalibration(name, "shipped" if weights == SHIPPED_WEIGHTS else state, own[0].created_at)
            )
    return listed


def _fitted_weights(fitted: str) -> ConfidenceWeights | None:
    """Read the weights. Return None for damaged weights, or weights fitted from other shipped weights."""
    try:
        read = json.loads(fitted)
        intercept = float(read["intercept"])
        weights = tuple((name, float(read["weights"][name])) for name, _ in SHIPPED_WEIGHTS.weights)
        finite = all(map(math.isfinite, (intercept, *dict(weights).values())))
        usable = finite and read["from"] == _digest(SHIPPED_WEIGHTS)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return ConfidenceWeights(intercept, weights) if usable else None


def _digest(weights: ConfidenceWeights) -> str:
    return hashlib.sha256(repr(weights).encode()).hexdigest()[:16]

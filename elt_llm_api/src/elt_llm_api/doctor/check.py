"""The types of a check: its facts, its verdict and its outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from elt_llm_core.errors import EltError, SettingsError
from elt_llm_core.settings.loader import LoadedSettings


class CheckOutcome(StrEnum):
    """How a check ended; only a failure makes the command fail."""

    OK = "ok"
    WARNING = "warn"
    FAILURE = "FAIL"


@dataclass(frozen=True)
class CheckVerdict:
    """The finding, and the command or change that cures it; empty if nothing needs a cure."""

    outcome: CheckOutcome
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class DoctorFacts:
    """The input of checks. `loaded` is None exactly if the settings have a `settings_error`."""

    environment: Mapping[str, str]
    working_directory: Path
    loaded: LoadedSettings | None
    settings_error: SettingsError | None


@dataclass(frozen=True)
class DoctorCheck:
    """A named check of this machine, this installation or these data."""

    name: str
    look: Callable[[DoctorFacts], CheckVerdict]

    def verdict(self, facts: DoctorFacts) -> CheckVerdict:
        """Run the check; an error in it is a failed check, not a failed doctor."""
        try:
            return self.look(facts)
        except EltError as error:
            return failure(str(error), error.hint)
        except OSError as error:
            return failure(f"{error.filename or ''} {error.strerror or error}".strip(), "Check its permissions")


def with_settings(look: Callable[[LoadedSettings], CheckVerdict]) -> Callable[[DoctorFacts], CheckVerdict]:
    """A check that needs the settings, and is skipped with a warning if they cannot be read."""

    def look_if_readable(facts: DoctorFacts) -> CheckVerdict:
        if facts.loaded is None:
            return warning("not checked: the settings cannot be read", "Correct the settings first")
        return look(facts.loaded)

    return look_if_readable


def ok(detail: str) -> CheckVerdict:
    """A verdict without problems."""
    return CheckVerdict(CheckOutcome.OK, detail)


def warning(detail: str, hint: str) -> CheckVerdict:
    """A verdict on something that works, but not as well as it could."""
    return CheckVerdict(CheckOutcome.WARNING, detail, hint)


def failure(detail: str, hint: str) -> CheckVerdict:
    """A verdict on something that does not work."""
    return CheckVerdict(CheckOutcome.FAILURE, detail, hint)

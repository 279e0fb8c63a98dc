"""The shape of a check: a name and a function that looks at one thing and gives a verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from elt_llm_core.errors import EltError, SettingsError
from elt_llm_core.settings_loader import LoadedSettings


class Outcome(StrEnum):
    """How a check ended; only a failure makes the command fail."""

    OK = "ok"
    WARNING = "warn"
    FAILURE = "FAIL"


@dataclass(frozen=True)
class Verdict:
    """What was found, and the command or change that mends it; empty where nothing needs mending."""

    outcome: Outcome
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class Facts:
    """What checks are given. `loaded` is none exactly where `settings_error` says why."""

    environment: Mapping[str, str]
    working_directory: Path
    loaded: LoadedSettings | None
    settings_error: SettingsError | None


@dataclass(frozen=True)
class Check:
    """A named question about this machine, this installation or these data."""

    name: str
    look: Callable[[Facts], Verdict]

    def verdict(self, facts: Facts) -> Verdict:
        """Looks; an error on the way is a failed check, not a failed doctor."""
        try:
            return self.look(facts)
        except EltError as error:
            return failure(str(error), error.hint)
        except OSError as error:
            return failure(f"{error.filename or ''} {error.strerror or error}".strip(), "Check its permissions")


def ok(detail: str) -> Verdict:
    """All is well."""
    return Verdict(Outcome.OK, detail)


def warning(detail: str, hint: str) -> Verdict:
    """It works, but not as well as it could."""
    return Verdict(Outcome.WARNING, detail, hint)


def failure(detail: str, hint: str) -> Verdict:
    """Something will not work."""
    return Verdict(Outcome.FAILURE, detail, hint)

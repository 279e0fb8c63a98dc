"""The types of a health check: the facts it examines, its verdict and its outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.errors import SettingsError
from elt_llm_core.settings.loader import LoadedSettings

CheckOutcome = Literal["ok", "warn", "FAIL"]
"""The result of a check: ok, warning or failure. Only a failure makes the command fail."""


@dataclass(frozen=True)
class CheckVerdict:
    """What a check found. `hint` is the command or change that solves the problem, or empty if there is none."""

    outcome: CheckOutcome
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class DoctorFacts:
    """The input of all checks. `loaded` is None if the settings are unreadable; `settings_error` gives the reason."""

    environment: Mapping[str, str]
    loaded: LoadedSettings | None
    settings_error: SettingsError | None


Check = Callable[[DoctorFacts], CheckVerdict]
"""A function that checks one aspect of the machine, the installation or the data."""


def with_settings(look: Callable[[LoadedSettings], CheckVerdict]) -> Check:
    """Build a check that needs the settings. It is skipped with a warning if the settings cannot be read."""

    def look_if_readable(facts: DoctorFacts) -> CheckVerdict:
        if facts.loaded is None:
            return warning("not checked: the settings cannot be read", "Correct the settings first")
        return look(facts.loaded)

    return look_if_readable


def ok(detail: str) -> CheckVerdict:
    """Return the verdict "ok": what was checked works."""
    return CheckVerdict("ok", detail)


def warning(detail: str, hint: str) -> CheckVerdict:
    """Return the verdict "warning", with a hint: what was checked works, but not as well as possible."""
    return CheckVerdict("warn", detail, hint)


def failure(detail: str, hint: str) -> CheckVerdict:
    """Return the verdict "failure", with a hint: what was checked does not work."""
    return CheckVerdict("FAIL", detail, hint)

"""Run all checks, for the command and for the server."""

from elt_llm_core.errors import EltError

from elt_llm_api.doctor import data, installation, model_servers
from elt_llm_api.doctor.check import Check, CheckVerdict, DoctorFacts, failure
from elt_llm_api.doctor.configuration import READER_CHECKS, SERVER_CHECKS, SETTINGS_CHECKS


def examine(facts: DoctorFacts) -> dict[str, CheckVerdict]:
    """Run every check. Return the verdicts by the names of the checks, in the order of the output."""
    checks = {**installation.CHECKS, **READER_CHECKS, **SETTINGS_CHECKS}
    checks |= {**model_servers.CHECKS, **data.CHECKS, **SERVER_CHECKS}
    return {name: _verdict(check, facts) for name, check in checks.items()}


def _verdict(check: Check, facts: DoctorFacts) -> CheckVerdict:
    """Run the check. An exception is reported as a failure of this check, and the other checks still run."""
    try:
        return check(facts)
    except EltError as error:
        return failure(str(error), error.hint)
    except OSError as error:
        return failure(f"{error.filename or ''} {error.strerror or error}".strip(), "Check its permissions")

"""Run all checks, for the command and for the server."""

from itertools import chain

from elt_llm_api.doctor import data, model_servers
from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts
from elt_llm_api.doctor.configuration import READER_CHECKS, SERVER_CHECKS, SETTINGS_CHECKS
from elt_llm_api.doctor.installation import LIBRARY_CHECKS, MACHINE_CHECKS

_GROUPS = (
    *(MACHINE_CHECKS, LIBRARY_CHECKS, READER_CHECKS, SETTINGS_CHECKS),
    *(model_servers.CHECKS, data.CHECKS, SERVER_CHECKS),
)


def examine(facts: DoctorFacts) -> dict[str, CheckVerdict]:
    """Run every check and return its verdict by its name, in the order of the output."""
    return {check.name: check.verdict(facts) for check in chain.from_iterable(_GROUPS)}

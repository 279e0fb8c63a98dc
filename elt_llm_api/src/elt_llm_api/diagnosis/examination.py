"""All checks together, for the command and for the server alike."""

from elt_llm_api.diagnosis import configuration, data, installation, machine, model_servers, reading, serving
from elt_llm_api.diagnosis.check import Facts, Verdict

_GROUPS = (machine, installation, reading, configuration, model_servers, data, serving)


def examine(facts: Facts) -> dict[str, Verdict]:
    """The verdict of each check by its name, in the order they are shown."""
    return {check.name: check.verdict(facts) for group in _GROUPS for check in group.CHECKS}

"""`elt-llm coverage`: show how well the texts cover each entity, and what is missing on either side."""

from elt_llm_api.job_commands import job_command

command = job_command("coverage", "Show how well the texts cover each entity, and what is missing on either side.")

"""`elt-llm handbook`: draw up entities and relationships from the texts alone."""

from elt_llm_api.job_commands import job_command

command = job_command("handbook", "Draw up entities and relationships from the texts alone.")

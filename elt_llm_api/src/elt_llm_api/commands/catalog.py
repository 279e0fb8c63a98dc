"""`elt-llm catalog`: describe every entity of the model from texts, model and inventory."""

from elt_llm_api.job_commands import job_command

command = job_command("catalog", "Describe every entity of the model from texts, model and inventory.")

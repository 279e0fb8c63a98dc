"""`elt-llm glossary`: collect every term that the texts define, with its definition."""

from elt_llm_api.job_commands import job_command

command = job_command("glossary", "Collect every term that the texts define, with its definition.")

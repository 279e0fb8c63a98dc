"""`elt-llm handbook`: draw up entities and relationships from the texts alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.job_commands import job_command

if TYPE_CHECKING:
    from elt_llm_consumer.job_file import JobFile

_TOPICS = click.option(
    "--topics",
    multiple=True,
    metavar="WORDS",
    help="Show only what the texts say in sections and sentences about these words; may be repeated.",
)


def _narrowed(file: "JobFile", given: dict[str, Any]) -> "JobFile":
    """The job with the topics of the command line in place of its own."""
    topics: tuple[str, ...] = given["topics"]
    if not topics:
        return file
    section = file.spec.handbook.model_copy(update={"topics": topics})
    return replace(file, spec=file.spec.model_copy(update={"handbook": section}))


command = job_command(
    "handbook",
    "Draw up entities and relationships from the texts alone.",
    options=(_TOPICS,),
    narrow=_narrowed,
    with_gold=False,
)

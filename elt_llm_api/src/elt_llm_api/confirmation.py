"""Asking before something is deleted for good."""

import sys

import click
from elt_llm_core.errors import UsageError


def confirm(question: str, *, as_json: bool) -> None:
    """Raises UsageError unless somebody says yes; a program cannot be asked."""
    try:
        agreed = not as_json and click.confirm(question, err=True)
    except click.Abort as end:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)  # the question stands on the line still
        raise UsageError("Nothing was deleted: nobody answered.", hint="Without asking: add --yes") from end
    if not agreed:
        raise UsageError("Nothing was deleted.", hint="Without asking: add --yes")

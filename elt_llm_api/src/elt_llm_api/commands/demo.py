"""`elt-llm demo`: ingest the bundled samples and answer a question, with citations."""

from pathlib import Path

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.commands.ingest import print_report, run_ingest
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json

COLLECTION = "demo"
QUESTION = "How many days does a club have to lodge an appeal, and what does it cost?"


@click.command()
@json_option
@pass_command_context
def command(context: CommandContext, as_json: bool) -> int:
    """Ingest the samples into the collection 'demo' and answer a question from them.

    Nothing is fetched: the embedding model came with the installation, and the answer quotes the documents unless
    llm.provider names a model. A second run finds nothing changed.
    """
    from elt_llm_api.render_answer import answer_lines

    folder = samples_folder()
    report = run_ingest(context, COLLECTION, (folder,), command_line="elt-llm demo", quiet=as_json)
    if not as_json:
        print_report(report)
        click.echo(f'\n$ elt-llm ask "{QUESTION}" -c {COLLECTION}\n')
    with open_asked(context, (COLLECTION,), None, looks_for_model=False) as engine:
        result = engine.ask(QUESTION)
    if as_json:
        print_json({"ingest": report.to_json(), "result": result.model_dump(mode="json")})
        return report.exit_code
    for line in answer_lines(result):
        click.echo(line)
    click.echo(f'\nNow ask your own: elt-llm ask "..." -c {COLLECTION}')
    return report.exit_code


def samples_folder() -> Path:
    """The sample documents: in the workspace, or carried by the installed package. Raises UsageError if neither."""
    here = Path(__file__).resolve()
    candidates = (here.parents[1] / "samples", here.parents[4] / "samples" / "documents")
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise UsageError("The samples are not part of this installation.", hint="Run the demo from a clone of the project.")

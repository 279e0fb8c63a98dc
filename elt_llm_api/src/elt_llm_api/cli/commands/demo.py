"""`elt-llm demo`: ingest the bundled samples and answer a question, with citations."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.commands.ask import open_engine_for
from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.cli.render.ingest import reports_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import print_json
from elt_llm_api.sample_files import DOCUMENTS, GOLD, INVENTORY, JOB_DOCUMENTS, MODEL, sample

if TYPE_CHECKING:
    from elt_llm_ingest.jobs.runner import JobReport
    from elt_llm_ingest.run.report import IngestReport

COLLECTION = "demo"
QUESTION = "How many days does a club have to lodge an appeal, and what does it cost?"
JOB_COLLECTIONS = {"demo_rules": JOB_DOCUMENTS, "demo_model": MODEL, "demo_inventory": INVENTORY}


@json_command
@click.option("--jobs", is_flag=True, help="Also ingest what the jobs of elt-llm init --examples read.")
def command(context: CommandContext, jobs: bool, as_json: bool) -> int:
    """Ingest the samples into the collection 'demo' and answer a question from them.

    Nothing is downloaded: the embedding model is part of the installation, and the answer quotes the documents unless
    llm.provider names a model. --jobs also fills the collections demo_rules, demo_model and demo_inventory.
    """
    from elt_llm_api.cli.render.answers import answer_lines

    report, *others = [
        _ingest(context, name, sample(part), quiet=as_json)
        for name, part in {COLLECTION: DOCUMENTS, **(JOB_COLLECTIONS if jobs else {})}.items()
    ]
    if not as_json:
        click.echo(f'\n$ {context.program} ask "{QUESTION}" -c {COLLECTION}\n')
    with open_engine_for(context, (COLLECTION,), None, looks_for_model=False) as engine:
        result = engine.ask(QUESTION)
    if as_json:
        jobs_json = {"jobs": [other.to_json() for other in others]} if jobs else {}
        print_json({"ingest": report.to_json(), **jobs_json, "result": result.model_dump(mode="json")})
        return max(it.exit_code for it in (report, *others))
    for line in answer_lines(result):
        click.echo(line)
    click.echo(f'\nNow ask your own: {context.program} ask "..." -c {COLLECTION}')
    if jobs:
        has_jobs = (context.load().project / "config" / "consumer" / "glossary.yaml").is_file()
        first = "" if has_jobs else f", after {context.program} init --examples"
        click.echo(f"Now run a job{first}: {context.program} glossary --job glossary --gold {sample(GOLD)}")
    return max(it.exit_code for it in (report, *others))


def _ingest(context: CommandContext, collection: str, path: Path, *, quiet: bool) -> "IngestReport | JobReport":
    from elt_llm_ingest.session import CollectionTask, IngestSession

    with IngestSession(CollectionTask(collection, (path,)), context.load(), {}, "elt-llm demo") as session:
        reports = session.run(lambda: progress_display(quiet=quiet))
    for line in () if quiet else reports_lines(reports):
        click.echo(line)
    return reports[0]

"""`elt-llm eval --answers`: how often the right page is cited, and how often what has no answer is refused."""

from pathlib import Path

import click

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.options import CommandContext
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import aligned, print_json


def print_answers(
    context: CommandContext, file: Path, collection: str, profiles: tuple[str, ...], *, as_json: bool
) -> int:
    """Measure answers on labelled questions."""
    from elt_llm_core.text.stems import KeywordTokeniser
    from elt_llm_query.evaluate.answers import measure_answers
    from elt_llm_query.evaluate.questions import read_questions

    questions = read_questions(file)
    with (
        open_asked(context, (collection,), profiles[0] if profiles else None) as engine,
        progress_display(quiet=as_json) as progress,
    ):
        report = measure_answers(questions, engine.ask, KeywordTokeniser(), progress)
    if as_json:
        print_json(report.to_json())
        return 0
    figures = [
        (f"{len(report.judged)} questions", f"{report.answerable} answerable"),
        ("a right page is cited", f"{report.right_page_cited:.1%} of the answerable"),
        ("and it is not refused", f"{report.answered_from_right_page:.1%}"),
        ("and every right page is", f"{report.answered_from_every_page:.1%}"),
        ("wrongly refused", f"{report.wrongly_refused:.1%} of the answerable"),
        *((f"refused: {kind}", f"{share:.1%}") for kind, share in report.refused.items()),
        ("question words in the gold", f"{report.overlap:.1%} (median)"),
    ]
    for line in aligned(figures):
        click.echo(line)
    return 0

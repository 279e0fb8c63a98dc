"""The tab Inspect: how a question was answered, and what other settings would find."""

from collections.abc import Sequence
from typing import Any

import click
import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult

from elt_llm_api.explain.lines import explanation_lines
from elt_llm_api.serve.actions.asking import LONGEST_QUESTION, Asking, AskRequest
from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import answer_markdown, failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.choices import collection_choices, profile_choices
from elt_llm_api.serve.ui.handlers import TIMED
from elt_llm_api.serve.ui.lab import Lab
from elt_llm_api.serve.ui.trace_tables import near_miss_table, passage_table, stage_table

_WIDTH = 150  # columns of the text


def build(services: Services) -> None:
    """Lay out the tab and say what its controls do."""
    with gr.Row():
        question = gr.Textbox(
            label="Question to inspect",
            placeholder="Type a question and press Enter.",
            max_length=LONGEST_QUESTION,
            scale=3,
            elem_id="inspected",
        )
        collections = gr.Dropdown([], multiselect=True, label="Collections to look in", scale=2)
        profile = gr.Dropdown(["default"], value="default", label="Profile to ask with", scale=1)
    explain = gr.Button("Explain", variant="primary", elem_id="explain")
    answer = gr.Markdown("", latex_delimiters=[], elem_id="explained")
    parts = {}
    for name, title, is_open in _PARTS:
        with gr.Accordion(title, open=is_open, elem_id=f"trace-{name}"):
            parts[name] = gr.Markdown("", latex_delimiters=[], elem_classes="trace")
    lab = Lab(services, question, collections)
    explained = Explained(services)
    gr.on(
        [question.submit, explain.click],
        explained.explain,
        [question, collections, profile],
        [answer, *parts.values()],
        **TIMED,
    )
    gr.on(None, explained.choices, None, [collections, profile, *lab.profiles], **TIMED)
    lab.wire()


_PARTS = (
    ("passages", "Every passage, with its ranks and scores", True),
    ("near", "Nearly read", True),
    ("stages", "Stages, and what each took", True),
    ("text", "All of it as text", False),
)


class Explained:
    """Asks with the trace explained, and renders it."""

    def __init__(self, services: Services) -> None:
        self._services, self._asking = services, Asking(services)

    def choices(self, request: gr.Request) -> list[Any]:
        """What this caller can choose from, when the page is opened."""
        profiles = gr.update(choices=profile_choices(self._services))
        return [gr.update(choices=collection_choices(self._services, principal_of(request))), *([profiles] * 3)]

    async def explain(
        self, question: str, collections: Sequence[str], profile: str, request: gr.Request
    ) -> tuple[str, str, str, str, str]:
        """The answer and its trace: passages, near misses, stages, and all of it as text."""
        if not question.strip():
            return "Type a question first.", "", "", "", ""
        asked = AskRequest(
            question=question.strip(), collections=tuple(collections or ()), profile=profile, explain=True
        )
        try:
            return trace_parts(await self._asking.ask(principal_of(request), asked))
        except EltError as error:
            return failure_markdown(error), "", "", "", ""


def trace_parts(result: QueryResult) -> tuple[str, str, str, str, str]:
    """Markdown of the answer, of the tables, and of the trace as it is told in a terminal."""
    stages = result.trace.stages
    lines = click.unstyle("\n".join(explanation_lines(stages, _WIDTH))).strip()
    text = "<br>".join(as_text(line).replace(" ", "&nbsp;") for line in lines.splitlines())
    answer = answer_markdown(result)
    return (
        answer,
        passage_table(stages),
        near_miss_table(stages),
        stage_table(stages),
        f'<div class="told">{text}</div>',
    )

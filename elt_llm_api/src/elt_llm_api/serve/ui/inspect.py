"""The tab Inspect: the trace of a question as tables, and a laboratory that compares two sets of search settings."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_args

import click
import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult, TraceStage
from elt_llm_core.settings.tree import Profile, QuerySettings, Settings
from elt_llm_core.text.outline import page_label
from elt_llm_query.retrieve.trace import REASONS, FuseDetails, RetrieveDetails, last_ranking, left_out_by_reason
from elt_llm_query.search import SearchResult
from markupsafe import Markup

from elt_llm_api.display.explain import (
    ChunkKey,
    ChunkNames,
    explanation_lines,
    fact_lines,
    near_miss_table,
    retriever_hits,
)
from elt_llm_api.display.text import TableColumn, figure_columns, format_figure
from elt_llm_api.serve.actions.profiles import ProfileActions, SearchTrial, apply_changes
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, AskRequest, QuestionActions, SearchRequest
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.ui.controls import (
    QUIET_EVENT,
    TIMED_EVENT,
    PageContext,
    html_area,
    principal_of_event,
    profile_choices,
)
from elt_llm_api.serve.ui.markup import answer_markdown, failure_markdown, fill_template, flatten_lines, html_table
from elt_llm_api.serve.ui.texts import Texts

SIDES = ("A", "B")
_SETTINGS = (
    "dense_weight",
    "rerank_weight",
    "retriever_top_k",
    "similarity_top_k",
    "reranker_top_k",
    "fusion",
    "use_reranker",
    "reranker_strategy",
    "use_mmr",
    "mmr_threshold",
)
_MAXIMA = {"retriever_top_k": 200, "similarity_top_k": 50, "reranker_top_k": 50}
_EXCERPT_WIDTH = 90  # characters of a chunk


def _control_values(profile: Profile, settings: Settings) -> dict[str, Any]:
    """Return the value that each setting has in a profile."""
    query = profile.apply_to(settings).query
    return {key: getattr(query, key) for key in _SETTINGS}


def _build_control(key: str, side: str, texts: Texts) -> Any:
    default, choices = getattr(QuerySettings(), key), get_args(QuerySettings.model_fields[key].annotation)
    labels: dict[str, Any] = {"label": f"{side}: {texts(f'setting.{key}')}", "elem_id": f"{side.lower()}-{key}"}
    if choices:
        return gr.Dropdown(list(choices), value=default, **labels)
    if isinstance(default, bool):
        return gr.Checkbox(default, **labels)
    if key in _MAXIMA:
        return gr.Slider(1, _MAXIMA[key], value=default, step=1, **labels)
    return gr.Slider(0.0, 1.0, value=default, step=0.05, **labels)


def search_comparison_html(first: SearchResult, second: SearchResult, texts: Texts) -> str:
    """Return the results of settings A and B, and how many chunks they share. A sign marks each shared chunk."""
    ranks = [
        {(chunk.collection, chunk.node_id): rank for rank, chunk in enumerate(one.chunks, start=1)}
        for one in (first, second)
    ]
    shared, union = len(ranks[0].keys() & ranks[1].keys()), len(ranks[0].keys() | ranks[1].keys())
    share = texts("inspect.of_all", share=f"{shared / union:.0%}") if union else ""
    times = texts("inspect.and").join(
        texts.figure(f"{sum(stage.took_ms for stage in one.stages):,.0f} ms") for one in (first, second)
    )
    tables = _result_table("A", first, ranks[1], texts), _result_table("B", second, ranks[0], texts)
    return fill_template("comparison", texts, texts.count("inspect.chunk", shared), share, times, *tables)


def _result_table(name: str, result: SearchResult, other_ranks: dict[tuple[str, str], int], texts: Texts) -> Markup:
    rows = []
    for rank, chunk in enumerate(result.chunks, start=1):
        other = other_ranks.get((chunk.collection, chunk.node_id))
        where = ", ".join(filter(None, [chunk.source, page_label(chunk.source, chunk.page, chunk.section)]))
        excerpt = flatten_lines(chunk.text[: 2 * _EXCERPT_WIDTH])[:_EXCERPT_WIDTH]
        sign = "○" if other is None else f"● {other}."
        rows.append([str(rank), sign, texts.figure(format_figure(chunk.score)), f"{where}: {excerpt}"])
    columns = [*figure_columns(""), *_columns(texts, "in_both"), *_figures(texts, "score"), *_columns(texts, "chunk")]
    table = html_table(columns, rows, caption=f"{name}: {texts.count('inspect.chunk', len(rows))}")
    return Markup(table)  # noqa: S704 - escaped


class SearchLab:
    """Two sets of search settings, their comparison, and a form that saves one set as a profile."""

    def __init__(self, page: PageContext, question: gr.Textbox, collections: gr.Dropdown) -> None:
        self._services, self._texts = page.services, page.texts
        self._trial, self._saved = SearchTrial(page.services), ProfileActions(page.services)
        self._question, self._collections = question, collections
        self.profiles: list[gr.Dropdown] = []
        self._controls: list[list[Any]] = []
        t = page.texts
        with gr.Accordion(t("inspect.lab"), open=True, elem_id="lab"):
            gr.Markdown(t("inspect.lab_info"))
            with gr.Row():
                for side in SIDES:
                    with gr.Column(min_width=300, elem_id=f"side-{side.lower()}"):
                        label = t("inspect.start", side=side)
                        self.profiles.append(gr.Dropdown(["default"], value="default", label=label))
                        self._controls.append([_build_control(key, side, t) for key in _SETTINGS])
            self._compare = gr.Button(t("inspect.compare"), variant="primary", elem_id="compare")
            self._compared = html_area("compared")
            with gr.Row(elem_id="save-profile"):
                self._side = gr.Radio(list(SIDES), value="B", label=t("inspect.side"))
                self._name = gr.Textbox(label=t("inspect.name"), max_length=63)
                self._description = gr.Textbox(label=t("inspect.description"), max_length=300)
                self._replace = gr.Checkbox(label=t("inspect.replace"))
            self._save = gr.Button(t("inspect.save"), elem_id="save")
            self._status = html_area("lab-status")
        self._wire()

    def _wire(self) -> None:
        for profile, settings in zip(self.profiles, self._controls, strict=True):
            profile.input(self.choose_profile, [profile], [self._status, *settings], **TIMED_EVENT)
        both = [*self.profiles, *self._controls[0], *self._controls[1]]
        self._compare.click(self.compare, [self._question, self._collections, *both], [self._compared], **TIMED_EVENT)
        form = [self._side, self._name, self._description, self._replace]
        self._save.click(self.save, [*form, *both], [self._status, *self.profiles], **TIMED_EVENT)

    def choose_profile(self, name: str, request: gr.Request) -> list[Any]:
        """Set every control to its value in a profile, or show an error if the profile no longer exists."""
        try:
            profile = self._saved.get(principal_of_event(request), name)
        except EltError as error:
            return [failure_markdown(error, self._texts), *(gr.skip() for _ in _SETTINGS)]
        return ["", *_control_values(profile, self._services.loaded.settings).values()]

    async def compare(self, request: gr.Request, question: str, collections: Sequence[str], *values: Any) -> str:
        """Search with settings A and with settings B, and return the results side by side."""
        if not question.strip():
            return self._texts("inspect.question_above")
        results = []
        try:
            for side in range(len(SIDES)):
                asked = SearchRequest(
                    question=question.strip(), collections=tuple(collections or ()), profile=values[side], top_k=None
                )
                keys = self._profile_keys(side, values, request)
                results.append(await self._trial.search(principal_of_event(request), asked, keys))
        except EltError as error:
            return failure_markdown(error, self._texts)
        return search_comparison_html(results[0], results[1], self._texts)

    async def save(
        self, request: gr.Request, side: str, name: str, description: str, replace: bool, *values: Any
    ) -> list[Any]:
        """Save the settings of side A or B as a profile."""
        principal = principal_of_event(request)
        try:
            keys = {**self._profile_keys(SIDES.index(side), values, request), "description": description.strip()}
            path = await asyncio.to_thread(self._saved.save, principal, name.strip(), keys, replace=replace)
        except EltError as error:
            return [failure_markdown(error, self._texts), gr.skip(), gr.skip()]
        choices = gr.update(choices=profile_choices(self._services))
        status = escape_html(self._texts("inspect.saved", name=path.name))
        return [status, choices, choices]

    def _profile_keys(self, side: int, values: Sequence[Any], request: gr.Request) -> dict[str, Any]:
        """Return the keys of the profile on a side (A or B of the comparison), updated by the settings chosen there.

        `values` are the profile names of A and B, then all settings of A, then all settings of B.
        """
        profile = self._saved.get(principal_of_event(request), values[side])
        start, fields = len(SIDES) + side * len(_SETTINGS), QuerySettings.model_fields
        chosen = {  # sliders return integers as floats
            key: int(value) if fields[key].annotation is int else value
            for key, value in zip(_SETTINGS, values[start : start + len(_SETTINGS)], strict=True)
        }
        return apply_changes(profile, chosen, _control_values(profile, self._services.loaded.settings))


MOST_ROWS = 400
"""Number of chunks that a table lists; the trace as JSON lists all chunks."""
_UNLIMITED_WIDTH = 400  # columns; enough that no line is cut
_TEXT_WIDTH = 150  # columns for the trace as text
_TRACE_PARTS = (("chunks", True), ("near", True), ("stages", True), ("text", False))


def stage_table(stages: Sequence[TraceStage], texts: Texts) -> str:
    """Return a table of the stages in order, with duration, numbers of kept and dropped chunks, and details."""
    rows = []
    for stage in stages:
        dropped = left_out_by_reason(stage).values()
        figures = [
            format_figure(stage.took_ms, 1),
            format_figure(stage.kept),
            format_figure(sum(map(len, dropped)) or None, missing=""),
        ]
        name = texts.find(f"trace.{stage.name}", stage.name)
        rows.append([name, *map(texts.figure, figures), _stage_text(stage)])
    total = texts.figure(format_figure(sum(stage.took_ms for stage in stages), 1))
    rows.append([texts("column.total"), total, "", "", ""])
    columns = [*_columns(texts, "stage"), *_figures(texts, "ms", "kept", "dropped"), *_columns(texts, "details")]
    return html_table(columns, rows)


def _columns(texts: Texts, *names: str) -> list[TableColumn]:
    return [TableColumn(texts(f"column.{name}")) for name in names]


def _figures(texts: Texts, *names: str) -> list[TableColumn]:
    return figure_columns(*(texts(f"column.{name}") for name in names))


def _stage_text(stage: TraceStage) -> str:
    if stage.name == "explain":
        return ""
    details = {name: value for name, value in stage.details.items() if name not in REASONS}
    return "; ".join(flatten_lines(line) for line in fact_lines(details, _UNLIMITED_WIDTH)).replace(" in --json", "")


def chunk_table(stages: Sequence[TraceStage], texts: Texts) -> str:
    """Return a table of all candidates by descending score, with ranks and scores of both retrievers."""
    names, retrieve = ChunkNames(stages), RetrieveDetails.last(stages)
    dense = {key: (rank, score) for key, rank, score in retriever_hits(retrieve, "dense")}
    keyword = {key: (rank, score) for key, rank, score in retriever_hits(retrieve, "keyword")}
    fused: dict[ChunkKey, float] = {
        (collection, node_id): score
        for collection, chunks in FuseDetails.last(stages).collections.items()
        for node_id, score in chunks
    }
    last = last_ranking(stages)
    final: dict[ChunkKey, float] = {
        (parts["collection"], node_id): score
        for (node_id, parts), (_, score) in zip(last.parts, last.ranking, strict=True)
    }
    keys = dict.fromkeys([*final, *fused, *dense, *keyword])
    ordered = sorted(keys, key=lambda key: (-(final.get(key) or 0.0), -(fused.get(key) or 0.0), key))
    rows = []
    for key in ordered[:MOST_ROWS]:
        figures = [final.get(key), *dense.get(key, (None, None)), *keyword.get(key, (None, None))]
        rows.append(
            [
                names.place(*key).replace("-", ""),
                *(texts.figure(format_figure(value, missing="")) for value in figures),
                texts.figure(format_figure(fused.get(key), 4, missing="")),
                _outcome(str(names.details(*key).get("outcome", "")), texts),
                names.words(*key),
                names.name(*key),
            ]
        )
    figures = _figures(texts, "read_as", "score", "vector_rank", "cosine", "keyword_rank", "bm25", "fused")
    return html_table([*figures, *_columns(texts, "outcome", "matched", "chunk")], rows, tall=True)


def near_miss_html(stages: Sequence[TraceStage], texts: Texts) -> str:
    """Return a table of the best chunks that were left out, with the reason and by how much the score was too low."""
    rows = [
        [texts.figure(score), texts.figure(lacked), _outcome(reason, texts), *others]
        for score, lacked, reason, *others in near_miss_table(stages)[1]
    ]
    return html_table([*_figures(texts, "score", "lacked"), *_columns(texts, "reason", "matched", "chunk")], rows)


def _outcome(reason: str, texts: Texts) -> str:
    return texts.find(f"trace.{reason}", reason)


def trace_parts(result: QueryResult, texts: Texts) -> tuple[str, str, str, str, str]:
    """Return the answer, the tables of its trace, and the trace as a terminal shows it."""
    stages = result.trace.stages
    lines = click.unstyle("\n".join(explanation_lines(stages, _TEXT_WIDTH))).strip()
    text = "<br>".join(escape_html(line).replace(" ", "&nbsp;") for line in lines.splitlines())
    tables = chunk_table(stages, texts), near_miss_html(stages, texts), stage_table(stages, texts)
    return answer_markdown(result, texts), *tables, f'<div class="trace-text">{text}</div>'


class InspectTab:
    """The controls of the tab Inspect, and their event handlers."""

    def __init__(self, page: PageContext) -> None:
        self._services, self._texts, self._questions = page.services, page.texts, QuestionActions(page.services)
        t = page.texts
        with gr.Row():
            question = gr.Textbox(
                label=t("inspect.question"), placeholder=t("inspect.question_placeholder"), scale=3,
                min_width=320, max_length=LONGEST_QUESTION, elem_id="inspected",
            )  # fmt: skip
            collections = gr.Dropdown(
                [], multiselect=True, label=t("inspect.collections"), info=t("inspect.collections_info"), scale=2,
                min_width=240,
            )  # fmt: skip
            profile = gr.Dropdown(["default"], value="default", label=t("inspect.profile"), scale=1)
        explain = gr.Button(t("inspect.explain"), variant="primary", elem_id="explain")
        outputs = [html_area("explained")]
        for name, is_open in _TRACE_PARTS:
            with gr.Accordion(t(f"inspect.{name}"), open=is_open, elem_id=f"trace-{name}"):
                outputs.append(html_area(elem_classes="trace"))
        lab = SearchLab(page, question, collections)
        asked = [question, collections, profile]
        gr.on([question.submit, explain.click], self.explain, asked, outputs, **TIMED_EVENT)
        gr.on(None, self.profiles, None, [profile, *lab.profiles], **QUIET_EVENT)
        names = self._services.readable_names
        page.pickers.add(collections, lambda principal: gr.update(choices=names(principal)))

    def profiles(self) -> list[Any]:
        """Return the profiles to choose from, when the page is opened."""
        return [gr.update(choices=profile_choices(self._services))] * 3

    async def explain(
        self, question: str, collections: Sequence[str], profile: str, request: gr.Request
    ) -> tuple[str, str, str, str, str]:
        """Return the answer and its trace: chunks, near misses, stages, and the complete trace as text."""
        if not question.strip():
            return self._texts("ask.empty"), "", "", "", ""
        asked = AskRequest(
            question=question.strip(), collections=tuple(collections or ()), profile=profile, explain=True
        )
        try:
            return trace_parts(await self._questions.ask(principal_of_event(request), asked), self._texts)
        except EltError as error:
            return failure_markdown(error, self._texts), "", "", "", ""

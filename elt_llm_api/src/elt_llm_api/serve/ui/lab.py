"""The laboratory of the tab Inspect: compare two sets of search settings side by side, and save one as a profile."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.settings.tree import Profile, QuerySettings, Settings

from elt_llm_api.display.text import TableColumn, count_noun, figure_columns, format_figure
from elt_llm_api.serve.actions.profiles import ProfileActions, SearchTrial, apply_changes
from elt_llm_api.serve.actions.questions import SearchRequest
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import TIMED_EVENT, html_area, principal_of_event
from elt_llm_api.serve.ui.markup import failure_markdown, flatten_lines, html_table

if TYPE_CHECKING:
    from elt_llm_query.search import SearchResult

SIDES = ("A", "B")
_LABELS = {
    "dense_weight": "Weight of vectors (dense_weight)",
    "rerank_weight": "Weight of the reranker (rerank_weight)",
    "retriever_top_k": "Candidates of each retriever (retriever_top_k)",
    "similarity_top_k": "Chunks kept without reranking (similarity_top_k)",
    "reranker_top_k": "Chunks kept after reranking (reranker_top_k)",
    "fusion": "Fusion",
    "use_reranker": "Rerank (use_reranker)",
    "reranker_strategy": "Reranker",
    "use_mmr": "Prefer diverse chunks (use_mmr)",
    "mmr_threshold": "Relevance over diversity (mmr_threshold)",
}
_MAXIMA = {"retriever_top_k": 200, "similarity_top_k": 50, "reranker_top_k": 50}
_EXCERPT_WIDTH = 90  # characters of a chunk


def _control_values(profile: Profile, settings: Settings) -> dict[str, Any]:
    """The value of each setting under a profile."""
    query = profile.apply_to(settings).query
    return {key: getattr(query, key) for key in _LABELS}


def _build_control(key: str, side: str) -> Any:
    default, choices = getattr(QuerySettings(), key), get_args(QuerySettings.model_fields[key].annotation)
    labels: dict[str, Any] = {"label": f"{side}: {_LABELS[key]}", "elem_id": f"{side.lower()}-{key}"}
    if choices:
        return gr.Dropdown(list(choices), value=default, **labels)
    if isinstance(default, bool):
        return gr.Checkbox(default, **labels)
    if key in _MAXIMA:
        return gr.Slider(1, _MAXIMA[key], value=default, step=1, **labels)
    return gr.Slider(0.0, 1.0, value=default, step=0.05, **labels)


def search_comparison_html(first: "SearchResult", second: "SearchResult") -> str:
    """Both lists, each chunk with a sign for whether both have it, after the number of shared chunks."""
    ranks = [
        {(chunk.collection, chunk.node_id): rank for rank, chunk in enumerate(one.chunks, start=1)}
        for one in (first, second)
    ]
    shared, union = len(ranks[0].keys() & ranks[1].keys()), len(ranks[0].keys() | ranks[1].keys())
    share = f" ({shared / union:.0%} of all)" if union else ""
    times = " and ".join(f"{sum(stage.took_ms for stage in one.stages):,.0f} ms" for one in (first, second))
    found = f"<p><b>{count_noun(shared, 'chunk')} found by both</b>{share}. A and B took {times}.</p>"
    key = "<p>● found by both, with its rank on the other side; ○ found on this side only</p>"
    tables = _result_table("A", first, ranks[1]), _result_table("B", second, ranks[0])
    return f'{found}{key}<div class="both"><div>{tables[0]}</div><div>{tables[1]}</div></div>'


def _result_table(name: str, result: "SearchResult", other_ranks: dict[tuple[str, str], int]) -> str:
    rows = []
    for rank, chunk in enumerate(result.chunks, start=1):
        other = other_ranks.get((chunk.collection, chunk.node_id))
        page = f" p. {chunk.page}" if chunk.page else ""
        excerpt = flatten_lines(chunk.text[: 2 * _EXCERPT_WIDTH])[:_EXCERPT_WIDTH]
        sign = "○" if other is None else f"● {other}."
        rows.append([str(rank), sign, format_figure(chunk.score), f"{chunk.source}{page}: {excerpt}"])
    columns = [*figure_columns(""), TableColumn("in both"), *figure_columns("score"), TableColumn("chunk")]
    return html_table(columns, rows, caption=f"{name}: {count_noun(len(rows), 'chunk')}")


class SearchLab:
    """Two sets of controls for the question of the tab, a comparison, and a form to save one set as a profile."""

    def __init__(self, services: Services, question: gr.Textbox, collections: gr.Dropdown) -> None:
        self._services, self._trial, self._saved = services, SearchTrial(services), ProfileActions(services)
        self._question, self._collections = question, collections
        self.profiles: list[gr.Dropdown] = []
        self._controls: list[list[Any]] = []
        with gr.Accordion("Laboratory: compare two sets of search settings", open=True, elem_id="lab"):
            gr.Markdown("Searches for the question above with both sets; nothing is saved unless you save it below.")
            with gr.Row():
                for side in SIDES:
                    with gr.Column(min_width=300, elem_id=f"side-{side.lower()}"):
                        label = f"{side}: start with the profile"
                        self.profiles.append(gr.Dropdown(["default"], value="default", label=label))
                        self._controls.append([_build_control(key, side) for key in _LABELS])
            self._compare = gr.Button("Compare A and B", variant="primary", elem_id="compare")
            self._compared = html_area("compared")
            with gr.Row(elem_id="save-profile"):
                self._side = gr.Radio(list(SIDES), value="B", label="Side to save")
                self._name = gr.Textbox(label="Name of the profile", max_length=63)
                self._description = gr.Textbox(label="Description", max_length=300)
                self._replace = gr.Checkbox(label="Replace a profile of that name")
            self._save = gr.Button("Save as a profile", elem_id="save")
            self._status = html_area("lab-status")

    def wire(self) -> None:
        """Connect the controls with their handlers."""
        for profile, controls in zip(self.profiles, self._controls, strict=True):
            profile.input(self.choose_profile, [profile], [self._status, *controls], **TIMED_EVENT)
        both = [*self.profiles, *self._controls[0], *self._controls[1]]
        self._compare.click(self.compare, [self._question, self._collections, *both], [self._compared], **TIMED_EVENT)
        form = [self._side, self._name, self._description, self._replace]
        self._save.click(self.save, [*form, *both], [self._status, *self.profiles], **TIMED_EVENT)

    def choose_profile(self, name: str, request: gr.Request) -> list[Any]:
        """Set every control to the value under a profile; an error if the profile no longer exists."""
        try:
            profile = self._saved.get(principal_of_event(request), name)
        except EltError as error:
            return [failure_markdown(error), *(gr.skip() for _ in _LABELS)]
        return ["", *_control_values(profile, self._services.loaded.settings).values()]

    async def compare(self, request: gr.Request, question: str, collections: Sequence[str], *values: Any) -> str:
        """The results of both sides, and how many chunks they share."""
        if not question.strip():
            return "Type a question above first."
        results = []
        try:
            for side in range(len(SIDES)):
                asked = SearchRequest(
                    question=question.strip(), collections=tuple(collections or ()), profile=values[side], top_k=None
                )
                keys = self._profile_keys(side, values, request)
                results.append(await self._trial.search(principal_of_event(request), asked, keys))
        except EltError as error:
            return failure_markdown(error)
        return search_comparison_html(*results)

    async def save(
        self, request: gr.Request, side: str, name: str, description: str, replace: bool, *values: Any
    ) -> list[Any]:
        """Save one side as a profile."""
        principal = principal_of_event(request)
        try:
            keys = {**self._profile_keys(SIDES.index(side), values, request), "description": description.strip()}
            path = await asyncio.to_thread(self._saved.save, principal, name.strip(), keys, replace=replace)
        except EltError as error:
            return [failure_markdown(error), gr.skip(), gr.skip()]
        choices = gr.update(choices=[one.name for one in self._saved.all()])
        status = escape_html(f"Saved as config/profiles/{path.name}. Everybody can choose it now.")
        return [status, choices, choices]

    def _profile_keys(self, side: int, values: Sequence[Any], request: gr.Request) -> dict[str, Any]:
        """The profile of a side as keys; `values` are two profile names, then the controls of both sides."""
        profile = self._saved.get(principal_of_event(request), values[side])
        start, fields = len(SIDES) + side * len(_LABELS), QuerySettings.model_fields
        chosen = {  # sliders return whole numbers as floats
            key: int(value) if fields[key].annotation is int else value
            for key, value in zip(_LABELS, values[start : start + len(_LABELS)], strict=True)
        }
        return apply_changes(profile, chosen, _control_values(profile, self._services.loaded.settings))

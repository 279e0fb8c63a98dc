"""The laboratory: one question searched for in two ways, side by side; a way that is better becomes a profile."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr
from elt_llm_core.errors import EltError

from elt_llm_api.serve.actions.asking import SearchRequest
from elt_llm_api.serve.actions.profiles import Profiles
from elt_llm_api.serve.actions.trying import Trying, with_changes
from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.comparison import comparison_html
from elt_llm_api.serve.ui.handlers import TIMED
from elt_llm_api.serve.ui.knobs import KEYS, build_knobs, settings_of, values_of

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found

SIDES = ("A", "B")


class Lab:
    """Two sets of controls over the question of the tab, and the way to save one of them."""

    def __init__(self, services: Services, question: gr.Textbox, collections: gr.Dropdown) -> None:
        self._services, self._trying, self._saved = services, Trying(services), Profiles(services)
        self._question, self._collections = question, collections
        self.profiles: list[gr.Dropdown] = []
        self._knobs: list[list[Any]] = []
        with gr.Accordion("Laboratory: two ways of searching, side by side", open=True, elem_id="lab"):
            gr.Markdown("The question above is searched for in both ways; nothing is saved before you say so.")
            with gr.Row():
                for side in SIDES:
                    self._lay_out(side)
            self._compare = gr.Button("Compare A and B", variant="primary", elem_id="compare")
            self._compared = gr.Markdown("", latex_delimiters=[], elem_id="compared")
            with gr.Row(elem_id="save-profile"):
                self._side = gr.Radio(list(SIDES), value="B", label="Save which")
                self._name = gr.Textbox(label="Name of the profile", max_length=63)
                self._description = gr.Textbox(label="What it is for", max_length=300)
                self._replace = gr.Checkbox(label="Replace one of that name")
            self._save = gr.Button("Save as a profile", elem_id="save")
            self._told = gr.Markdown("", latex_delimiters=[], elem_id="lab-told")

    def wire(self) -> None:
        """Say what the controls do."""
        for profile, knobs in zip(self.profiles, self._knobs, strict=True):
            profile.input(self.turned, [profile], [self._told, *knobs], **TIMED)
        both = [*self.profiles, *self._knobs[0], *self._knobs[1]]
        self._compare.click(self.compare, [self._question, self._collections, *both], [self._compared], **TIMED)
        given = [self._side, self._name, self._description, self._replace]
        self._save.click(self.save, [*given, *both], [self._told, *self.profiles], **TIMED)

    def turned(self, name: str, request: gr.Request) -> list[Any]:
        """Every control as the chosen profile has it; of one that is gone, that it is."""
        try:
            profile = self._saved.get(principal_of(request), name)
        except EltError as error:
            return [failure_markdown(error), *(gr.skip() for _ in KEYS)]
        return ["", *values_of(profile, self._services.loaded.settings).values()]

    async def compare(self, request: gr.Request, question: str, collections: Sequence[str], *values: Any) -> str:
        """What both ways find, and what they share."""
        if not question.strip():
            return "Type a question above first."
        try:
            found = [await self._found(side, question.strip(), collections, values, request) for side in range(2)]
        except EltError as error:
            return failure_markdown(error)
        return comparison_html(found[0], found[1])

    async def save(
        self, request: gr.Request, side: str, name: str, description: str, replace: bool, *values: Any
    ) -> list[Any]:
        """Keep one side as a profile."""
        principal = principal_of(request)
        try:
            given = {**self._given(SIDES.index(side), values, request), "description": description.strip()}
            path = await asyncio.to_thread(self._saved.save, principal, name.strip(), given, replace=replace)
        except EltError as error:
            return [failure_markdown(error), gr.skip(), gr.skip()]
        names = [one.name for one in self._saved.all()]
        said = as_text(f"Saved as config/profiles/{path.name}. Everybody can choose it now.")
        return [said, gr.update(choices=names), gr.update(choices=names)]

    def _lay_out(self, side: str) -> None:
        with gr.Column(min_width=300, elem_id=f"side-{side.lower()}"):
            label = f"{side}: begin with the profile"
            self.profiles.append(gr.Dropdown(["default"], value="default", label=label))
            self._knobs.append(build_knobs(side))

    async def _found(
        self, side: int, question: str, collections: Sequence[str], values: Sequence[Any], request: gr.Request
    ) -> "Found":
        asked = SearchRequest(question=question, collections=tuple(collections or ()), profile=values[side], top_k=None)
        return await self._trying.search(principal_of(request), asked, self._given(side, values, request))

    def _given(self, side: int, values: Sequence[Any], request: gr.Request) -> dict[str, Any]:
        """The keys of the profile that a side stands for; `values` are two names, then the controls of both sides."""
        profile = self._saved.get(principal_of(request), values[side])
        start = len(SIDES) + side * len(KEYS)
        turned = settings_of(values[start : start + len(KEYS)])
        return with_changes(profile, turned, values_of(profile, self._services.loaded.settings))

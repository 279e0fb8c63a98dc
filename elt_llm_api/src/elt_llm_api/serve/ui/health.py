"""The tab Health: whether the server can answer, what it measured over time, what is wrong and what mends it."""

import gradio as gr
from elt_llm_core.errors import EltError

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.health import HealthOf
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.handlers import QUIET
from elt_llm_api.serve.ui.health_page import figures_html, findings_html, plots_html, state_html

_HOURS, _DAYS = "By the hour", "By the day"


def build(services: Services) -> None:
    """Lay out the tab; it is filled when it is opened, and when that is asked for."""
    tab = gr.context.Context.block
    with gr.Row(elem_id="health-buttons"):
        refresh = gr.Button("Refresh", elem_id="health-refresh")
        look = gr.Button("Run the doctor", elem_id="health-doctor")
        by = gr.Radio([_HOURS, _DAYS], value=_HOURS, label="Figures over time", elem_id="health-by")
    state, plots, figures, findings = (
        gr.Markdown("", elem_id=f"health-{name}", latex_delimiters=[])
        for name in ("state", "plots", "figures", "findings")
    )
    told = [state, plots, figures]
    health = _Tab(services)
    refresh.click(health.figures, [by], told, **QUIET)
    by.change(health.figures, [by], told, **QUIET)
    look.click(health.findings, None, [findings], api_visibility="private")
    if isinstance(tab, gr.Tab):
        tab.select(health.figures, [by], told, **QUIET)


class _Tab:
    """What the controls do; the work is done by the action."""

    def __init__(self, services: Services) -> None:
        self._health = HealthOf(services)

    def figures(self, by: str, request: gr.Request) -> tuple[str, str, str]:
        """State, plots and totals as they are now."""
        try:
            return self._figures(by, principal_of(request))
        except EltError as error:
            return failure_markdown(error), "", ""

    def findings(self, request: gr.Request) -> str:
        """What the doctor finds now."""
        try:
            return findings_html(self._health.findings(principal_of(request)))
        except EltError as error:
            return failure_markdown(error)

    def _figures(self, by: str, principal: Principal) -> tuple[str, str, str]:
        monitoring = self._health.monitoring(principal)
        points, what = (monitoring.days, "day") if by == _DAYS else (monitoring.hours, "hour")
        state = state_html(self._health.ready(principal), monitoring, self._health.disk(principal))
        return state, plots_html(points, what), figures_html(monitoring)

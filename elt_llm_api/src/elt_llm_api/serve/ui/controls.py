"""Parts that all tabs share: the caller of an event, event options, areas for HTML, and choices for pickers."""

from typing import Any

import gradio as gr

from elt_llm_api.display.text import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.conversations import ConversationActions
from elt_llm_api.serve.actions.profiles import ProfileActions
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.services import Services

QUIET_EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Options of an event that is short, or that shows its own progress."""
TIMED_EVENT: dict[str, Any] = {**QUIET_EVENT, "show_progress": "minimal"}
"""Options of an event that may take a while: Gradio counts the seconds."""
ComponentUpdates = dict[Any, Any]
"""New values by component."""
LabelledChoice = tuple[str, str]
"""Label and value."""
_MOST_CONVERSATIONS = 100


def principal_of_event(request: gr.Request) -> Principal:
    """The caller of an event, as authenticated by the middleware around the app."""
    scope = request.request.scope  # type: ignore[union-attr]  # it always has one in a handler
    principal: Principal = scope[PRINCIPAL]
    return principal


def html_area(elem_id: str | None = None, value: str = "", **options: Any) -> gr.Markdown:
    """An area for our HTML and Markdown, without formulas."""
    return gr.Markdown(value, elem_id=elem_id, latex_delimiters=[], **options)


def collection_picker(label: str = "Collections", **options: Any) -> gr.Dropdown:
    """A picker of several collections; while it is empty it shows "All collections" (style.css)."""
    shown: dict[str, Any] = {"label": label, "info": "Where to search.", "elem_classes": "all-collections"}
    return gr.Dropdown([], multiselect=True, **shown, **options)


def collection_choices(services: Services, principal: Principal) -> list[str]:
    """The collections that the caller may read."""
    return principal.readable(services.collection_names())


def profile_choices(services: Services) -> list[str]:
    """The names of all profiles, the default first."""
    return [one.name for one in ProfileActions(services).all()]


def profile_description(services: Services, name: str) -> str:
    """The description of a profile; empty if the profile no longer exists."""
    return next((one.description for one in ProfileActions(services).all() if one.name == name), "")


def conversation_choices(services: Services, principal: Principal) -> list[LabelledChoice]:
    """The caller's latest conversations that have a question, the newest first."""
    conversations = ConversationActions(services).all(principal, _MOST_CONVERSATIONS, 0)
    return [(f"{local_time(one.updated_at)}  {one.title}", one.session_id) for one in conversations if one.turns]

"""Who sits before the browser."""

import gradio as gr

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PRINCIPAL


def principal_of(request: gr.Request) -> Principal:
    """The caller that the guard around the app found for a request of the user interface."""
    scope = request.request.scope  # type: ignore[union-attr]  # it always has one in a handler
    principal: Principal = scope[PRINCIPAL]
    return principal

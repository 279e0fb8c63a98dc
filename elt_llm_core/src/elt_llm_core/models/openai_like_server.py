"""A local server that speaks OpenAI's protocol, as the settings describe it."""

import os
from typing import Any

from elt_llm_core.errors import ModelError, SettingsError
from elt_llm_core.models.addresses import checked_address
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.settings import Settings

NO_KEY = "none"  # sent where no key is wanted: the client insists on one


def described_openai_like(settings: Settings, model: str | None, key: str) -> ModelServer:
    """The server of the settings; `key` names the setting of the model.

    Raises SettingsError without a model, and for an address beyond the own network unless that is allowed.
    """
    if not model:
        raise SettingsError(f"{key} is not set", hint=f"Set {key} to the name that the server gives its model")
    chosen = settings.openai_like
    address = checked_address(
        chosen.base_url, "openai_like.base_url", allow_remote=settings.network.allow_remote_models
    )
    return ModelServer(
        name="The model server",
        address=address,
        model=model,
        section="openai_like",
        start=f"Start the server, or correct openai_like.base_url ({address})",
        fetch=f"Load the model '{model}' in the server, or correct {key}",
        answer_timeout=settings.llm.answer_timeout,
        context_window=chosen.context_window,
    )


def key_of(settings: Settings) -> str:
    """The key for the server, from the variable that the settings name. Raises ModelError where that is not set."""
    variable = settings.openai_like.api_key_variable
    if variable is None:
        return NO_KEY
    value = os.environ.get(variable)
    if not value:
        raise ModelError(f"{variable} is not set", hint=f"Set {variable} to the key of your server")
    return value


def openai_client_options(settings: Settings, address: str) -> dict[str, Any]:
    """Options of a client that goes to that address and nowhere else."""
    import httpx

    chosen = settings.openai_like
    timeout = httpx.Timeout(chosen.request_timeout, connect=min(chosen.connect_timeout, chosen.request_timeout))
    return {
        "timeout": timeout,
        "trust_env": False,
        "follow_redirects": False,
        "verify": address.startswith("https"),
    }

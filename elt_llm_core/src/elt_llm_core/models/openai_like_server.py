"""A local server that speaks OpenAI's protocol, as the settings describe it."""

import os
import weakref
from collections.abc import Mapping
from typing import Any

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import ModelError, SettingsError
from elt_llm_core.models.addresses import checked_address
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.server_requests import request_object
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
        key=_told_key(settings),
    )


def key_of(settings: Settings) -> str:
    """The key for the server, from the variable that the settings name; white space around it is no part of it.

    Raises ModelError where it is not set, and for what no header may hold: the client would quote it in its error.
    """
    variable, value = settings.openai_like.api_key_variable, _told_key(settings)
    if variable is None:
        return NO_KEY
    if not value:
        raise ModelError(f"{variable} is not set", hint=f"Set {variable} to the key of your server")
    if not (value.isascii() and value.isprintable()):
        raise ModelError(
            f"{variable} holds a sign that no key has", hint=f"Set {variable} to the key alone, on one line"
        )
    return value


def _told_key(settings: Settings) -> str:
    """What the variable holds; nothing where none is named or set."""
    variable = settings.openai_like.api_key_variable
    return os.environ.get(variable, "").strip() if variable else ""


def openai_client_options(settings: Settings, address: str, *, patience: float | None = None) -> dict[str, Any]:
    """Options of a client that goes to that address and nowhere else: no proxy, no redirection.

    `patience`: seconds between two reads, where it is to be less than openai_like.request_timeout.
    """
    import httpx

    from elt_llm_core.models.bounded_replies import PLAIN

    chosen = settings.openai_like
    waiting = min(patience or chosen.request_timeout, chosen.request_timeout)
    timeout = httpx.Timeout(waiting, connect=min(waiting, chosen.connect_timeout))
    # Without https there is no certificate to check, and reading the list of authorities costs 20 ms a client.
    secure = address.startswith("https")
    return {"timeout": timeout, "trust_env": False, "follow_redirects": False, "verify": secure, "headers": PLAIN}


class OpenAiLikeServer(Closeable):
    """Asks one server; every failure is a ModelError that says what mends it. Needs no client of OpenAI."""

    def __init__(self, settings: Settings, described: ModelServer, *, patience: float | None = None) -> None:
        import httpx

        from elt_llm_core.models.bounded_replies import bounded_for

        self.described = described
        options = openai_client_options(settings, described.address, patience=patience)
        options["headers"] = {**options["headers"], "Authorization": f"Bearer {key_of(settings)}"}
        hooks = {"response": [bounded_for(options["timeout"].read)]}
        self._client = httpx.Client(base_url=described.address, event_hooks=hooks, **options)
        weakref.finalize(self, self._client.close)  # for those who hold it and do not close it

    def close(self) -> None:
        """Lets go of the connections."""
        self._client.close()

    def models(self) -> list[Mapping[str, Any]]:
        """What the server lists of each of its models, `id` among it."""
        listed = self.request("GET", "/models").get("data")
        return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object that the server replies with. Raises a ModelError for anything else."""
        return request_object(self._client, method, path, body, self.described, "Correct openai_like.base_url")

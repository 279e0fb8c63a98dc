"""What a server of Ollama tells of itself: whether it is there, which models it has, how much each reads."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import ModelMissing, SettingsError, UnusableReply
from elt_llm_core.models.addresses import checked_address
from elt_llm_core.models.letting_go import on_its_line
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.server_requests import request_object
from elt_llm_core.settings import Settings
from elt_llm_core.text.halves import without_halves

if TYPE_CHECKING:
    import httpx

START = "Run: ollama serve"


@dataclass(frozen=True)
class OllamaModel:
    """A model that a server lists."""

    name: str
    digest: str
    """sha256 (hex) of its manifest: another one is another model, whatever its name."""
    remote: bool
    """Whether it is run by a hosted service, with the local server as a mere door to it."""


def described_server(settings: Settings, model: str) -> ModelServer:
    """The server of the settings. Raises SettingsError for an address beyond the own network unless that is allowed."""
    chosen = settings.ollama
    return ModelServer(
        name="Ollama",
        address=checked_address(chosen.base_url, "ollama.base_url", allow_remote=settings.network.allow_remote_models),
        model=model,
        section="ollama",
        start=START,
        fetch=f"Run: ollama pull {model}",
        answer_timeout=settings.llm.answer_timeout,
        context_window=chosen.context_window,
    )


def http_client(settings: Settings, address: str, *, patience: float | None = None) -> "httpx.Client":
    """A client that goes to that address and nowhere else: no proxy of the environment, no redirection.

    `patience`: seconds between two reads, where it is to be less than ollama.request_timeout.
    """
    import httpx

    options = client_options(settings, address, patience=patience)
    return httpx.Client(base_url=address, event_hooks=hooks(options["timeout"].read), **options)


def hooks(seconds: float) -> dict[str, list[Any]]:
    """For a client that waits: no reply takes more than so many seconds once it began, or is without end.

    The client of Ollama adds the key of the hosted service that OLLAMA_API_KEY holds; no local server needs it.
    """
    from elt_llm_core.models.bounded_replies import bounded_for

    return {"request": [_without_key, on_its_line], "response": [bounded_for(seconds)]}


def async_hooks(seconds: float) -> dict[str, list[Any]]:
    """The same for a client that does not wait."""
    from elt_llm_core.models.bounded_replies import async_bounded_for

    async def without_key(request: "httpx.Request") -> None:
        _without_key(request)

    return {"request": [without_key], "response": [async_bounded_for(seconds)]}


def client_options(settings: Settings, address: str, *, patience: float | None = None) -> dict[str, Any]:
    """The same options for whoever makes the client."""
    import httpx

    from elt_llm_core.models.bounded_replies import PLAIN

    chosen = settings.ollama
    waiting = min(patience or chosen.request_timeout, chosen.request_timeout)
    timeout = httpx.Timeout(waiting, connect=min(waiting, chosen.connect_timeout), pool=waiting)
    # Without https there is no certificate to check, and reading the list of authorities costs 20 ms a client.
    secure = address.startswith("https")
    return {"timeout": timeout, "trust_env": False, "follow_redirects": False, "verify": secure, "headers": PLAIN}


class OllamaServer(Closeable):
    """Asks one server; every failure is a ModelError that says what mends it."""

    def __init__(self, settings: Settings, model: str, *, patience: float | None = None) -> None:
        self.described = described_server(settings, model)
        self._client = http_client(settings, self.described.address, patience=patience)
        weakref.finalize(self, self._client.close)  # for those who hold it and do not close it
        self._allow_remote = settings.network.allow_remote_models

    def close(self) -> None:
        """Lets go of the connections."""
        self._client.close()

    def models(self) -> list[OllamaModel]:
        """Every model that the server has, in its order."""
        listed = self.request("GET", "/api/tags").get("models")
        if not isinstance(listed, list):
            raise UnusableReply(f"{self.described} lists no models", hint="Is ollama.base_url really Ollama's?")
        return [_listed(entry) for entry in listed if isinstance(entry, dict)]

    def find(self) -> OllamaModel:
        """The model. Raises ModelMissing without it, SettingsError if a hosted service would run it unless allowed."""
        wanted = self.described.model
        for model in self.models():
            if same_model(model.name, wanted):
                return _allowed(model, allow_remote=self._allow_remote)
        raise ModelMissing(f"{self.described} does not have the model '{wanted}'", hint=self.described.fetch)

    def context_length(self) -> int | None:
        """Tokens that the model was made to read; none where the server does not tell."""
        told = self.request("POST", "/api/show", {"model": self.described.model}).get("model_info")
        lengths = (
            [value for key, value in told.items() if key.endswith(".context_length")] if isinstance(told, dict) else []
        )
        return lengths[0] if lengths and isinstance(lengths[0], int) and lengths[0] > 0 else None

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object that the server replies with. Raises a ModelError for anything else."""
        return request_object(self._client, method, path, body, self.described, "Is ollama.base_url really Ollama's?")


def same_model(listed: str, wanted: str) -> bool:
    """Whether two names mean one model: without a tag, `latest` is meant; case counts not."""
    first, second = (
        name.lower() if ":" in name.rpartition("/")[2] else f"{name.lower()}:latest" for name in (listed, wanted)
    )
    return first == second


def is_hosted(name: str) -> bool:
    """Whether a name is that of a model which Ollama passes on to its hosted service."""
    return name.rpartition(":")[2].endswith("cloud") and ":" in name


def _without_key(request: "httpx.Request") -> None:
    request.headers.pop("Authorization", None)


def _allowed(model: OllamaModel, *, allow_remote: bool) -> OllamaModel:
    if model.remote and not allow_remote:
        raise SettingsError(
            f"The model '{model.name}' of Ollama is run by a hosted service, and network.allow_remote_models is false",
            hint="Choose a model without 'cloud' in its tag, or set network.allow_remote_models to true",
        )
    return model


def _listed(entry: Mapping[str, Any]) -> OllamaModel:
    name = without_halves(str(entry.get("name") or entry.get("model") or ""))
    remote = bool(entry.get("remote_host") or entry.get("remote_model")) or is_hosted(name)
    return OllamaModel(name, str(entry.get("digest") or ""), remote)

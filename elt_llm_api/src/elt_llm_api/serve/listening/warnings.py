"""What else is open to the network, or leaves this machine: said at the start, since nobody would look for it."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from elt_llm_core.settings import Settings

from elt_llm_api.serve.middleware.hosts import is_loopback


def exposed_models(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for a model server that others may reach, and one for each in use that is not on this machine."""
    listens = environment.get("OLLAMA_HOST", "")
    if listens and not _is_here(listens):
        yield f"OLLAMA_HOST is {listens}: an Ollama started with it answers to other machines, without any key."
    embedding, llm = settings.embedding.provider, settings.llm.provider
    servers = {
        settings.ollama.base_url: "ollama" in {embedding, llm} or llm == "auto",
        settings.openai_like.base_url: "openai_like" in {embedding, llm},
    }
    for address, used in servers.items():
        if used and not _is_here(address):
            yield f"Questions and passages leave this machine: the model server is {_without_user(address)}."


def _is_here(address: str) -> bool:
    return is_loopback(urlsplit(address if "//" in address else f"//{address}").hostname or "")


def _without_user(address: str) -> str:
    """The address without a name and a password in it."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

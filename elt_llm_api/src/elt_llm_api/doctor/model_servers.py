"""Checks of model servers and local model files that the settings name."""

from pathlib import Path
from urllib.parse import urlsplit

from elt_llm_core.errors import EltError, ModelMissing
from elt_llm_core.models.server import MASKED_KEY
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.tree import Settings

from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts, failure, ok, warning, with_settings

_TIMEOUT = 1.5  # seconds; the whole command should take less than three
_MOST_LISTED = 12
_INSIDE_A_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@with_settings
def ollama(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the Ollama server responds and has the configured models, if a provider is `ollama` or `auto`."""
    settings = loaded.settings
    wanted = _models_in_use(settings)
    if not wanted:
        return ok("not checked: no provider is ollama")
    try:
        return _check_models(settings, wanted)
    except EltError as error:
        if settings.llm.provider == "auto" and settings.embedding.provider != "ollama":
            return ok(f"{error}; llm.provider is auto, so answers are quotes from the chunks")
        inside = any(path.exists() for path in _INSIDE_A_CONTAINER) and not isinstance(error, ModelMissing)
        advice = container_advice(settings.ollama.base_url, inside=inside)
        return failure(str(error), f"{error.hint}. {advice}" if advice else error.hint)


def ollama_host(facts: DoctorFacts) -> CheckVerdict:
    """Check that OLLAMA_HOST agrees with the settings. Ollama reads this variable, but this program does not."""
    host = facts.environment.get("OLLAMA_HOST")
    if facts.loaded is None:
        return warning("not checked: the settings cannot be read", "Correct the settings first")
    used = facts.loaded.settings.ollama.base_url
    if not host or not _models_in_use(facts.loaded.settings):
        return ok("OLLAMA_HOST is not set" if not host else "not checked: no provider is ollama")
    try:
        meant = ollama_host_address(host)
    except ValueError:
        return warning("OLLAMA_HOST is not an address, and is ignored", "Correct or unset it")
    if meant == used.rstrip("/"):
        return ok(f"OLLAMA_HOST is {meant}, as in the settings")
    shown = f"OLLAMA_HOST is {_without_password(host)}, and is ignored: {_without_password(used)} is used"
    return warning(shown, f"Set ollama.base_url to {meant}")


@with_settings
def openai_like(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the OpenAI-compatible server responds and has the configured models, if a provider is openai_like."""
    settings = loaded.settings
    wanted = _openai_like_models_in_use(settings)
    if not wanted:
        return ok("not checked: no provider is openai_like")
    from elt_llm_core.models.factory import create_llm
    from elt_llm_core.models.openai_like import OpenAiLikeServer, describe_openai_like

    create_llm(settings)  # raises if a library is missing or the address is not allowed
    described = [describe_openai_like(settings, model, key) for key, model in wanted.items()]
    with OpenAiLikeServer(settings, described[0], patience=_TIMEOUT) as server:
        present = [str(entry.get("id")) for entry in server.models()]
    message = described[0].masked(f"{settings.openai_like.base_url} has {_name_list(present)}")
    missing = [one for one in described if one.model not in present]
    return failure(f"{message}, not {missing[0].model}", missing[0].fetch) if missing else ok(message)


@with_settings
def llama_cpp(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the library and the model file exist, if the provider is llama_cpp."""
    from elt_llm_core.models.factory import create_llm
    from elt_llm_core.models.model_files import with_models_dir

    if loaded.settings.llm.provider != "llama_cpp":
        return ok("not checked: no provider is llama_cpp")
    llm = create_llm(with_models_dir(loaded.settings, loaded.data_dir))
    return ok(str(llm.metadata.model_name) if llm else "none")


def ollama_host_address(host: str) -> str:
    """Return the URL at which clients reach a server whose OLLAMA_HOST is `host`, with localhost in place of 0.0.0.0.

    User name and password are removed. Raises ValueError for an invalid address.
    """
    scheme, rest = _split_scheme(host)
    parts = urlsplit(f"{scheme or 'http'}://{rest.rpartition('@')[2]}")
    name = parts.hostname or "localhost"
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{'localhost' if name in {'0.0.0.0', '::'} else shown}:{parts.port or 11434}"  # noqa: S104


def _without_password(address: str) -> str:
    """Return the address with `***` in place of user name and password."""
    scheme, rest = _split_scheme(address)
    _, at, host = rest.rpartition("@")
    return f"{scheme}{'://' if scheme else ''}{MASKED_KEY if at else ''}{at}{host}"


def _split_scheme(address: str) -> tuple[str, str]:
    scheme, mark, rest = address.partition("://")
    return (scheme, rest) if mark and scheme.isalpha() else ("", address)


def container_advice(base_url: str, *, inside: bool) -> str:
    """Return advice on reaching Ollama from within a container, where a loopback address is the container itself.

    Empty outside of containers, and if `base_url` is not a loopback address.
    """
    if not inside or urlsplit(base_url).hostname not in _LOOPBACK:
        return ""
    return (
        "In a container localhost is the container: set ollama.base_url to http://host.docker.internal:11434, start the"
        " container with --add-host=host.docker.internal:host-gateway, and Ollama with OLLAMA_HOST=0.0.0.0"
    )


def _check_models(settings: Settings, wanted: dict[str, str]) -> CheckVerdict:
    from elt_llm_core.models.ollama import OllamaServer, same_model

    with OllamaServer(settings, next(iter(wanted)), patience=_TIMEOUT) as server:
        models = server.models()
    present = [model.name for model in models]
    for name, use in wanted.items():
        for kind, (capability, fault, hint) in _CAPABILITIES.items():
            if kind in use and any(same_model(one.name, name) and one.lacks(capability) for one in models):
                return failure(f"{settings.ollama.base_url} has {name}, but {fault}", hint)
    missing = [model for model in wanted if not any(same_model(one, model) for one in present)]
    if missing:
        pull = " && ".join(f"ollama pull {model}" for model in missing)
        message = f"{settings.ollama.base_url} lacks {', '.join(missing)}; it has {_name_list(present)}"
        if settings.llm.provider == "auto" and not any("embedding" in wanted[model] for model in missing):
            return warning(f"{message}. Answers are quotes from the chunks", f"Run: {pull}")
        return failure(message, f"Run: {pull}")
    others = [name for name in present if not any(same_model(name, model) for model in wanted)]
    used = ", ".join(f"{model} ({use})" for model, use in wanted.items())
    return ok(f"{settings.ollama.base_url} has {used}" + (f"; also {_name_list(others)}" if others else ""))


# For each use of a model: the capability that it needs, the words for a model without it, and the hint.
_CAPABILITIES = {
    "embedding": (
        "embedding",
        "it is not an embedding model",
        "Set embedding.model to a model that embeds, such as nomic-embed-text",
    ),
    "answers": ("completion", "it does not generate text", "Set llm.model to a chat model"),
}


def _models_in_use(settings: Settings) -> dict[str, str]:
    """Return the use of each configured Ollama model by its name: `embedding`, `answers`, or both."""
    wanted: dict[str, str] = {}
    if settings.embedding.provider == "ollama":
        wanted[settings.embedding.model or settings.ollama.embedding_model] = "embedding"
    if settings.llm.provider in {"ollama", "auto"}:
        model = settings.llm.model or settings.ollama.llm_model
        wanted[model] = " and ".join(filter(None, [wanted.get(model), "answers"]))
    return wanted


def _openai_like_models_in_use(settings: Settings) -> dict[str, str | None]:
    """Return the name of each configured model by its settings key, such as `openai_like.llm_model`."""
    chosen, wanted = settings.openai_like, dict[str, str | None]()
    if settings.llm.provider == "openai_like":
        wanted["openai_like.llm_model"] = settings.llm.model or chosen.llm_model
    if settings.embedding.provider == "openai_like":
        wanted["openai_like.embedding_model"] = settings.embedding.model or chosen.embedding_model
    return wanted


def _name_list(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more or "no models"


CHECKS = {"ollama": ollama, "ollama host": ollama_host, "openai_like": openai_like, "llama_cpp": llama_cpp}

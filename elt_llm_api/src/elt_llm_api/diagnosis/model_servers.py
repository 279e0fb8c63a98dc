"""Checks of what writes and embeds where the settings name a server or a file for it: there, and with the models."""

from pathlib import Path
from urllib.parse import urlsplit

from elt_llm_core.errors import EltError, ModelMissing
from elt_llm_core.models.model_server import MASKED
from elt_llm_core.settings import Settings

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning

_PATIENCE = 1.5  # seconds; the whole examination should take less than three
_MOST_LISTED = 12
_INSIDE_A_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_UNREAD = warning("not checked: the settings cannot be read", "Correct the settings first")


def ollama(facts: Facts) -> Verdict:
    """A server answers and has the models; asked only where a provider is ollama, or auto may take it."""
    if facts.loaded is None:
        return _UNREAD
    settings = facts.loaded.settings
    wanted = _wanted_models(settings)
    if not wanted:
        return ok("not asked: no provider is ollama")
    try:
        return _examined(settings, wanted)
    except EltError as error:
        if _only_auto(settings):
            return ok(f"{error}; llm.provider is auto, so answers are quoted from the passages")
        return failure(str(error), _how_to_start(settings, error))


def ollama_host(facts: Facts) -> Verdict:
    """The variable that Ollama's own command reads says the same as the settings, which alone are read here."""
    if facts.loaded is None:
        return _UNREAD
    host, used = facts.environment.get("OLLAMA_HOST"), facts.loaded.settings.ollama.base_url
    if not host or not _wanted_models(facts.loaded.settings):
        return ok("OLLAMA_HOST is not set" if not host else "not asked: no provider is ollama")
    try:
        meant = address_of_ollama_host(host)
    except ValueError:
        return warning("OLLAMA_HOST is no address, and is not read", "Correct it, or leave it out")
    if meant == used.rstrip("/"):
        return ok(f"OLLAMA_HOST says {meant} too")
    shown = f"OLLAMA_HOST is {_without_password(host)}, and is not read: {_without_password(used)} is asked"
    return warning(shown, f"Set ollama.base_url to {meant}")


def openai_like(facts: Facts) -> Verdict:
    """The server answers; asked only where a provider is openai_like."""
    if facts.loaded is None:
        return _UNREAD
    settings = facts.loaded.settings
    wanted = _wanted_of_openai_like(settings)
    if not wanted:
        return ok("not asked: no provider is openai_like")
    from elt_llm_core.models.llms import create_llm
    from elt_llm_core.models.openai_like_server import OpenAiLikeServer, described_openai_like

    create_llm(settings)  # tells what is not installed or not allowed
    described = [described_openai_like(settings, model, key) for key, model in wanted.items()]
    with OpenAiLikeServer(settings, described[0], patience=_PATIENCE) as server:
        present = [str(entry.get("id")) for entry in server.models()]
    message = described[0].masked(f"{settings.openai_like.base_url} has {_listed(present)}")
    missing = [one for one in described if one.model not in present]
    return failure(f"{message}, not {missing[0].model}", missing[0].fetch) if missing else ok(message)


def llama_cpp(facts: Facts) -> Verdict:
    """The library and the file are there; looked for only where the provider is llama_cpp."""
    if facts.loaded is None:
        return _UNREAD
    from elt_llm_core.models.llms import create_llm
    from elt_llm_core.models.model_folder import with_models_dir

    if facts.loaded.settings.llm.provider != "llama_cpp":
        return ok("not asked: no provider is llama_cpp")
    llm = create_llm(with_models_dir(facts.loaded.settings, facts.loaded.data_dir))
    return ok(str(llm.metadata.model_name) if llm else "none")


def address_of_ollama_host(host: str) -> str:
    """The address that a value of OLLAMA_HOST means to a client: 0.0.0.0 is listened on, and cannot be asked.

    A name and a password are left out. Raises ValueError for what is no address.
    """
    scheme, rest = _scheme_and_rest(host)
    parts = urlsplit(f"{scheme or 'http'}://{rest.rpartition('@')[2]}")
    name = parts.hostname or "localhost"
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{'localhost' if name in {'0.0.0.0', '::'} else shown}:{parts.port or 11434}"  # noqa: S104


def _without_password(address: str) -> str:
    """The address with `***` for whatever stands before its `@`."""
    scheme, rest = _scheme_and_rest(address)
    _, at, host = rest.rpartition("@")
    return f"{scheme}{'://' if scheme else ''}{MASKED if at else ''}{at}{host}"


def _scheme_and_rest(address: str) -> tuple[str, str]:
    scheme, mark, rest = address.partition("://")
    return (scheme, rest) if mark and scheme.isalpha() else ("", address)


def container_advice(base_url: str, *, inside: bool) -> str:
    """What to set where the command runs in a container and asks its own loopback; empty where that is not so."""
    if not inside or urlsplit(base_url).hostname not in _LOOPBACK:
        return ""
    return (
        "In a container localhost is the container: set ollama.base_url to http://host.docker.internal:11434, start the"
        " container with --add-host=host.docker.internal:host-gateway, and Ollama with OLLAMA_HOST=0.0.0.0"
    )


def _examined(settings: Settings, wanted: dict[str, str]) -> Verdict:
    from elt_llm_core.models.ollama_server import OllamaServer, same_model

    with OllamaServer(settings, next(iter(wanted)), patience=_PATIENCE) as server:
        present = [model.name for model in server.models()]
    missing = [model for model in wanted if not any(same_model(one, model) for one in present)]
    if missing:
        pull = " && ".join(f"ollama pull {model}" for model in missing)
        message = f"{settings.ollama.base_url} lacks {', '.join(missing)}; it has {_listed(present)}"
        if settings.llm.provider == "auto" and not any("embedding" in wanted[model] for model in missing):
            return warning(f"{message}. Answers are quoted from the passages", f"Run: {pull}")
        return failure(message, f"Run: {pull}")
    others = [name for name in present if not any(same_model(name, model) for model in wanted)]
    used = ", ".join(f"{model} ({use})" for model, use in wanted.items())
    return ok(f"{settings.ollama.base_url} has {used}" + (f"; also {_listed(others)}" if others else ""))


def _wanted_models(settings: Settings) -> dict[str, str]:
    """Uses of models by name."""
    wanted: dict[str, str] = {}
    if settings.embedding.provider == "ollama":
        wanted[settings.embedding.model or settings.ollama.embedding_model] = "embedding"
    if settings.llm.provider in {"ollama", "auto"}:
        model = settings.llm.model or settings.ollama.llm_model
        wanted[model] = " and ".join(filter(None, [wanted.get(model), "answers"]))
    return wanted


def _wanted_of_openai_like(settings: Settings) -> dict[str, str | None]:
    """Models by the setting that names each."""
    chosen, wanted = settings.openai_like, dict[str, str | None]()
    if settings.llm.provider == "openai_like":
        wanted["openai_like.llm_model"] = settings.llm.model or chosen.llm_model
    if settings.embedding.provider == "openai_like":
        wanted["openai_like.embedding_model"] = settings.embedding.model or chosen.embedding_model
    return wanted


def _only_auto(settings: Settings) -> bool:
    return settings.llm.provider == "auto" and settings.embedding.provider != "ollama"


def _how_to_start(settings: Settings, error: EltError) -> str:
    if isinstance(error, ModelMissing):
        return error.hint
    inside = any(path.exists() for path in _INSIDE_A_CONTAINER)
    advice = container_advice(settings.ollama.base_url, inside=inside)
    return f"{error.hint}. {advice}" if advice else error.hint


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more or "no models"


CHECKS = (
    Check("ollama", ollama),
    Check("ollama host", ollama_host),
    Check("openai_like", openai_like),
    Check("llama_cpp", llama_cpp),
)

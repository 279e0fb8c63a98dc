"""Checks of what was configured: settings, profiles, and Ollama where it was asked for."""

import json
from http.client import HTTPException
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from elt_llm_core.errors import UsageError
from elt_llm_core.settings import OllamaSettings, Settings
from elt_llm_core.settings_loader import load_profile, profile_names

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning

_PATIENCE = 1.5  # seconds; the whole examination should take less than three
_INSIDE_A_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))


def settings(facts: Facts) -> Verdict:
    """The settings file and the environment can be read and every value is allowed."""
    if facts.loaded is None:
        return failure(str(facts.settings_error), "Correct these lines; elt-llm init writes an example to compare with")
    return ok(str(facts.loaded.source or "built-in defaults (no config/rag_config.yaml here or above)"))


def profiles(facts: Facts) -> Verdict:
    """Every profile can be read."""
    if facts.loaded is None:
        return warning("not checked: the settings cannot be read", "Correct the settings first")
    names = profile_names(facts.loaded)
    wrong: list[str] = []
    for name in names:
        try:
            load_profile(name, facts.loaded)
        except UsageError as error:
            wrong.append(str(error))
    return failure("\n".join(wrong), "Correct these lines") if wrong else ok(", ".join(names))


def aliases(facts: Facts) -> Verdict:
    """The file of other names can be read, if there is one."""
    if facts.loaded is None:
        return warning("not checked: the settings cannot be read", "Correct the settings first")
    from elt_llm_query.understanding.aliases import load_aliases

    try:
        groups = load_aliases(facts.loaded).groups
    except UsageError as error:
        return failure(str(error), "Correct these lines")
    return ok(f"{len(groups)} groups of names" if groups else "none")


def ollama(facts: Facts) -> Verdict:
    """A server answers and has the models; asked only where the settings name it as a provider."""
    if facts.loaded is None:
        return warning("not checked: the settings cannot be read", "Correct the settings first")
    wanted = _wanted_models(facts.loaded.settings)
    server = facts.loaded.settings.ollama
    if not wanted:
        return ok("not asked: no provider is ollama")
    try:
        present = _present_models(server)
    except (OSError, HTTPException, ValueError) as error:
        return failure(f"{server.base_url} does not answer: {error}", _how_to_start(server))
    missing = sorted(model for model in wanted if model not in present and f"{model}:latest" not in present)
    if missing:
        return failure(f"{server.base_url} lacks {', '.join(missing)}", f"Run: ollama pull {missing[0]}")
    return ok(f"{server.base_url} has {', '.join(sorted(wanted))}")


def _wanted_models(settings: Settings) -> set[str]:
    embedding, llm, server = settings.embedding, settings.llm, settings.ollama
    wanted = {embedding.model or server.embedding_model} if embedding.provider == "ollama" else set()
    return wanted | ({llm.model or server.llm_model} if llm.provider == "ollama" else set())


def _present_models(server: OllamaSettings) -> set[str]:
    if not server.base_url.startswith(("http://", "https://")):
        raise ValueError("the address must begin with http:// or https://")
    address = f"{server.base_url.rstrip('/')}/api/tags"
    opener = build_opener(ProxyHandler({}))
    with opener.open(address, timeout=min(_PATIENCE, server.connect_timeout)) as reply:
        listed = json.load(reply)
    models = listed.get("models", []) if isinstance(listed, dict) else []
    return {str(model.get("name")) for model in models if isinstance(model, dict)}


def _how_to_start(server: OllamaSettings) -> str:
    local = "localhost" in server.base_url or "127.0.0.1" in server.base_url
    if local and any(path.exists() for path in _INSIDE_A_CONTAINER):
        return "In a container the host is elsewhere: set ollama.base_url to http://host.docker.internal:11434"
    return "Run: ollama serve"


def reranker(facts: Facts) -> Verdict:
    """The reranker that the settings name can be opened: its model is there, allowed and sound."""
    if facts.loaded is None:
        return warning("not checked: the settings cannot be read", "Correct the settings first")
    from elt_llm_core.models.llms import create_llm
    from elt_llm_core.models.model_folder import with_models_dir
    from elt_llm_query.rerank import create_reranker
    from elt_llm_query.rerank.model_reranker import identity_of
    from elt_llm_query.rerank.scorer import ModelSources

    chosen = with_models_dir(facts.loaded.settings, facts.loaded.data_dir)
    llm = create_llm(chosen) if chosen.query.reranker_strategy == "llm" else None
    opened = create_reranker(chosen.query, ModelSources.of(chosen, llm))
    if chosen.query.reranker_strategy == "auto" and opened.name == "embedding" and opened.notes:
        return warning(" ".join(opened.notes), "Mend query.reranker_model, or set query.reranker_strategy to embedding")
    return ok(", ".join(identity_of(opened)))


CHECKS = (
    Check("settings", settings),
    Check("profiles", profiles),
    Check("aliases", aliases),
    Check("ollama", ollama),
    Check("reranker", reranker),
)

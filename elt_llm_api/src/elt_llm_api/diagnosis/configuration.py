"""Checks of what was configured: settings, profiles, and the reranker they name."""

from elt_llm_core.errors import UsageError
from elt_llm_core.settings_loader import load_profile, profile_names

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning


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
    Check("reranker", reranker),
)

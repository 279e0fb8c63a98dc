"""Profiles: the built-in ones, which `elt-llm init` writes as examples, and those in `config/profiles`."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings, read_model, shown_path
from elt_llm_core.settings.tree import Profile, QuerySettings
from elt_llm_core.utilities import nearest_name

BUILT_IN_PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "default": Profile(
            description="The settings as they are: both retrievers, reranked by cosine and keyword score."
        ),
        "classic": Profile(
            description="The plain textbook: reciprocal rank fusion of 20 and 20, reordered by cosine, the best 8.",
            query=QuerySettings(
                use_hybrid_search=True,
                strategy="hybrid",
                fusion="reciprocal_rerank",
                dense_weight=0.5,
                retriever_top_k=20,
                use_reranker=True,
                reranker_strategy="embedding",
                rerank_weight=1.0,
                reranker_retrieve_k=20,
                reranker_top_k=8,
            ),
        ),
        "fast": Profile(
            description="Fused and not reranked.",
            query=QuerySettings(use_reranker=False),
        ),
        "thorough": Profile(
            description="Several variants of the question, and chunks that differ from each other.",
            query=QuerySettings(strategy="multi_query", num_queries=4, use_mmr=True),
        ),
    }
)


def load_profile(name: str, loaded: LoadedSettings) -> Profile:
    """Load `config/profiles/NAME.yaml`, else the built-in profile NAME. Raises UsageError if both are missing."""
    if not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"{name!r} cannot be a profile's name: letters, digits, - and _ only")
    path = loaded.config_dir / "profiles" / f"{name}.yaml"
    if path.is_file():
        return read_model(path, Profile, loaded.project)
    if name in BUILT_IN_PROFILES:
        return BUILT_IN_PROFILES[name]
    known = profile_names(loaded)
    meant = nearest_name(name, known)
    hint = f"Did you mean {meant}?" if meant else f"Known profiles: {', '.join(known)}."
    raise UsageError(f"there is no profile {name!r}: {shown_path(path, loaded.project)} does not exist", hint=hint)


def profile_names(loaded: LoadedSettings) -> list[str]:
    """Return the names of all profiles, built-in or in a file, sorted."""
    files = (loaded.config_dir / "profiles").glob("*.yaml")
    return sorted({*BUILT_IN_PROFILES, *(path.stem for path in files)})

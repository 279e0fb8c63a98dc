"""How well a collection is searched: asked the questions that its own documents give rise to."""

from collections.abc import Mapping
from typing import Any

from elt_llm_core.progress import Progress
from elt_llm_core.settings import Settings
from elt_llm_core.settings_loader import LoadedSettings, load_profile


def run_evaluation(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Measure `collection` by `profiles` (none: those that are compared), with `questions` made by `seed`.

    The result is `{"reports": [...]}`, one for each profile. Raises UnknownCollection, SettingsError and what asking
    raises.
    """
    from elt_llm_core.collection import open_generation
    from elt_llm_core.models.embeddings import create_embedding
    from elt_llm_core.store.store import open_store
    from elt_llm_query.evaluate.own_questions import DEFAULT_NUMBER, asked_of, own_questions
    from elt_llm_query.evaluate.runner import measure_profiles

    collection = str(arguments["collection"])
    profiles = _profiles(loaded, tuple(arguments.get("profiles", ())))
    embedding = create_embedding(loaded.settings)
    with (
        open_store(loaded.data_dir) as store,
        open_generation(store, collection, embedding.fingerprint) as generation,
    ):
        number, seed = int(arguments.get("questions") or DEFAULT_NUMBER), int(arguments.get("seed", 1))
        asked = asked_of(own_questions(generation, number, seed))
        reports = measure_profiles(collection, asked, generation, embedding, profiles, progress)
    return {"reports": [report.to_json() for report in reports]}


def _profiles(loaded: LoadedSettings, names: tuple[str, ...]) -> dict[str, Settings]:
    from elt_llm_query.evaluate.profiles import comparison_profiles

    if not names:
        return comparison_profiles(loaded.settings)
    return {name: load_profile(name, loaded).apply_to(loaded.settings) for name in names}

"""What a look at a collection's enterprise models tells, beside an inventory in it or in another collection."""

from dataclasses import dataclass
from typing import Any

from elt_llm_core.collection import open_generation
from elt_llm_core.errors import EltError
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class ModelCheck:
    """Sentences for the report, and all counts and gaps as JSON values; neither where there is no model."""

    notes: tuple[str, ...] = ()
    values: dict[str, Any] | None = None


def check_models(store: Store, collection: str, against: str = "") -> ModelCheck:
    """Look at the models of a collection. `against` names where the inventory is, if that is elsewhere.

    A collection to check against that cannot be opened is a sentence too: what was ingested stands without it.
    """
    models, inventories, trouble = _artefacts(store, collection)
    if not models:
        return ModelCheck(trouble)
    if against and against != collection:
        _, inventories, trouble = _artefacts(store, against)
    from elt_llm_ingest.leanix.sanity import check_artefacts

    report = check_artefacts(models, inventories or None)
    return ModelCheck((*trouble, *report.lines()), report.to_json())


def _artefacts(store: Store, collection: str) -> tuple[list[Any], list[Any], tuple[str, ...]]:
    """Models, inventories, and a sentence if they cannot be read."""
    try:
        with open_generation(store, collection) as generation:
            models, inventories = generation.artefacts("enterprise_model"), generation.artefacts("inventory")
    except EltError as error:
        return [], [], (f"The model was not checked against '{collection}': {error} {error.hint}".rstrip(),)
    return list(models.values()), list(inventories.values()), ()

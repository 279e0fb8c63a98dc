"""The enterprise model of a collection: what is around an entity, and how it is told to be related."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elt_llm_core.enterprise_model import EnterpriseModel, Entity, Relationship
from elt_llm_core.errors import UsageError
from elt_llm_core.model_graph import ModelGraph
from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.results import Result
from elt_llm_core.text.normalise import words
from pydantic import Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.batch_jobs import BatchJobs
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_core.generation import Generation

LARGEST_RADIUS = 3
MOST_ENTITIES = 500
_ARTEFACT = "enterprise_model"
_PROFILE = "default"


class Around(Result):
    """An entity with the part of its model around it."""

    collection: str = Field(description="Collection that the model was read into.")
    entity: Entity = Field(description="The entity that was asked for.")
    neighbours: tuple[Entity, ...] = Field(description="Those within the radius, in the order of the model.")
    relationships: tuple[Relationship, ...] = Field(description="Every relationship among them all.")
    left_out: int = Field(description="Entities that are near as well, beyond the most that are told.")


class Neighbours:
    """Reads enterprise models for callers, as they are published now."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def around(
        self, principal: Principal, entity: str, collection: str | None, job: str | None, *, radius: int, directed: bool
    ) -> Around:
        """What is within `radius` relationships of an entity, named by id or name, in a collection or a job's model.

        Raises Forbidden, and UsageError where there is no model, no such entity or several, or not one place to look.
        """
        name = self._collection(principal, collection, job)
        with self._services.engines.lend([name], _PROFILE) as engine:
            return _around(name, _models(engine.generations[0]), entity, radius, directed=directed)

    def _collection(self, principal: Principal, collection: str | None, job: str | None) -> str:
        if (collection is None) == (job is None):
            raise UsageError("An entity is looked for in one place.", hint="Name either a collection or a job.")
        if job is not None:
            collection = BatchJobs(self._services).get(principal, job).spec.sources.model
            if not collection:
                raise UsageError(f"Job '{job}' has no model among its sources.", hint="Name a collection that has one.")
        [known] = self._services.collections(principal, [collection or ""])
        return known


def _models(generation: "Generation") -> list[EnterpriseModel]:
    kept = generation.artefacts(_ARTEFACT) if _ARTEFACT in generation.artefact_names else {}
    if not kept:
        raise UsageError(
            f"'{generation.collection}' holds no enterprise model.", hint="Name the collection that one was read into."
        )
    return [EnterpriseModel.from_json(value) for value in kept.values()]


def _around(collection: str, models: Sequence[EnterpriseModel], wanted: str, radius: int, *, directed: bool) -> Around:
    found = [(model, entity) for model in models for entity in model.entities if wanted == entity.id]
    found = found or [
        (model, entity) for model in models for entity in model.entities if words(wanted) == words(entity.name)
    ]
    if len(found) != 1:
        raise _not_one(wanted, [entity for _, entity in found], models)
    [(model, centre)] = found
    near = ModelGraph(model).ego_graph(centre.id, radius, directed=directed)
    others = tuple(entity for entity in near.entities if entity.id != centre.id)
    told = others[:MOST_ENTITIES]
    ids = {centre.id, *(entity.id for entity in told)}
    relationships = (one for one in near.relationships if one.source.entity_id in ids and one.target.entity_id in ids)
    return Around(
        collection=collection,
        entity=centre,
        neighbours=told,
        relationships=tuple(relationships),
        left_out=len(others) - len(told),
    )


def _not_one(wanted: str, found: Sequence[Entity], models: Sequence[EnterpriseModel]) -> UsageError:
    if found:
        ids = ", ".join(
            f"{entity.id} ({entity.type or 'entity'}, {entity.domain or 'no domain'})" for entity in found[:10]
        )
        return UsageError(f"{len(found)} entities are named '{wanted}'.", hint=f"Give an id: {ids}.")
    names = sorted({entity.name for model in models for entity in model.entities})
    return UsageError(f"The model has no entity '{wanted}'.", hint=nearest_names(wanted, names))

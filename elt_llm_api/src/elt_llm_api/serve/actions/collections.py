"""List, describe, verify and roll back collections; list the neighbours of an entity in an enterprise model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from elt_llm_core.collection.lifecycle import collect_garbage, roll_back
from elt_llm_core.collection.verification import GenerationDamage, repair, verify_collection
from elt_llm_core.enterprise import EnterpriseModel, Entity, ModelGraph, Relationship
from elt_llm_core.errors import UsageError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.progress import SilentListener
from elt_llm_core.results import ResultModel
from elt_llm_core.store.lock import lock_holder, writer_lock
from elt_llm_core.store.records import CollectionRecord, FileRecord, StoredDocument
from elt_llm_core.store.store import CollectionStatus, collection_status, files_in_trouble, open_store
from elt_llm_core.text.normalise import words
from elt_llm_core.utilities import nearest_names
from elt_llm_query.extractive.confidence import ProfileCalibration
from pydantic import BaseModel, Field

from elt_llm_api.display.calibration import load_calibrations
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import own_documents, own_files
from elt_llm_api.serve.actions.jobs import BatchJobActions
from elt_llm_api.serve.services import ServiceActions

CollectionHealth = Literal["ok", "empty", "another model", "damaged", "unfinished", "files failed"]
"""Whether questions are answered from the whole collection.

- empty: nothing is published.
- another model: the vectors come from another embedding model than the server's.
- damaged: files differ from the published files. No question is answered until the collection is repaired.
- unfinished: an ingest is running or was interrupted.
- files failed: some files could not be read."""


class CollectionSummary(BaseModel):
    """Name, size, embedding model and health of a collection."""

    name: str = Field(validation_alias="collection", examples=["handbook"])
    documents: int = Field(ge=0, examples=[12])
    chunks: int = Field(validation_alias="nodes", ge=0, examples=[340])
    generation: int | None = Field(description="Number of the published generation.", examples=[3])
    model: str = Field(
        validation_alias="embedding",
        description="Provider and name of the embedding model.",
        examples=["embedded minilm"],
    )
    built_at: str | None = Field(
        validation_alias="published_at", description="UTC, ISO 8601.", examples=["2026-11-22T10:00:00+00:00"]
    )
    health: CollectionHealth = Field(description="Whether the whole collection is searched.", examples=["ok"])


class CollectionOverview(BaseModel):
    """The description of a collection, with the fields of `elt-llm status --json`."""

    status: CollectionStatus
    health: CollectionHealth
    being_written: bool = Field(description="Whether a process is writing into the data directory now.")
    calibrations: tuple[ProfileCalibration, ...] = Field(
        description="Profiles whose confidence was calibrated for this collection."
    )


class VerifyReport(BaseModel):
    """The result of comparing the files of a collection with what was published."""

    ok: bool = Field(description="Whether everything is as published, after repairs.")
    damage: tuple[GenerationDamage, ...]
    unchecked: tuple[str, ...] = Field(description="What could not be checked.")
    healed: tuple[tuple[int, int], ...] = Field(description="Damaged generations, each with its replacement.")


class RollbackReport(BaseModel):
    """The generations before and after a rollback."""

    collection: str = Field(examples=["handbook"])
    left: int = Field(examples=[3])
    now: int = Field(examples=[2])


class CollectionActions(ServiceActions):
    """Lists, describes, verifies and rolls back collections for callers."""

    def all(self, principal: Principal) -> list[tuple[CollectionStatus, CollectionHealth]]:
        """Return status and health of every collection that the caller may read, by name."""
        names = set(self._services.readable_names(principal))
        records = self._services.store.collections.all()
        statuses = [self._status(principal, record) for record in records if record.name in names]
        return [(status, self._health(status)) for status in statuses]

    def get(self, principal: Principal, name: str) -> CollectionOverview:
        """Return the state of a collection. Raises Forbidden."""
        record = self._services.record(principal, name)
        status = self._status(principal, record)
        return CollectionOverview(
            status=status,
            health=self._health(status),
            being_written=lock_holder(self._services.loaded.workspace) is not None,
            calibrations=tuple(load_calibrations(self._services.loaded, self._services.store, record))
            if principal.sees_whole(name)
            else (),
        )

    async def verify(self, principal: Principal, name: str, *, deep: bool, mend: bool) -> VerifyReport:
        """Compare a collection's files with the store. With `mend`, rebuild damaged generations without embedding.

        `deep` checks every row and every kept generation. Raises Forbidden without write access, ServerOverloaded,
        StoreError if the store itself is damaged, and LockHeld while another process writes.
        """
        self._services.record(principal, name)
        principal.require_whole(name)
        return await self._services.workers.run(lambda _: self._verify(name, deep=deep, mend=mend))

    def roll_back(self, principal: Principal, name: str, to: int | None, *, again: bool) -> RollbackReport:
        """Publish an earlier generation.

        Raises Forbidden without write access, UsageError if the generation is gone, and LockHeld.
        """
        self._services.record(principal, name)
        principal.require_whole(name)
        place = self._services.loaded.workspace
        with writer_lock(place, f"serve: rollback -c {name}"), open_store(place, for_writing=True) as store:
            left, now = roll_back(store, name, to, again=again)
        return RollbackReport(collection=name, left=left, now=now)

    def _verify(self, name: str, *, deep: bool, mend: bool) -> VerifyReport:
        found = verify_collection(self._services.store, name, deep=deep)
        healed: tuple[tuple[int, int], ...] = ()
        if mend and found.damage:
            place, keep = self._services.loaded.workspace, self._services.loaded.settings.storage.keep_generations
            with writer_lock(place, f"serve: verify -c {name}"), open_store(place, for_writing=True) as store:
                healed = tuple(repair(store, verify_collection(store, name, deep=deep).damage, SilentListener()))
                collect_garbage(store, keep)
        ok = not found.damage or bool(healed)
        return VerifyReport(ok=ok, damage=found.damage, unchecked=found.unchecked, healed=healed)

    def _status(self, principal: Principal, record: CollectionRecord) -> CollectionStatus:
        """Return the status, with the folders on this machine for administrators only."""
        status = collection_status(self._services.store, record)
        if conditions := principal.conditions_of(record.name):
            own = own_documents(self._services.store, record, conditions)
            files = own_files(self._services.store, record, conditions, own)
            status = _own_status(status, own, files.values())
        return status if principal.administers else replace(status, roots=())

    def _health(self, status: CollectionStatus) -> CollectionHealth:
        fingerprint = self._services.embedding.fingerprint
        if status.generation is None:
            return "empty"
        if status.embedding != f"{fingerprint.provider} {fingerprint.model}":
            return "another model"
        if self._services.health.fault(status.collection):
            return "damaged"
        if status.unfinished_run:
            return "unfinished"
        failed = any(file["outcome"] == "failed" for file in status.files_in_trouble)
        return "files failed" if failed else "ok"


def _own_status(
    status: CollectionStatus, documents: Sequence[StoredDocument], files: Iterable[FileRecord]
) -> CollectionStatus:
    """Return the status as if the collection had only these documents and files: those that the caller may read."""
    indexed = {one.content_key: one.nodes for one in documents}
    return replace(
        status,
        documents=len(documents),
        nodes=sum(indexed.values()),
        size=sum(one.size for one in documents if not one.part),
        collection_hash="",
        kept_generations=(),
        last_run=None,
        unfinished_run=False,
        artefacts=(),
        duplicates=len(documents) - len(indexed),
        forgotten=None,
        skipped=None,
        skipped_files=(),
        files_in_trouble=files_in_trouble(files),
    )


LARGEST_RADIUS = 3
MOST_ENTITIES = 500
_ARTEFACT = "enterprise_model"


class EntityNeighbourhood(ResultModel):
    """An entity with its neighbours and their relationships in an enterprise model."""

    collection: str = Field(description="Collection that holds the model.")
    entity: Entity = Field(description="The requested entity.")
    neighbours: tuple[Entity, ...] = Field(description="Entities within the radius, in the order of the model.")
    relationships: tuple[Relationship, ...] = Field(description="Every relationship among these entities.")
    left_out: int = Field(description="Number of further entities within the radius, which are not returned.")


class NeighbourActions(ServiceActions):
    """Reads enterprise models, which consist of entities and their relationships, from published collections."""

    def around(
        self, principal: Principal, entity: str, collection: str | None, job: str | None, *, radius: int, directed: bool
    ) -> EntityNeighbourhood:
        """Return the entities within `radius` relationships of an entity, which is named by id or name.

        The model belongs to a collection, or to the collection that a job names. Raises Forbidden. Raises UsageError
        if a collection and a job are named, or neither, or if not exactly one entity of the model matches.
        """
        if (collection is None) == (job is None):
            raise UsageError("Name the one enterprise model to search.", hint="Name either a collection or a job.")
        if job is not None:
            collection = BatchJobActions(self._services).get(principal, job).spec.sources.model
            if not collection:
                raise UsageError(
                    f"Job '{job}' has no collection with an enterprise model among its sources.",
                    hint="Name a collection that has one.",
                )
        [readable] = self._services.collections(principal, [collection or ""])
        with self._services.engines.lend([readable]) as engine:
            return _neighbourhood(readable.name, _load_models(engine.generations[0]), entity, radius, directed=directed)


def _load_models(generation: Searchable) -> list[EnterpriseModel]:
    models = generation.artefacts(_ARTEFACT) if _ARTEFACT in generation.artefact_names else {}
    if not models:
        message = f"The collection '{generation.collection}' contains no enterprise model."
        raise UsageError(message, hint="Name a collection into which an enterprise model was ingested.")
    return [EnterpriseModel.from_json(value) for value in models.values()]


def _neighbourhood(
    collection: str, models: Sequence[EnterpriseModel], wanted: str, radius: int, *, directed: bool
) -> EntityNeighbourhood:
    pairs = [(model, entity) for model in models for entity in model.entities]
    matches = [pair for pair in pairs if pair[1].id == wanted]
    matches = matches or [pair for pair in pairs if words(pair[1].name) == words(wanted)]
    if len(matches) != 1:
        raise _entity_error(wanted, [entity for _, entity in matches], [entity.name for _, entity in pairs])
    [(model, centre)] = matches
    near = ModelGraph(model).ego_graph(centre.id, radius, directed=directed)
    others = tuple(entity for entity in near.entities if entity.id != centre.id)
    shown = others[:MOST_ENTITIES]
    ids = {centre.id, *(entity.id for entity in shown)}
    relationships = (one for one in near.relationships if one.source.entity_id in ids and one.target.entity_id in ids)
    return EntityNeighbourhood(
        collection=collection,
        entity=centre,
        neighbours=shown,
        relationships=tuple(relationships),
        left_out=len(others) - len(shown),
    )


def _entity_error(wanted: str, matches: Sequence[Entity], names: Sequence[str]) -> UsageError:
    if not matches:
        return UsageError(f"The model has no entity '{wanted}'.", hint=nearest_names(wanted, sorted(set(names))))
    ids = ", ".join(f"{one.id} ({one.type or 'entity'}, {one.domain or 'no domain'})" for one in matches[:10])
    return UsageError(f"{len(matches)} entities are named '{wanted}'.", hint=f"Give an id: {ids}.")

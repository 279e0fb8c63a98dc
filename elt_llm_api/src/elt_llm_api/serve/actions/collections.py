"""Collections for callers: what there is, how it is, whether it is as it was published, and going back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from elt_llm_core.collection import collect_garbage, roll_back
from elt_llm_core.progress import SilentProgress
from elt_llm_core.store.lock import holder, writer_lock
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.status import CollectionStatus, collection_status
from elt_llm_core.store.store import open_store
from elt_llm_core.verification import Damage, examine, heal

from elt_llm_api.calibration_lines import calibrations_of
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_query.calibration import ProfileCalibration

Health = Literal["ok", "empty", "another model", "damaged", "unfinished", "files failed"]
"""Whether questions are answered from all of it.

empty: nothing is published; another model: its vectors are not of the server's model; damaged: files of it are not as
they were published, and no question is answered until that is mended; unfinished: an ingest goes on, or was cut off;
files failed: some could not be read."""


@dataclass(frozen=True)
class Described:
    """A collection, whether it can be asked, whether something is being written, and what was fitted to it."""

    status: CollectionStatus
    health: Health
    being_written: bool
    calibrations: "tuple[ProfileCalibration, ...]"


@dataclass(frozen=True)
class Verified:
    """What a check found, and which generations were built anew: (damaged number, number in its place)."""

    damage: tuple[Damage, ...]
    unchecked: tuple[str, ...]
    healed: tuple[tuple[int, int], ...]

    @property
    def ok(self) -> bool:
        """Whether all is as published by now."""
        return not self.damage or bool(self.healed)


class Collections:
    """What callers may do with collections as a whole."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self, principal: Principal) -> list[tuple[CollectionStatus, Health]]:
        """Every collection that the caller may read, by name."""
        names = set(principal.readable(self._services.known()))
        store = self._services.store
        statuses = [self._status(principal, one) for one in store.collections.all() if one.name in names]
        return [(status, self._health(status)) for status in statuses]

    def one(self, principal: Principal, name: str) -> Described:
        """How a collection is. Raises Forbidden."""
        record = self._record(principal, name)
        status = self._status(principal, record)
        fitted = calibrations_of(self._services.loaded, self._services.store, record)
        writing = holder(self._services.loaded.data_dir) is not None
        return Described(status, self._health(status), writing, tuple(fitted))

    async def verify(self, principal: Principal, name: str, *, deep: bool, mend: bool) -> Verified:
        """Hold a collection against its record; with `mend` build anew what is damaged, without embedding.

        `deep` looks at every row and every generation that is kept. Raises Forbidden without the right to write,
        Overloaded, StoreError if the store itself is damaged, LockHeld while somebody else writes.
        """
        self._writable(principal, name)
        return await self._services.workers.run(lambda _: self._verify(name, deep=deep, mend=mend))

    def roll_back(self, principal: Principal, name: str, to: int | None, *, again: bool) -> tuple[int, int]:
        """Show readers an earlier generation; the numbers of the one left and of the one now seen.

        Raises Forbidden without the right to write, UsageError if there is no such generation, LockHeld.
        """
        self._writable(principal, name)
        data_dir = self._services.loaded.data_dir
        with writer_lock(data_dir, f"serve: rollback -c {name}"), open_store(data_dir, for_writing=True) as store:
            return roll_back(store, name, to, again=again)

    def _verify(self, name: str, *, deep: bool, mend: bool) -> Verified:
        found = examine(self._services.store, name, deep=deep)
        healed: Sequence[tuple[int, int]] = ()
        if mend and found.damage:
            data_dir, keep = self._services.loaded.data_dir, self._services.loaded.settings.storage.keep_generations
            with writer_lock(data_dir, f"serve: verify -c {name}"), open_store(data_dir, for_writing=True) as store:
                healed = heal(store, examine(store, name, deep=deep).damage, SilentProgress())
                collect_garbage(store, keep)
        return Verified(found.damage, found.unchecked, tuple(healed))

    def _record(self, principal: Principal, name: str) -> CollectionRecord:
        [known] = self._services.collections(principal, [name])
        return self._services.store.collections.get(known)

    def _writable(self, principal: Principal, name: str) -> None:
        self._record(principal, name)
        principal.require_write(name)

    def _status(self, principal: Principal, record: CollectionRecord) -> CollectionStatus:
        """The status; where on this machine its files lie is told to those who administer it."""
        status = collection_status(self._services.store, record)
        return status if principal.administers else replace(status, roots=())

    def _health(self, status: CollectionStatus) -> Health:
        fingerprint = self._services.embedding.fingerprint
        if status.generation is None:
            return "empty"
        if status.embedding != f"{fingerprint.provider} {fingerprint.model}":
            return "another model"
        if self._services.soundness.fault(status.collection):
            return "damaged"
        if status.unfinished_run:
            return "unfinished"
        return "files failed" if status.files_in_trouble else "ok"

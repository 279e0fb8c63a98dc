"""Collections and profiles under the names of models, for clients that know nothing but models."""

from dataclasses import dataclass

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.collections import Collections
from elt_llm_api.serve.refusals import NotThere
from elt_llm_api.serve.services import Services

_PROFILE = "profile/"


@dataclass(frozen=True)
class NamedModel:
    """What a model's name stands for. No collections: those of the profile. `built_at` is ISO 8601, where known."""

    name: str
    collections: tuple[str, ...]
    profile: str
    built_at: str | None = None


class ModelNames:
    """`COLLECTION`, `profile/NAME` and `COLLECTION@PROFILE`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self, principal: Principal) -> list[NamedModel]:
        """Every collection that the caller may read and can ask, then every profile; their pairs are not listed."""
        known = Collections(self._services).all(principal)
        collections = [
            NamedModel(status.collection, (status.collection,), "default", status.published_at)
            for status, _ in known
            if status.generation is not None
        ]
        return collections + [NamedModel(_PROFILE + name, (), name) for name in self._services.in_force.profiles]

    def find(self, principal: Principal, name: str) -> NamedModel:
        """What a name stands for. Raises NotThere, alike for what is not there and what the caller may not read."""
        collection, at, profile = name.partition("@")
        if name.startswith(_PROFILE):
            collection, profile = "", name.removeprefix(_PROFILE)
        elif not at:
            profile = "default"
        may_read = collection in self._services.known() and principal.may_read(collection)
        if profile not in self._services.in_force.profiles or (not may_read and not name.startswith(_PROFILE)):
            raise NotThere(
                f"There is no model '{name}', or this key may not read it.",
                hint="GET /v1/models lists those there are.",
            )
        return NamedModel(name, (collection,) if collection else (), profile)

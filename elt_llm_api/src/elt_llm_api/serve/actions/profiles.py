"""Profiles: list, read, save; search with unsaved settings."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elt_llm_consumer.export.text import write_atomically
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.settings.profiles import built_in_profiles, check_profile, profile_names
from elt_llm_core.settings.template import profile_as_yaml
from elt_llm_core.settings.tree import Profile
from elt_llm_query.search import SearchResult
from pydantic import BaseModel, Field

from elt_llm_api.serve.access.principal import Forbidden, Principal, ReadableCollection
from elt_llm_api.serve.actions.questions import QuestionActions, SearchRequest
from elt_llm_api.serve.services import ServiceActions, Services

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class ProfileSummary(BaseModel):
    """A profile in a list: its name and description."""

    name: str = Field(examples=["fast"])
    description: str = Field(examples=["Fused and not reranked."])
    shipped: bool = Field(description="Whether it comes with the program.")


class ProfileActions(ServiceActions):
    """Lists, reads and saves profiles. Every caller may use every profile; only administrators save profiles."""

    def all(self) -> list[ProfileSummary]:
        """Return every active profile, the default first, then by name."""
        profiles = self._services.active.profiles
        return [
            ProfileSummary(name=name, description=profiles[name].description, shipped=name in built_in_profiles())
            for name in sorted(profiles, key=lambda name: (name != "default", name))
        ]

    def get(self, principal: Principal, name: str) -> Profile:
        """Return a profile, without collections that the caller may not read.

        The prefixes of collection names are removed too, unless the caller is an administrator. Raises UsageError if
        the profile does not exist, SettingsError if its file is invalid.
        """
        profile = self._services.active.profile(name)
        prefixes = profile.collection_prefixes if principal.administers else ()
        readable = tuple(principal.readable(profile.collections))
        return profile.model_copy(update={"collections": readable, "collection_prefixes": prefixes})

    def save(self, principal: Principal, name: str, content: Mapping[str, Any], *, replace: bool = False) -> Path:
        """Write a profile to `config/profiles/NAME.yaml`, atomically, with a comment for each key.

        `content` holds the keys of a profile (description, query, ...) and is validated. An existing or shipped profile
        is replaced only with `replace`. Raises Forbidden, UsageError, SettingsError.
        """
        if not principal.administers:
            raise Forbidden(
                "This key may not change settings.", hint="Use a key with permission to administer the server."
            )
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be a profile's name.",
                hint="Use at most 63 small letters, digits, - and _; start with a letter or a digit.",
            )
        if not replace and name in profile_names(self._services.loaded):
            origin = "a built-in" if name in built_in_profiles() else "an existing"
            raise UsageError(
                f"'{name}' is the name of {origin} profile.",
                hint="Choose another name, or choose to replace the profile.",
            )
        profile = check_profile(content, self._services.loaded.settings, {}, f"profile {name}")
        path = self._services.loaded.config_dir / "profiles" / f"{name}.yaml"
        try:
            write_atomically(path, profile_as_yaml(profile).encode())
        except StoreError as error:
            cause, hint = getattr(error.__cause__, "strerror", ""), "Check that config/profiles is a writable folder."
            raise UsageError(f"The profile cannot be written: {cause}.", hint=hint) from error
        self._services.reloader.check_now()
        return path


class SearchTrial:
    """Searches with settings that are not saved. Each search opens an engine of its own and closes it.

    Only one search runs at a time. Waiting searches use no thread.
    """

    def __init__(self, services: Services) -> None:
        self._services, self._questions, self._one_at_a_time = services, QuestionActions(services), asyncio.Lock()

    async def search(self, principal: Principal, request: SearchRequest, content: Mapping[str, Any]) -> SearchResult:
        """Search with the unsaved profile in `content`. The trace explains the result.

        If the request names no collections, those of `request.profile` are searched. Raises SettingsError for invalid
        keys, Forbidden, ServerOverloaded, and search errors.
        """
        profile = check_profile(content, self._services.loaded.settings, {}, "these settings")
        scope = await asyncio.to_thread(self._questions.scope, principal, request)
        async with self._one_at_a_time:
            return await self._services.workers.run(lambda _: self._search(scope, request, profile))

    def _search(self, scope: tuple[ReadableCollection, ...], request: SearchRequest, profile: Profile) -> SearchResult:
        services = self._services
        with services.active.open_engine(profile, scope, services.embedding, services.databases) as engine:
            return engine.search(request.question, top_k=request.top_k, where=request.where, explain=True)


def apply_changes(profile: Profile, query: Mapping[str, Any], unchanged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a profile, updated by each value of `query` that is not the same in `unchanged`."""
    content: dict[str, Any] = profile.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    changed = {key: value for key, value in query.items() if unchanged.get(key) != value}
    section = {**content.get("query", {}), **changed}
    return {**content, "query": section} if section else content

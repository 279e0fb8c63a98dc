"""Searching with settings that are not saved: to see what they change before they become a profile."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from elt_llm_core.settings import Profile
from elt_llm_core.settings_mistakes import validated
from elt_llm_query.engine import open_engine

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Asking, SearchRequest
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found


class Trying:
    """Opens an engine for one search and closes it: one at a time, whoever asks; others wait, and take no thread."""

    def __init__(self, services: Services) -> None:
        self._services, self._asking, self._one = services, Asking(services), asyncio.Lock()

    async def search(self, principal: Principal, request: SearchRequest, given: Mapping[str, Any]) -> "Found":
        """The passages that a profile of these keys finds, explained; `request.profile` says where if it names none.

        Raises SettingsError for keys that do not hold, Forbidden, Overloaded, and what searching raises.
        """
        profile = validated(Profile, given, {}, "these settings")
        scope = await asyncio.to_thread(self._asking.scope, principal, request)
        async with self._one:
            return await self._services.workers.run(lambda _: self._search(scope, request, profile))

    def _search(self, scope: tuple[str, ...], request: SearchRequest, profile: Profile) -> "Found":
        now = self._services.in_force
        with open_engine(
            profile.apply_to(now.loaded.settings),
            now.loaded.data_dir,
            scope,
            embedding=self._services.embedding,
            aliases=now.aliases,
            prompts=now.prompts,
        ) as engine:
            return engine.search(request.question, top_k=request.top_k, where=request.where, explain=True)


def with_changes(profile: Profile, query: Mapping[str, Any], unchanged: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a profile with those of its query section that differ from `unchanged` laid over it."""
    given: dict[str, Any] = profile.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    changed = {key: value for key, value in query.items() if unchanged.get(key) != value}
    section = {**given.get("query", {}), **changed}
    return {**given, "query": section} if section else given

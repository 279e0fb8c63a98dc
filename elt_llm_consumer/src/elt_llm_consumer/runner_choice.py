"""Which rows of a job a run is to make."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.errors import UsageError
from elt_llm_core.nearest_names import nearest_names

from elt_llm_consumer.tasks import RowTask


@dataclass(frozen=True)
class Choice:
    """`only` are names or keys, `domain` is the outermost group, `limit` the most rows made; `anew`: also kept ones."""

    only: tuple[str, ...] = ()
    domain: str | None = None
    limit: int | None = None
    anew: bool = False

    def of(self, tasks: Sequence[RowTask]) -> list[RowTask]:
        """The tasks that are named, in their order. Raises UsageError, with near names, for a name that none has."""
        chosen = list(tasks)
        if self.only:
            wanted = self._known(self.only, [text for task in tasks for text in (task.name, task.key)], "row")
            chosen = [task for task in chosen if wanted & {task.name.casefold(), task.key.casefold()}]
        if self.domain is not None:
            wanted = self._known((self.domain,), [task.group[0] for task in tasks if task.group], "domain")
            chosen = [task for task in chosen if task.group and task.group[0].casefold() in wanted]
        return chosen

    def _known(self, named: Sequence[str], known: Sequence[str], what: str) -> set[str]:
        folded = {text.casefold() for text in known}
        for name in named:
            if name.casefold() not in folded:
                raise UsageError(
                    f"The job has no {what} '{name}'.", hint=nearest_names(name, list(dict.fromkeys(known)))
                )
        return {name.casefold() for name in named}

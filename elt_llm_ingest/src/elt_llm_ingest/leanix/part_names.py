"""Names of the documents within a file, from ids that a stranger chose."""

import re

from elt_llm_ingest.unique_names import UniqueNames

_LONGEST = 100
_UNFIT = re.compile(r"[^\w.~:/-]", re.ASCII)


class PartNames:
    """`kind/id` with every sign that has no place in an id or a path replaced, each name given once."""

    def __init__(self) -> None:
        self._names = UniqueNames()

    def part_name(self, kind: str, identifier: str) -> str:
        """Such as entity/1f0c; the second of two that would look alike gets a number."""
        fitting = _UNFIT.sub("-", identifier[:_LONGEST]).strip("/.") or "-"
        return self._names.take(f"{kind}/{fitting.replace('..', '-').replace('//', '/')}")

"""Which job filled a collection, and which of the groups that its files were split into is in it."""

import json
from dataclasses import asdict, dataclass

from elt_llm_core.errors import StoreError


@dataclass(frozen=True)
class Filling:
    """The job by name. Where it splits files into groups: this collection's group, and keys of the files that have it.

    A key stands for a file's place, bytes and reader, so that a file whose key is known need not be read again to know
    its groups.
    """

    job: str
    group: str = ""
    files: tuple[str, ...] = ()

    def to_json(self) -> str:
        """How it is stored."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Filling":
        """What was stored. Raises StoreError if it is not that."""
        try:
            values = json.loads(text)
            return Filling(str(values["job"]), str(values["group"]), tuple(map(str, values["files"])))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError("It is not known which job filled a collection.", hint="Run: elt-llm verify") from error

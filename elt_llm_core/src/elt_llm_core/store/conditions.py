"""Conditions in a caller's permissions, such as `tenant_id=acme`, which restrict the documents that the caller sees.

A condition is a plain value, so every back end can enforce it in its own way, such as by a database's row-level
policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from elt_llm_core.errors import UsageError
from elt_llm_core.store.records import OWNER_FIELDS
from elt_llm_core.utilities import leaves_out_conditions

LONGEST_VALUE = 60  # characters
_LONGEST_QUOTED = 200  # characters; a quoted value is part of a folder name, which may have at most 255


@dataclass(frozen=True)
class DocumentCondition:
    """A condition of an API key or a group: a document's `field` must equal one of `values`, compared exactly.

    Only `OWNER_FIELDS` can be used, because a document cannot set these fields by its own content.
    """

    field: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise UsageError if the field is not in `OWNER_FIELDS`, or if a value is missing or too long."""
        if self.field not in OWNER_FIELDS:
            raise UsageError(
                f"'{self}' cannot be a condition of an API key or a group, because documents can set '{self.field}'.",
                hint=f"Use one of {', '.join(OWNER_FIELDS)}, which documents cannot set by their own content.",
            )
        if not self.values or not all(map(_is_value, self.values)):
            hint = f"It must also have at most {_LONGEST_QUOTED} characters when it is percent-encoded, as in a URL."
            raise UsageError(f"A value of '{self.field}' needs 1 to {LONGEST_VALUE} characters.", hint=hint)

    def __str__(self) -> str:
        """Return the condition in the syntax of a filter, such as `tenant_id=acme`."""
        listed = ",".join(f'"{value}"' if "," in value else value for value in self.values)
        return f"{self.field}={self.values[0]}" if len(self.values) == 1 else f"{self.field} in {listed}"

    @classmethod
    def of_json(cls, value: Any) -> "DocumentCondition":
        """Return the condition that `to_json` wrote."""
        return cls(value["field"], tuple(value["values"]))

    def to_json(self) -> dict[str, Any]:
        """Return the condition as plain JSON types."""
        return {"field": self.field, "values": list(self.values)}

    def admits(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a document with this metadata fulfils the condition; without the field, it does not."""
        return str(metadata.get(self.field, "")) in self.values


def _is_value(value: str) -> bool:
    return 0 < len(value) <= LONGEST_VALUE and len(quote(value, safe="", errors="replace")) <= _LONGEST_QUOTED


DocumentConditions = tuple[DocumentCondition, ...]
"""Conditions that must all hold; an empty tuple allows every document."""


def admit(conditions: DocumentConditions, metadata: Mapping[str, Any]) -> bool:
    """Return whether a document with this metadata fulfils all conditions."""
    return leaves_out_conditions() or all(condition.admits(metadata) for condition in conditions)


def owner_folders(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the nested folders for uploads: {"tenant_id": "acme"} -> ("tenant_id=acme",)."""
    return tuple(f"{name}={quote(fields[name], safe='')}" for name in OWNER_FIELDS if fields.get(name))


def fields_of_folders(folders: Sequence[str]) -> dict[str, str]:
    """Return the fields in `OWNER_FIELDS` that folder names contain: ["tenant_id=acme"] -> {"tenant_id": "acme"}."""
    pairs = (folder.partition("=") for folder in folders)
    return {name: unquote(value) for name, equals, value in pairs if equals and name in OWNER_FIELDS}

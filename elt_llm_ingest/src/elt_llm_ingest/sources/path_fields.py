"""Read a file's owner fields (tenant, knowledge base, document type) from the names of its folders."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.store.records import OWNER_FIELDS
from elt_llm_core.store.uploads import upload_fields

from elt_llm_ingest.sources.collection_sources import LocatedFile
from elt_llm_ingest.sources.request import IngestRequest

_PLACEHOLDER = re.compile(r"\{([a-z_]{1,40})\}")
_EXAMPLE = "Write folders such as {tenant_id}/{knowledge_base_id}/**; * matches any one folder."


@dataclass(frozen=True)
class FolderPattern:
    """A pattern such as `{tenant_id}/{knowledge_base_id}/**` for the folders between a job's path and a file.

    `folders` has the field that each folder names, or None for `*`. Here: ("tenant_id", "knowledge_base_id").
    """

    folders: tuple[str | None, ...]

    @classmethod
    def parse(cls, text: str) -> "FolderPattern":
        """Parse a pattern. Raises UsageError unless its parts are known fields, `*`, and possibly a last `**`."""
        parts = text.strip("/").split("/")
        if parts[-1] == "**":
            parts = parts[:-1]
        names = [None if part == "*" else _field_name(part, text) for part in parts]
        fields = [name for name in names if name]
        if not fields or len(set(fields)) < len(fields):
            raise UsageError(f"The pattern {text!r} names no field, or one field twice.", hint=_EXAMPLE)
        return cls(tuple(names))

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields in the pattern."""
        return frozenset(name for name in self.folders if name)

    def values(self, folders: Sequence[str]) -> dict[str, str]:
        """Map fields to the names of a file's folders; {} if the file is in fewer folders than the pattern has."""
        if len(folders) < len(self.folders):
            return {}
        pairs = zip(self.folders, folders, strict=False)
        return {name: unicodedata.normalize("NFC", folder) for name, folder in pairs if name}


def _field_name(part: str, text: str) -> str:
    match = _PLACEHOLDER.fullmatch(part)
    if not match or match[1] not in OWNER_FIELDS:
        raise UsageError(f"{part!r} in the pattern {text!r} is not one of {', '.join(OWNER_FIELDS)}.", hint=_EXAMPLE)
    return match[1]


def owner_fields(located: LocatedFile, request: IngestRequest, data_dir: Path) -> Mapping[str, str]:
    """Return a file's owner fields, which decide who finds it: `tenant_id`, `knowledge_base_id` and `doc_type`.

    These are the fields that were set when the file was uploaded. For other files they are the names of the folders in
    its path, read by the pattern `path_fields` of the request: "{tenant_id}/**" and "acme/fees.pdf" -> {"tenant_id":
    "acme"}. The pattern starts below the innermost path of the request that contains the file.
    """
    path = located.root_path / located.relative
    if uploaded := upload_fields(data_dir, request.collection, path):
        return uploaded
    if not request.path_fields:
        return {}
    named = [base for base in request.paths if base.is_dir() and path.is_relative_to(base)]
    base = max(named, key=lambda one: len(one.parts), default=located.root_path)
    return FolderPattern.parse(request.path_fields).values(path.relative_to(base).parts[:-1])

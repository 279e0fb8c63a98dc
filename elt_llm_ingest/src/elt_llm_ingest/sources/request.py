"""The request of one ingest run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypedDict

from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.sources.patterns import PathSelection
from elt_llm_ingest.sources.reader_source import ReaderSource
from elt_llm_ingest.sources.remote import RemoteUrl


class IngestFlags(TypedDict, total=False):
    """The options of an ingest that apply to every collection, with the same meaning as in IngestRequest."""

    rebuild: bool
    resume: bool
    allow_delete: bool
    remember: bool


@dataclass(frozen=True)
class IngestRequest:
    """A request to ingest `paths`, remote `urls` and the documents of `source_reader`.

    If all are empty, the folders and files of the collection's earlier ingests are ingested again.

    `include` and `exclude` are patterns for paths below a folder. `reader` is the name of a reader for all files, or
    "auto". `columns` maps roles such as "entity" to the column headers of a data dictionary. `metadata` is added to
    every document, and so are fields that the pattern `path_fields` reads from folder names. With `split_by`, only one
    `group` of each file is ingested: a top-level section, or the documents of one type within the file. `job` is the
    name of the requesting job, if any. With `remember`, files that `elt-llm forget` removed are read again;
    an upload that was stored again since is read in any case.
    `check_against` names the collection with the inventory to which an enterprise model is compared.
    """

    collection: str
    paths: tuple[Path, ...] = ()
    urls: tuple[RemoteUrl, ...] = ()
    source_reader: ReaderSource | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reader: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    path_fields: str = ""
    split_by: Literal["", "section", "type"] = ""
    group: str = ""
    job: str = ""
    check_against: str = ""
    rebuild: bool = False
    resume: bool = False
    allow_delete: bool = False
    remember: bool = False
    command: str = "elt-llm ingest"

    @cached_property
    def selection(self) -> PathSelection:
        """The include and exclude patterns."""
        return PathSelection.of(self.include, self.exclude)

    @property
    def is_exhaustive(self) -> bool:
        """Whether the request names all that its collection should contain, so that other documents are removed."""
        return self.selection.is_exhaustive or bool(self.job)

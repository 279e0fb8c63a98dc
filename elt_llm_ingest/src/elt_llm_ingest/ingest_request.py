"""What one ingest is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from elt_llm_core.store.records import MetadataValue


@dataclass(frozen=True)
class IngestRequest:
    """What to ingest. No paths: the folders and files the collection was filled from before.

    `include` and `exclude` are patterns over paths below a folder, `reader` the name of a reader for all files, or
    "auto", `metadata` goes onto every document. With `split_by`, only what belongs to `group` is taken of each file:
    a top-level section, or the documents within it of one type. `job` is the job file that asks, if one does;
    `remember` reads again what was forgotten, as far as it is found; `check_against` names the collection of the
    inventory that an enterprise model is compared with.
    """

    collection: str
    paths: tuple[Path, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reader: str = "auto"
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    split_by: Literal["", "section", "type"] = ""
    group: str = ""
    job: str = ""
    check_against: str = ""
    rebuild: bool = False
    resume: bool = False
    allow_delete: bool = False
    remember: bool = False
    command: str = "elt-llm ingest"

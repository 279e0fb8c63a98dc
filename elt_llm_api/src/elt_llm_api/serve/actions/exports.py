"""Files that jobs wrote: found by their receipts, for callers who may read all that they were made from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elt_llm_consumer.job_file import JobFile
from elt_llm_consumer.kinds import Kind
from elt_llm_consumer.receipts import SUFFIX
from elt_llm_core.state.reviews import JobReviews
from elt_llm_core.state.rows import JobName
from pydantic import BaseModel, Field, ValidationError

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.batch_jobs import BatchJobs
from elt_llm_api.serve.actions.row_shapes import ReceiptShown
from elt_llm_api.serve.services import Services

_ELSEWHERE = ("purview", "openmetadata", "datahub")
_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".yaml": "application/yaml",
}


class ExportFile(BaseModel):
    """A file that a job wrote."""

    file: str = Field(examples=["glossary.xlsx"])
    format: str = Field(examples=["xlsx"])
    bytes: int
    written_at: str = Field(description="ISO 8601, UTC.")
    before_reviews: bool = Field(description="Whether rows were reviewed since: run the job again, and they are in it.")


class _Read(BaseModel):
    """A document that a receipt names."""

    collection: str


class _Head(BaseModel):
    """What is needed of a receipt; its quotes, of which there may be tens of thousands, are passed over."""

    output: str
    output_hash: str
    job: str
    kind: str
    generations: tuple[str, ...]
    documents: tuple[_Read, ...]
    model: str
    versions: dict[str, str]
    written_at: str


@dataclass(frozen=True)
class Download:
    """A file to send."""

    path: Path
    media_type: str


class Exports:
    """Exports of jobs. No path is made of what a caller says: it is looked up among the files that there are."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self, principal: Principal, job: str, kind: Kind) -> list[ExportFile]:
        """Every file of a job, by name. Raises Forbidden."""
        file = BatchJobs(self._services).get(principal, job)
        reviews = JobReviews(self._services.state).all(JobName(file.name, kind)).values()
        last = max((review.reviewed_at for review in reviews), default="")
        return [
            ExportFile(
                file=path.name,
                format=_format(path),
                bytes=path.stat().st_size,
                written_at=receipt.written_at,
                before_reviews=receipt.written_at <= last,  # both in whole seconds
            )
            for path, receipt in self._written(principal, file, kind)
        ]

    def download(self, principal: Principal, job: str, kind: Kind, wanted: str) -> Download:
        """The file of that name, or the main one of that format. Raises Forbidden."""
        file = BatchJobs(self._services).get(principal, job)
        paths = [path for path, _ in self._written(principal, file, kind)]
        found = [path for path in paths if path.name == wanted] or sorted(
            (path for path in paths if _format(path) == wanted), key=_main_first
        )
        if not found:
            raise Forbidden(
                f"There is no file '{wanted}' of this job, or this key may not read it.",
                hint=f"List the files: GET /v1/rows/{file.name}/{kind}/files",
            )
        return Download(found[0], _MEDIA_TYPES.get(found[0].suffix, "application/octet-stream"))

    def receipts(self, principal: Principal, file: JobFile, kind: Kind) -> list[ReceiptShown]:
        """What each file of a job was made from, as far as it is no secret: no paths and no settings."""
        return [
            ReceiptShown(
                file=path.name,
                file_hash=receipt.output_hash,
                written_at=receipt.written_at,
                generations=receipt.generations,
                model=receipt.model,
                versions=receipt.versions,
            )
            for path, receipt in self._written(principal, file, kind)
        ]

    def _written(self, principal: Principal, file: JobFile, kind: Kind) -> Iterator[tuple[Path, _Head]]:
        """Files with a receipt of this very job beside them, made of nothing that the caller may not read."""
        folder = file.folder / file.spec.outputs.folder
        for beside in sorted(folder.glob(f"*{SUFFIX}")):
            path = beside.with_name(beside.name.removesuffix(SUFFIX))
            receipt = _read(beside) if path.is_file() and not path.is_symlink() else None
            if receipt is not None and _is_of(receipt, file, kind, path) and _may_read(principal, receipt):
                yield path, receipt


def _is_of(receipt: _Head, file: JobFile, kind: Kind, path: Path) -> bool:
    return (receipt.job, receipt.kind, receipt.output) == (file.name, kind, path.name)


def _may_read(principal: Principal, receipt: _Head) -> bool:
    return all(map(principal.may_read, {document.collection for document in receipt.documents}))


def _read(path: Path) -> _Head | None:
    try:
        return _Head.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # being written, or of a version whose receipts had another shape
        return None


def _format(path: Path) -> str:
    """As job files call it."""
    parts = path.name.split(".")
    return next((name for name in _ELSEWHERE if name in parts[-2:]), parts[-1])


def _main_first(path: Path) -> tuple[bool, int, str]:
    return ".evidence." in path.name, len(path.name), path.name

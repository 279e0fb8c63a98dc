"""Receive uploaded files: parse the multipart body, check names and content, store, queue an ingest."""

import asyncio
import errno
import filecmp
import os
import re
import shutil
import tomllib
import unicodedata
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from elt_llm_core.errors import UsageError
from elt_llm_core.state.jobs import QueuedJob
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.conditions import DocumentCondition, owner_folders
from elt_llm_core.store.database import UPLOADS_FOLDER
from elt_llm_core.store.disk import file_size, sync_file
from elt_llm_core.store.records import OWNER_FIELDS, sha256
from elt_llm_core.store.store import uploads_folder
from elt_llm_core.store.uploads import INCOMING, uploaded_files
from elt_llm_ingest.readers import REFUSED_SUFFIXES, SUPPORTED_SUFFIXES, has_formats, readable_suffixes
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.errors import NoRoom, TooLarge, UnsupportedUpload, WrongFormField
from elt_llm_api.serve.services import ServiceActions

MOST_FILES = 100
"""Largest number of files in one upload."""
_TEXT_FIELDS = ("collection", "resume", *OWNER_FIELDS)
_Files = Sequence[tuple[str, BinaryIO]]  # the name that the client sent, and the content
_MAX_FIELDS, _MAX_FIELD_BYTES = 20, 4096  # limits for form fields that are not files


class UploadParser(MultiPartParser):
    """Starlette's form parser, which also limits the size of each file and requires a complete form."""

    spool_max_size = 1 << 16  # bytes of a file that are kept in memory

    def __init__(self, headers: Headers, body: AsyncGenerator[bytes, None], max_bytes: int) -> None:
        """Set the limits. Raises UnsupportedUpload unless the body is a form with files."""
        content_type = headers.get("content-type", "").lower()
        if not content_type.startswith("multipart/form-data") or "boundary=" not in content_type:
            raise UnsupportedUpload(
                "Files are uploaded as multipart/form-data, but this request has another content type.",
                hint="Send the fields collection and files; see /openapi.json",
            )
        super().__init__(headers, body, max_files=MOST_FILES, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES)
        self._max_bytes, self._part_bytes, self._complete = max_bytes, 0, False

    def on_part_begin(self) -> None:
        """Start to count the bytes of a form part."""
        self._part_bytes = 0
        super().on_part_begin()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Store a block of bytes of a form part, such as a file. Raises TooLarge."""
        self._part_bytes += end - start
        if self._part_bytes > self._max_bytes:
            message = f"A file may have at most {self._max_bytes} bytes."
            raise TooLarge(message, hint="Split the file, or ask the operator to raise ingest.max_file_mb.")
        super().on_part_data(data, start, end)

    def on_end(self) -> None:
        """Record that the form is complete: its last boundary was read."""
        self._complete = True

    async def parse(self) -> FormData:
        """Return the form. Raises UsageError for a malformed form, TooLarge, and OSError if the disk fails."""
        try:
            form = await super().parse()
        except MultiPartException as error:
            if "maximum" in error.message.lower():
                raise TooLarge(f"The form is too large: {error.message}", hint="Split the upload.") from error
            raise UsageError("The body is not the form that its Content-Type declares.", hint=error.message) from error
        if not self._complete:
            await form.close()
            raise UsageError("The body of the request is incomplete.", hint="Send it again.")
        return form


LONGEST_NAME = 120
"""Largest number of characters of a file name with its suffix."""
_MAX_NAME_BYTES = 240  # in UTF-8; file systems allow 255
_FORBIDDEN = re.compile(r'[<>:"|?*/\\]')
_SPACES = re.compile(r"\s{1,100}")
_RESERVED = frozenset(("con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(10))))
_HEAD_BYTES = 8192  # bytes that are read to recognize the file type
_ZIP, _OLE, _PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-"
_TAR_SIGNATURE_AT = 257  # the first 257 bytes of a tar file are the name and dates of its first member


def _from_hex(signatures: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, signatures))


_FILE_TYPES = tomllib.loads(Path(__file__).with_name("file_types.toml").read_text(encoding="utf-8"))
_ZIPPED = frozenset((*_FILE_TYPES["zipped"], *REFUSED_SUFFIXES))
_SIGNATURES = {suffix: _from_hex(signatures) for suffix, signatures in _FILE_TYPES["signatures"].items()}
_BYTE_ORDER_MARKS, _BINARY_SIGNATURES = _from_hex(_FILE_TYPES["byte_order_marks"]), _from_hex(_FILE_TYPES["binary"])


def safe_file_name(sent_name: str) -> str:
    """Return a file name that is safe to store: the last part of `sent_name`, in NFC, at most 120 characters long.

    It contains no characters with a meaning in paths or terminals. A shortened or changed name ends in a hash of that
    last part, so that different names stay different. Raises UnsupportedUpload for an unsupported suffix.
    """
    last = unicodedata.normalize("NFC", sent_name.replace("\\", "/")).rsplit("/", 1)[-1]
    # Category C: controls, format characters such as a change of direction, and halves of surrogate pairs.
    plain = "".join("_" if unicodedata.category(character).startswith("C") else character for character in last)
    name = _SPACES.sub(" ", _FORBIDDEN.sub("_", plain)).rstrip(" .")
    stem, dot, ending = name.rpartition(".")
    suffix = f"{dot}{ending}" if dot else ""
    if suffix.lower() not in SUPPORTED_SUFFIXES | readable_suffixes():
        readable = ", ".join(sorted(readable_suffixes()))
        what = f"files ending in {suffix[:20]}" if suffix else "files without a suffix"
        raise UnsupportedUpload(
            f"Files of this type are not supported: {what}.", hint=f"Files of these types are read: {readable}"
        )
    stem = stem.strip(" .") or "document"
    if stem.split(".", 1)[0].strip().casefold() in _RESERVED:
        stem = f"_{stem}"
    safe = _shorten(stem, suffix)
    return safe if safe == last else _shorten(stem, f"-{sha256(last).hex()[:8]}{suffix}")


def _shorten(stem: str, ending: str) -> str:
    stem = stem[: LONGEST_NAME - len(ending)]
    while len(f"{stem}{ending}".encode()) > _MAX_NAME_BYTES:
        stem = stem[:-1]
    return f"{stem.rstrip(' .')}{ending}"


def check_content(path: Path, name: str) -> None:
    """Raise UnsupportedUpload if the content of a file does not match the suffix of its name."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".pdf":
        fits = _PDF in head[:1024]  # PDF readers accept other bytes in front of the header
    elif suffix in _SIGNATURES and has_formats():
        fits = head.startswith(_SIGNATURES[suffix])
    elif suffix in _ZIPPED:
        fits = head.startswith(_ZIP)
    elif suffix == ".tar":
        fits = head[_TAR_SIGNATURE_AT:].startswith(b"ustar")
    elif suffix == ".xls":
        fits = head.startswith((_ZIP, _OLE)) or _is_text(head)
    else:
        fits = _is_text(head)
    if head and not fits:
        raise UnsupportedUpload(
            f"'{name}' ends in {suffix}, but its content is that of another file type.",
            hint="Save it in the format of its suffix, or rename it; save older office files as .docx, .pptx.",
        )


def _is_text(head: bytes) -> bool:
    if head.startswith(_BYTE_ORDER_MARKS):
        return True
    if head.startswith(_BINARY_SIGNATURES):
        return False
    # UTF-16 without a byte order mark has zero bytes either at even or at odd positions.
    return b"\0" not in head or not (b"\0" in head[::2] and b"\0" in head[1::2])


class UploadActions(ServiceActions):
    """Stores uploads in collections that the caller may write."""

    async def receive(
        self, principal: Principal, headers: Headers, body: AsyncGenerator[bytes, None]
    ) -> tuple[list[str], QueuedJob]:
        """Store the files of a form. Return the names under which they are stored, and the job that will ingest them.

        The job's argument `replaced` has the names whose stored file had other bytes before. Raises Forbidden,
        UsageError, WrongFormField, UnsupportedUpload, TooLarge, NoRoom, ServerOverloaded, RolledBack. After an error no
        file is kept.
        """
        self.check_may_write_anything(principal)
        parser = UploadParser(headers, body, self._services.loaded.settings.ingest.max_file_mb << 20)
        try:
            form = await parser.parse()
        except OSError as error:
            raise _no_room_error(error) from error
        try:
            _check_fields(form)
            files = [(file.filename or "", file.file) for _, file in form.multi_items() if isinstance(file, UploadFile)]
            owner = {name: str(form[name]).strip() for name in OWNER_FIELDS if str(form.get(name, "")).strip()}
            collection, resume = str(form.get("collection", "")), _is_true(form, "resume")
            return await asyncio.to_thread(self._store, principal, collection, files, owner, resume=resume)
        finally:
            await form.close()

    def add(self, principal: Principal, collection: str, paths: Sequence[str]) -> QueuedJob:
        """Move files that are already on the server's disk into a collection. Return the job that will ingest them.

        Raises the same errors as `UploadActions.receive`. After an error the files stay where they are.
        """
        self.check_may_write_anything(principal)
        files = [Path(path) for path in paths]
        with ExitStack() as opened:
            streams = [(path.name, opened.enter_context(path.open("rb"))) for path in files]
            _, job = self._store(principal, collection, streams, {})
        for path in files:
            path.unlink(missing_ok=True)
        return job

    def check_may_write_anything(self, principal: Principal) -> None:
        """Raise Forbidden for a caller without any write access. Call this before the body is read."""
        if not principal.may_write_any:
            raise Forbidden("This key may read documents but not upload them.")

    def _store(
        self, principal: Principal, collection: str, files: _Files, owner: Mapping[str, str], *, resume: bool = False
    ) -> tuple[list[str], QueuedJob]:
        principal.require_write(check_collection_name(collection))
        jobs = JobActions(self._services)
        if resume:  # this ends the rollback of the whole collection
            principal.require_whole(collection)
        arguments = {"collection": collection, "collections": [collection], "resume": resume}
        jobs.raise_if_refused(principal, "ingest", arguments)
        folders = owner_folders(_owner_of_upload(principal, collection, owner))
        if not files:
            raise UsageError("The form contains no file.", hint="Send files in the field files.")
        data_dir = self._services.loaded.data_dir
        incoming, folder = data_dir / UPLOADS_FOLDER / INCOMING, uploads_folder(data_dir, collection)
        target = folder.joinpath(*folders)
        with ExitStack() as leftovers:
            try:
                named = _copy_all(files, incoming, leftovers)
                with self._services.upload_lock:
                    self._check_quota(folder, target, named)
                    jobs.raise_if_refused(principal, "ingest", arguments)  # a rollback may have come meanwhile
                    replaced = _move(named, target)
            except OSError as error:
                raise _no_room_error(error) from error
        uploads = ["/".join((*folders, name)) for name in named]
        return list(named), jobs.queue(principal, "ingest", {**arguments, "uploads": uploads, "replaced": replaced})

    def _check_quota(self, folder: Path, target: Path, named: dict[str, Path]) -> None:
        replaced = {target / name for name in named}
        kept = [path for path in uploaded_files(folder) if path not in replaced]
        total = sum(map(file_size, (*kept, *named.values())))
        quota = self._services.loaded.settings.serve.upload_quota_mb
        if total > quota << 20:
            raise NoRoom(
                f"All uploads to '{folder.name}' together may have at most {quota} MB.",
                hint="Forget documents that are not needed, or ask the operator to raise serve.upload_quota_mb.",
            )


def _check_fields(form: FormData) -> None:
    """Raise WrongFormField for a field that is not read, or that contains text instead of a file or the reverse."""
    if unknown := sorted({name for name in form if name not in ("files", *_TEXT_FIELDS)}):
        hint = f"Send files in the field files, and texts in these: {', '.join(_TEXT_FIELDS)}."
        raise WrongFormField(f"The form has fields that are not read: {', '.join(unknown)[:200]}.", hint=hint)
    if "collection" not in form:
        raise WrongFormField("The field collection is missing.", hint="Send the name of a collection in it.")
    for name, value in form.multi_items():
        is_file = isinstance(value, UploadFile)
        if is_file and name != "files":
            message, hint = f"The field {name} contains a file instead of text.", "Send files in the field files."
            raise WrongFormField(message, hint=hint)
        if name == "files" and not is_file:
            hint = "With curl, write @ before the path: -F files=@report.pdf"
            raise WrongFormField("The field files contains text instead of a file.", hint=hint)


def _is_true(form: FormData, name: str) -> bool:
    value = str(form.get(name, "false")).lower()
    if value not in ("true", "false"):
        raise WrongFormField(f"The field {name} has the value '{value[:20]}'.", hint="Send true or false.")
    return value == "true"


def _owner_of_upload(principal: Principal, collection: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the owner fields of an upload, such as tenant_id: the given ones, and those that conditions determine.

    Raises Forbidden for a value outside of the conditions, and UsageError if the conditions allow several values and
    none is given.
    """
    owner = {name: DocumentCondition(name, (value,)).values[0] for name, value in given.items()}
    for condition in principal.write_conditions(collection):
        value = owner.setdefault(condition.field, condition.values[0] if len(condition.values) == 1 else "")
        if not value:
            raise UsageError(
                f"The upload has no field '{condition.field}', for which this API key allows several values.",
                hint=f"Add the field {condition.field} with one of: {', '.join(condition.values)}.",
            )
        if value not in condition.values:
            raise Forbidden(f"This key may not upload documents with {condition.field}={value}.")
    return owner


def _copy_all(files: _Files, folder: Path, leftovers: ExitStack) -> dict[str, Path]:
    """Copy files to a folder under random names; return the paths by safe name. `leftovers` deletes those left there.

    Raises UsageError for two equal names, UnsupportedUpload, OSError.
    """
    named: dict[str, Path] = {}
    for sent_name, stream in files:
        name, path = safe_file_name(sent_name), folder / uuid.uuid4().hex
        if name in named:
            raise UsageError(
                f"Two files of this upload would be called '{name}'.",
                hint="Rename one of them; in two uploads the later replaces the earlier.",
            )
        leftovers.callback(path.unlink, missing_ok=True)
        named[name] = path
        _copy(stream, path)
        check_content(path, name)
    return named


def _copy(stream: BinaryIO, path: Path) -> None:
    """Write a stream to a new private file and flush the file to the disk. Its folders are created."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as target:
        shutil.copyfileobj(stream, target)
        target.flush()
        os.fsync(target.fileno())


def _move(named: dict[str, Path], folder: Path) -> list[str]:
    """Move files into a folder. Existing files of the same names are replaced; return the names of changed files."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replaced = [name for name, path in named.items() if _has_other_bytes(folder / name, path)]
    for name, path in named.items():
        path.replace(folder / name)
    for parent in (folder, folder.parent):
        sync_file(parent)
    return replaced


def _has_other_bytes(stored: Path, sent: Path) -> bool:
    """Return whether a file is stored already, with other bytes. Another process may forget it at any moment."""
    try:
        return not filecmp.cmp(stored, sent, shallow=False)
    except FileNotFoundError:
        return False


def _no_room_error(error: OSError) -> NoRoom:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoRoom("The disk of the server is full.", hint="The operator of the server can free space.")
    return NoRoom(f"The server cannot store the files: {os.strerror(error.errno or 0)}.", hint="Run: elt-llm doctor")

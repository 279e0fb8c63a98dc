"""Bringing documents: taken off the line into the data directory, then read by a job."""

import asyncio
import errno
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.state.job_queue import QueuedJob
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.fsync import sync_file
from elt_llm_core.store.uploads import INCOMING, UPLOADS_FOLDER, uploads_folder

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.actions.multipart import CameIn, Form, FormReader
from elt_llm_api.serve.actions.upload_names import check_content, safe_name
from elt_llm_api.serve.refusals import NoRoom
from elt_llm_api.serve.services import Services

MOST_FILES = 100
"""In one upload."""
_PIECE = 256 * 1024  # bytes that are gathered before the disk is asked


@dataclass(frozen=True)
class Uploaded:
    """Files that are on the disk, by the names they are shown by, and the job that will read them."""

    names: tuple[str, ...]
    job: QueuedJob


class Uploads:
    """Takes files for callers, into collections that they may change."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._data_dir = services.loaded.data_dir

    async def receive(self, principal: Principal, content_type: str, body: AsyncIterator[bytes]) -> Uploaded:
        """Take the files of a form as they come, and queue a job that reads them.

        Raises Forbidden, UsageError, UnsupportedUpload, TooLarge, NoRoom, Overloaded; nothing is kept then.
        """
        self.check_may_write_anything(principal)
        reader = await asyncio.to_thread(self._reader, content_type)
        try:
            pieces = bytearray()
            async for piece in body:
                pieces += piece
                if len(pieces) >= _PIECE:
                    await asyncio.to_thread(self._feed, reader, bytes(pieces))
                    pieces.clear()
            await asyncio.to_thread(self._feed, reader, bytes(pieces))
            return await asyncio.to_thread(self._take, principal, reader.finished())
        finally:
            await asyncio.to_thread(reader.close)

    def add(self, principal: Principal, collection: str, files: Sequence[tuple[str, Path]]) -> Uploaded:
        """Take copies of files that are on the disk already, each with what it is to be called. Raises as `receive`."""
        self.check_may_write_anything(principal)
        incoming = self._incoming()
        with ExitStack() as left:
            came = []
            for given, path in files:
                copy = incoming / uuid.uuid4().hex
                left.callback(copy.unlink, missing_ok=True)
                try:
                    shutil.copyfile(path, copy)
                except OSError as error:
                    raise _no_room(error) from error
                came.append(CameIn(given, copy, copy.stat().st_size))
            return self._take(principal, Form({"collection": collection}, came))

    def check_may_write_anything(self, principal: Principal) -> None:
        """Raises Forbidden before anything is read of the body for a caller who may change nothing."""
        if not principal.write:
            raise Forbidden("This key may read, and bring no documents.")

    def _reader(self, content_type: str) -> FormReader:
        most = self._services.loaded.settings.ingest.max_file_mb << 20
        return FormReader(content_type, self._incoming(), most, MOST_FILES)

    def _incoming(self) -> Path:
        incoming = self._data_dir / UPLOADS_FOLDER / INCOMING
        for folder in (incoming.parent, incoming):
            folder.mkdir(mode=0o700, exist_ok=True)
        return incoming

    def _feed(self, reader: FormReader, piece: bytes) -> None:
        try:
            reader.feed(piece)
        except OSError as error:
            raise _no_room(error) from error

    def _take(self, principal: Principal, form: Form) -> Uploaded:
        collection = check_collection_name(form.fields.get("collection", ""))
        principal.require_write(collection)
        if not form.files:
            raise UsageError("There is no file in the form.", hint="Send files in the field files.")
        named = _by_name(form.files)
        for name, file in named.items():
            check_content(file.path, name)
        folder = uploads_folder(self._data_dir, collection)
        with self._services.placing:
            self._check_quota(folder, named)
            Jobs(self._services).refuse_if_full(principal)
            try:
                _place(folder, named)
            except OSError as error:
                raise _no_room(error) from error
        arguments = {"collection": collection, "collections": [collection], "uploads": list(named)}
        return Uploaded(tuple(named), Jobs(self._services).submit(principal, "ingest", arguments))

    def _check_quota(self, folder: Path, named: dict[str, CameIn]) -> None:
        kept = (path for path in folder.iterdir() if path.name not in named) if folder.is_dir() else iter(())
        total = sum(path.stat().st_size for path in kept) + sum(file.size for file in named.values())
        quota = self._services.loaded.settings.serve.upload_quota_mb
        if total > quota << 20:
            raise NoRoom(
                f"All uploads of '{folder.name}' together may have {quota} MB.",
                hint="Forget documents that are not needed, or have serve.upload_quota_mb raised.",
            )


def _by_name(files: Sequence[CameIn]) -> dict[str, CameIn]:
    """Files by what they will be called. Raises UsageError for two of one name: the first would be lost."""
    named: dict[str, CameIn] = {}
    for file in files:
        if (name := safe_name(file.given)) in named:
            raise UsageError(
                f"Two files of this upload would be called '{name}'.",
                hint="Call one of them otherwise; brought one after the other, the later replaces the earlier.",
            )
        named[name] = file
    return named


def _place(folder: Path, named: dict[str, CameIn]) -> None:
    """Move files to where they stay; one of the same name is replaced."""
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, file in named.items():
        file.path.replace(folder / name)
    for parent in (folder, folder.parent):
        sync_file(parent)


def _no_room(error: OSError) -> NoRoom:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoRoom("The disk of the server is full.", hint="Whoever runs the server can make room.")
    return NoRoom(f"The server cannot keep the files: {os.strerror(error.errno or 0)}.", hint="Run: elt-llm doctor")

"""Pictures of pages, drawn in a process of its own that can do little else."""

import os
import subprocess
import sys
from pathlib import Path

from elt_llm_api.serve.page_image_child import CHANGED
from elt_llm_api.serve.refusals import NotThere

_MEGABYTES, _SECONDS = 1536, 20
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_INSTEAD = "Its text is there: GET /v1/documents/COLLECTION/ID/text?page=N"


def page_image(path: Path, document_hash: str, page: int) -> bytes:
    """A page of a PDF as PNG; `document_hash` is the sha256 of the bytes that were read, in hex digits.

    Raises NotThere if the file is gone or has changed since, or cannot be drawn within 20 seconds.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotThere("The file is not there any more.", hint=_INSTEAD) from error
    try:
        ended = subprocess.run(  # noqa: S603 - this interpreter, on a module of this package
            [
                *(sys.executable, "-s", "-P", "-m", "elt_llm_api.serve.page_image_child"),
                *map(str, (_MEGABYTES, _SECONDS, document_hash, page)),
            ],
            stdin=descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            cwd=os.sep,
            timeout=2 * _SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotThere("The page takes too long to draw.", hint=_INSTEAD) from error
    finally:
        os.close(descriptor)
    if ended.returncode == CHANGED:
        raise NotThere("The file has changed since it was read.", hint=_INSTEAD)
    if ended.returncode != 0 or not ended.stdout:
        raise NotThere("The page cannot be drawn.", hint=_INSTEAD)
    return ended.stdout

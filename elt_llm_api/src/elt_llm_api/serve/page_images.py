"""Render a page of a PDF as PNG in a restricted child process."""

import os
import subprocess
import sys
from pathlib import Path

from elt_llm_api.serve.errors import NotFound
from elt_llm_api.serve.page_image_child import CHANGED, QUOTE_VARIABLE

_MEGABYTES, _SECONDS = 1536, 20
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_TEXT_HINT = "Its text is available: GET /v1/documents/COLLECTION/ID/text?page=N"


def render_page(path: Path, document_hash: str, page: int, quote: str = "") -> bytes:
    """Return a page of a PDF as PNG. `document_hash` is the sha256 of the ingested file, in hex digits.

    The words of `quote` are marked if the page contains them. Raises NotFound if the file is gone or has changed, or if
    the page cannot be rendered in 20 seconds of processor time.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFound("The file does not exist any more.", hint=_TEXT_HINT) from error
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        child = subprocess.run(  # noqa: S603 - this interpreter, on a module of this package
            [
                *(sys.executable, "-s", "-P", "-m", "elt_llm_api.serve.page_image_child"),
                *map(str, (_MEGABYTES, _SECONDS, document_hash, page)),
            ],
            stdin=descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Other users of the machine can read the arguments of a process, but not its variables.
            env={QUOTE_VARIABLE: "".join(filter(str.isalnum, quote)), **kept},
            cwd=os.sep,
            timeout=2 * _SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotFound("The page takes too long to render.", hint=_TEXT_HINT) from error
    finally:
        os.close(descriptor)
    if child.returncode == CHANGED:
        raise NotFound("The file has changed since it was read.", hint=_TEXT_HINT)
    if child.returncode != 0 or not child.stdout:
        raise NotFound("The page cannot be rendered.", hint=_TEXT_HINT)
    return child.stdout

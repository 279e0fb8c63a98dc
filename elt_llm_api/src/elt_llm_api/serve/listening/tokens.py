"""The token that the server is started with: from a file or the environment, never from a command line."""

from collections.abc import Mapping
from pathlib import Path

from elt_llm_core.errors import UsageError

TOKEN_VARIABLE = "ELT_LLM_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_LARGEST = 4096  # bytes of a file that holds one token
_EVERYBODY = 0o007


def read_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """The token of the file, else of the environment, else None.

    Raises UsageError for a file that is missing or holds nothing.
    """
    if file is None:
        return environment.get(TOKEN_VARIABLE, "").strip() or None
    if not file.is_file():
        raise UsageError(f"There is no file {file}.", hint="--token-file names a file that holds the token alone.")
    with file.open("rb") as opened:
        content = opened.read(_LARGEST + 1)
    token = content.decode("utf-8", "replace").strip()
    if not token or len(content) > _LARGEST:
        raise UsageError(f"{file} holds no token.", hint="It holds one line: the token.")
    return token


def readable_by_all(file: Path | None) -> bool:
    """Whether everybody on the machine may read the file with the token; in a container that may be meant so."""
    return file is not None and bool(file.stat().st_mode & _EVERYBODY)

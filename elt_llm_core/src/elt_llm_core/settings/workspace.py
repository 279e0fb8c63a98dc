"""The place of a workspace: its folder on this machine, and the database that stores its documents and state."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.utilities import check_type

DSN_VARIABLE = "ELT_LLM_DSN"
StorageBackend = Literal["sqlite", "postgres"]


@dataclass(frozen=True)
class Workspace:
    """A data directory with its database. With SQLite, `folder` contains everything.

    With PostgreSQL, `folder` contains uploads, models, and a cache of generation files, which any machine can rebuild.
    The connection string is read whenever a connection is opened, so that no object keeps the password.
    """

    folder: Path
    backend: StorageBackend = "sqlite"
    dsn_file: Path | None = None

    @property
    def is_shared(self) -> bool:
        """Whether documents and state are on a database server, which other machines can use, too."""
        return self.backend == "postgres"

    def connection_string(self) -> str:
        """Return the connection string from its file or from ELT_LLM_DSN. Raises SettingsError if there is none."""
        if self.dsn_file is None:
            found = os.environ.get(DSN_VARIABLE, "")
        else:
            try:
                found = self.dsn_file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(
                    f"The file {self.dsn_file} with the connection string cannot be read.",
                    hint="Set storage.dsn_file to a file with postgresql://USER:PASSWORD@HOST:5432/DATABASE.",
                ) from error
        if not found.strip():
            raise SettingsError(
                f"storage.backend is postgres, but {self.dsn_file or DSN_VARIABLE} is empty.",
                hint=f"Put postgresql://USER:PASSWORD@HOST:5432/DATABASE into {DSN_VARIABLE}, or into the file that"
                " storage.dsn_file names.",
            )
        return found.strip()


def as_workspace(place: str | Path | Workspace) -> Workspace:
    """Return `place`, or a workspace that uses SQLite in this folder. Raises UsageError for an empty text or others."""
    if place == "":
        raise UsageError("The data directory is empty, which would be the working directory.")
    check_type("The data directory", place, (str, Path, Workspace), "a path or a Workspace")
    return place if isinstance(place, Workspace) else Workspace(Path(place))

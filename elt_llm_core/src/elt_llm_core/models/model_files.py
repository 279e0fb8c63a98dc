"""Locate model files in installed distributions, where they are verified by hash, or in the models folder."""

import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from elt_llm_core.errors import ModelError
from elt_llm_core.settings.tree import Settings


@dataclass(frozen=True)
class ModelFile:
    """A file in an installed distribution, with the SHA-256 (hex) of its content."""

    distribution: str
    version: str
    name: str
    sha256: str

    def read(self) -> bytes:
        """Return the verified bytes. Raises ModelError if the file is missing, cannot be read or has another hash."""
        # The distribution is located but not imported, because only its data is needed.
        try:
            listed = metadata.files(self.distribution) or []
            path = next((file.locate() for file in listed if file.name == self.name), None)
            content = b"" if path is None else Path(str(path)).read_bytes()
        except metadata.PackageNotFoundError as error:
            raise self._error(
                f"The package {self.distribution}, which contains {self.name}, is not installed"
            ) from error
        except OSError as error:
            raise self._error(f"{self.name} of {self.distribution} cannot be read: {error}") from error
        if path is None:
            raise self._error(f"The package {self.distribution} does not contain {self.name}")
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != self.sha256:
            checksums = f"{sha256[:12]}... instead of {self.sha256[:12]}..."
            raise self._error(f"{self.name} of {self.distribution} has changed: it has the sha256 {checksums}")
        return content

    def _error(self, message: str) -> ModelError:
        return ModelError(message, hint=f"Run: uv pip install --reinstall {self.distribution}=={self.version}")


DEFAULT_FOLDER = "models"  # in the data directory


def with_models_dir(settings: Settings, data_dir: Path) -> Settings:
    """Return the settings with `storage.models_dir`. If it is not set, it becomes `models` in the data directory."""
    if settings.storage.models_dir is not None:
        return settings
    storage = settings.storage.model_copy(update={"models_dir": data_dir / DEFAULT_FOLDER})
    return settings.model_copy(update={"storage": storage})


def model_folders(name: str, models_dir: Path | None) -> list[Path]:
    """Return the folders that may contain a model, in search order.

    An absolute path is the folder itself. A name such as `owner/model` is searched for in `models_dir`, in full and as
    `model` alone. If `models_dir` is None, there are no folders.
    """
    path = Path(name).expanduser() if name.startswith("~") else Path(name)
    if path.is_absolute():
        return [path]
    return [] if models_dir is None else list(dict.fromkeys([models_dir / path, models_dir / path.name]))


def find_model_folder(name: str, models_dir: Path | None) -> Path | None:
    """Return the first of the model's folders that exists, or None. Nothing is downloaded."""
    return next((folder for folder in model_folders(name, models_dir) if folder.is_dir()), None)

"""Files of a model in installed distributions, handed out only when their bytes are the known ones."""

import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from elt_llm_core.errors import ModelError


@dataclass(frozen=True)
class ModelFile:
    """One file of one distribution, and the sha256 (hex) its bytes must have."""

    distribution: str
    version: str
    name: str
    sha256: str

    def read(self) -> bytes:
        """The checked bytes; raises ModelError when the file is missing, unreadable or different."""
        content = self._content()
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ModelError(
                f"{self.name} of {self.distribution} has sha256 {found[:12]}..., expected {self.sha256[:12]}...",
                hint=self._reinstall(),
            )
        return content

    def _content(self) -> bytes:
        # The distribution is located, never imported: only its data is wanted.
        try:
            listed = metadata.files(self.distribution) or []
            path = next(file.locate() for file in listed if file.name == self.name)
            return Path(str(path)).read_bytes()
        except metadata.PackageNotFoundError as error:
            message = f"The package {self.distribution}, which holds {self.name}, is not installed"
            raise ModelError(message, hint=self._reinstall()) from error
        except StopIteration as error:
            message = f"The package {self.distribution} does not hold {self.name}"
            raise ModelError(message, hint=self._reinstall()) from error
        except OSError as error:
            message = f"{self.name} of {self.distribution} cannot be read: {error}"
            raise ModelError(message, hint=self._reinstall()) from error

    def _reinstall(self) -> str:
        return f"Run: uv pip install --reinstall {self.distribution}=={self.version}"

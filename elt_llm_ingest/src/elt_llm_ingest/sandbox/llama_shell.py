"""Lets a worker import the base class of readers without the rest of LlamaIndex."""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_PACKAGES = ("llama_index.core", "llama_index.core.readers")


def skip_llama_index_start() -> None:
    """Puts the two packages in place without running their start, which imports all of LlamaIndex for 0.8 s.

    Their modules are still imported from where they are. For a process that does nothing but read files.
    """
    spec = find_spec("llama_index")
    for name in _PACKAGES:
        package = ModuleType(name)
        package.__path__ = [
            str(Path(place, *name.split(".")[1:])) for place in (spec and spec.submodule_search_locations) or ()
        ]
        sys.modules.setdefault(name, package)

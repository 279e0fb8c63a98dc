"""What a child process is told when it starts: the settings that the server has, whatever they were read from."""

import json
from pathlib import Path

from elt_llm_core.settings import Settings
from elt_llm_core.settings_loader import LoadedSettings


def order_of(loaded: LoadedSettings) -> bytes:
    """The settings as one line of JSON. Secrets are not in it: settings name variables of the environment for them."""
    told = {
        "settings": loaded.settings.model_dump(mode="json"),
        "source": str(loaded.source) if loaded.source else None,
        "data_dir": str(loaded.data_dir),
        "project": str(loaded.project),
    }
    return json.dumps(told).encode("ascii") + b"\n"


def loaded_of(order: bytes) -> LoadedSettings:
    """The settings that an order tells."""
    told = json.loads(order)
    return LoadedSettings(
        Settings.model_validate(told["settings"]),
        Path(told["source"]) if told["source"] else None,
        Path(told["data_dir"]),
        Path(told["project"]),
    )

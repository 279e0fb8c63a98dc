"""Where the files of a model lie that no package brings: in a folder of models, under the model's name."""

from pathlib import Path

from elt_llm_core.settings import Settings

DEFAULT_FOLDER = "models"  # in the data directory


def with_models_dir(settings: Settings, data_dir: Path) -> Settings:
    """The settings with `storage.models_dir` filled in: `models` in the data directory, where it is unset."""
    if settings.storage.models_dir is not None:
        return settings
    storage = settings.storage.model_copy(update={"models_dir": data_dir / DEFAULT_FOLDER})
    return settings.model_copy(update={"storage": storage})


def places_of_model(name: str, models_dir: Path | None) -> list[Path]:
    """Folders that may hold a model, in the order they are looked at; none for a name without a folder of models.

    An absolute path is that folder. A name such as `owner/model` is looked for as it is and as `model` alone.
    """
    path = Path(name).expanduser() if name.startswith("~") else Path(name)
    if path.is_absolute():
        return [path]
    return [] if models_dir is None else list(dict.fromkeys([models_dir / path, models_dir / path.name]))


def find_model_folder(name: str, models_dir: Path | None) -> Path | None:
    """The first of its places that is a folder, or none. Nothing is ever downloaded."""
    return next((place for place in places_of_model(name, models_dir) if place.is_dir()), None)

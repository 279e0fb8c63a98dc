"""Install ONNX cross-encoders from a model hub or a folder, and remove them."""

import json
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, ConfigDict, ValidationError

from elt_llm_core.errors import EltError, ModelError, UsageError
from elt_llm_core.models.cross_encoder import CONFIGURATION, TOKENIZER, WEIGHTS, CrossEncoder
from elt_llm_core.store.disk import file_sha256, require_space, sync_tree
from elt_llm_core.utilities import nearest_names

PUBLIC_HUB = "https://huggingface.co"
_RECORD = ".checksums.json"
_TEMPORARY = ".incomplete-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
# Files that can run code when they are loaded. A model of this project never needs them.
_PICKLED = (".pkl", ".pickle", ".joblib", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".keras")
_CODE = frozenset((*_PICKLED, ".py", ".pyc", ".so", ".dll", ".dylib", ".exe", ".sh"))


class KnownModel(BaseModel):
    """A model that can be downloaded. `sha256` contains the known checksums by file name. Other files have none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: str
    repository: str
    revision: str
    files: tuple[str, ...]
    sha256: dict[str, str]
    licence: str
    size_mb: int
    max_tokens: int
    languages: tuple[str, ...]


class ModelRecord(BaseModel):
    """An installed model's checksums and its origin: a repository and commit, or a folder.

    `first_seen` lists files that were trusted when first pulled, because their checksums were not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    origin: str
    sha256: dict[str, str]
    first_seen: tuple[str, ...] = ()


def known_models() -> tuple[KnownModel, ...]:
    """Return the models listed in `known_models.toml`, which `elt-llm models pull` can install."""
    text = Path(__file__).with_name("known_models.toml").read_text(encoding="utf-8")
    return tuple(KnownModel(**one) for one in tomllib.loads(text)["models"])


def find_known_model(name: str) -> KnownModel:
    """Return the known model with this name or repository. Raises UsageError, with similar names, if there is none."""
    models = known_models()
    for model in models:
        if name in (model.name, model.repository):
            return model
    hint = f"{nearest_names(name, [model.name for model in models])} Other models: elt-llm models add FOLDER"
    raise UsageError(f"There is no known model '{name}'", hint=hint)


def installed_models(models_dir: Path) -> list[str]:
    """Return the names of the folders in `models_dir` that contain ONNX weights and a tokenizer, sorted."""
    folders = models_dir.iterdir() if models_dir.is_dir() else ()
    return sorted(
        folder.name
        for folder in folders
        if not folder.name.startswith(_TEMPORARY)
        and (folder / TOKENIZER).is_file()
        and any((folder / weights).is_file() for weights in WEIGHTS)
    )


def pull_model(model: KnownModel, models_dir: Path, hub: str, *, allowed: bool) -> ModelRecord:
    """Download a model from the hub and install it. Returns its record.

    Every file is compared with its known or recorded checksum, and the model is run once, before it is installed.
    If this fails, raises ModelError and installs nothing. `allowed` is the setting `network.allow_model_downloads`.
    """
    if not allowed:
        raise ModelError(
            f"'{model.name}' was not downloaded, because network.allow_model_downloads is false",
            hint="Set network.allow_model_downloads to true, or copy the model and run: elt-llm models add FOLDER",
        )
    _require_absent(model.name, models_dir)
    recorded = read_record(model.name, models_dir)
    expected = {**(recorded.sha256 if recorded else {}), **model.sha256}
    with _new_folder(models_dir) as folder:
        commit, sizes = _describe(model, hub)
        require_space(models_dir, sum(sizes.get(file, 0) for file in model.files), f"the model '{model.name}'")
        found = {file: _fetch(model, file, commit, hub, folder, expected.get(file)) for file in model.files}
        shutil.rmtree(folder / ".cache", ignore_errors=True)  # huggingface_hub keeps its own records there
        unknown = tuple(file for file in model.files if file not in model.sha256)
        record = ModelRecord(name=model.name, origin=f"{model.repository}@{commit}", sha256=found, first_seen=unknown)
        _install(folder, record, models_dir)
    return record


def add_model(source: Path, name: str, models_dir: Path) -> ModelRecord:
    """Copy a model's weights, tokenizer and configuration from a folder, and install it. Returns its record.

    Raises ModelError and installs nothing if the folder contains code or pickled data, or if the model does not run.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid model name", hint="Use letters, digits, '.', '_' and '-'")
    if not source.is_dir():
        raise UsageError(f"{source} is not a folder", hint="Name the folder that contains model.onnx")
    _require_absent(name, models_dir)
    code = sorted(path.relative_to(source).as_posix() for path in source.rglob("*") if path.suffix.lower() in _CODE)
    if code:
        raise ModelError(
            f"{source} contains files that can run code: {', '.join(code[:5])}. Nothing was read or copied",
            hint="Copy only model.onnx, tokenizer.json and config.json to a new folder, and add that folder",
        )
    files = [file for file in (CONFIGURATION, TOKENIZER, *WEIGHTS) if (source / file).is_file()]
    with _new_folder(models_dir) as folder:
        require_space(models_dir, sum((source / file).stat().st_size for file in files), f"the model '{name}'")
        for file in files:
            (folder / file).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / file, folder / file)
        found = {file: file_sha256(folder / file) for file in files}
        record = ModelRecord(name=name, origin=str(source.absolute()), sha256=found)
        _install(folder, record, models_dir)
    return record


def remove_model(name: str, models_dir: Path) -> None:
    """Delete an installed model. Its checksums stay recorded. Raises UsageError if it is not installed."""
    names = installed_models(models_dir)
    if name not in names:
        hint = nearest_names(name, names) or "No model is installed."
        raise UsageError(f"No model '{name}' is installed in {models_dir}", hint=hint)
    folder = models_dir / name
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link, so it was not deleted", hint="Remove the link yourself")
    with TemporaryDirectory(prefix=_TEMPORARY, dir=models_dir) as rest:
        folder.rename(Path(rest) / name)


def read_record(name: str, models_dir: Path) -> ModelRecord | None:
    """Return a model's record (origin and checksums), or None. The record is kept even after the model is removed."""
    path = models_dir / f"{name}{_RECORD}"
    if not path.is_file():
        return None
    try:
        return ModelRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        hint = f"Restore {path} from a backup, or delete it to trust the next pull"
        raise ModelError(f"{path} is damaged, so the checksums of '{name}' are unknown", hint=hint) from error


def _require_absent(name: str, models_dir: Path) -> None:
    if (models_dir / name).exists():
        hint = f"Remove it first: elt-llm models remove {name}"
        raise UsageError(f"A model '{name}' is already installed in {models_dir}", hint=hint)


@contextmanager
def _new_folder(models_dir: Path) -> Iterator[Path]:
    """Create a temporary folder for a new model, and delete it afterwards. Raises ModelError for disk errors."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=_TEMPORARY, dir=models_dir, ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary) / "model"
            folder.mkdir()
            yield folder
    except OSError as error:
        raise ModelError(
            f"The model could not be written to {models_dir}: {error.strerror or error}. Nothing was installed",
            hint="Free space on that disk, or set storage.models_dir to another folder",
        ) from error


@contextmanager
def _hub_errors(model: KnownModel, hub: str) -> Iterator[None]:
    """Convert exceptions from the hub's client to ModelError. Disk errors are not converted."""
    import httpx2
    from huggingface_hub import constants, errors

    # With telemetry on, the client contacts huggingface.co, even if HF_ENDPOINT names another hub. The variable
    # HF_HUB_DISABLE_TELEMETRY would have no effect here, because it is read when the client is imported.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    # HF_HUB_OFFLINE is ignored, since the browser interface sets it for Gradio; only our own setting counts.
    constants.HF_HUB_OFFLINE = False
    try:
        yield
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.RemoteEntryNotFoundError) as error:
        hint = "Check HF_ENDPOINT, or add the model from a folder: elt-llm models add FOLDER"
        why = str(error).splitlines()[0]
        raise ModelError(f"{hub} does not have all files of '{model.repository}': {why}", hint=hint) from error
    except (httpx2.HTTPError, errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        hint = "Check the network and HF_ENDPOINT, then run the same command again"
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"'{model.name}' could not be fetched from {hub}: {why}", hint=hint) from error


def _describe(model: KnownModel, hub: str) -> tuple[str, Mapping[str, int]]:
    """Return the commit of the model's revision, and the size in bytes of each file."""
    from huggingface_hub import HfApi

    with _hub_errors(model, hub):
        api = HfApi(endpoint=hub, token=False)
        found = api.model_info(model.repository, revision=model.revision, files_metadata=True, timeout=30)
    if not found.sha:
        raise ModelError(f"{hub} does not report the commit of '{model.repository}'", hint="Check HF_ENDPOINT")
    return found.sha, {file.rfilename: file.size or 0 for file in found.siblings or ()}


def _fetch(model: KnownModel, file: str, commit: str, hub: str, folder: Path, expected: str | None) -> str:
    """Download one file and return its SHA-256. Raises ModelError if it differs from the expected one."""
    from huggingface_hub import hf_hub_download

    with _hub_errors(model, hub):
        # No token: an account's key must not be sent to a mirror.
        hf_hub_download(model.repository, file, revision=commit, local_dir=folder, endpoint=hub, token=False)
    found = file_sha256(folder / file)
    if expected is not None and found != expected:
        raise ModelError(
            f"{file} of '{model.name}' has sha256 {found[:12]}... instead of {expected[:12]}.... Nothing was installed",
            hint="The hub serves another file than expected. Compare the checksum with the publisher's;"
            f" to trust new files, delete {model.name}{_RECORD} in the models folder",
        )
    return found


def _install(folder: Path, record: ModelRecord, models_dir: Path) -> None:
    """Run the model once, write its record, and move it to `models_dir`. Raises ModelError if it cannot be used."""
    try:
        CrossEncoder(folder, threads=1).score("question", ["text"])
    except EltError as error:
        why = str(error).replace(f"{folder}/", "").replace(str(folder), "the model's folder")
        raise ModelError(f"The model was not installed, because it cannot be used: {why}", hint=error.hint) from error
    temporary = folder.with_name("record")
    temporary.write_text(json.dumps(record.model_dump(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sync_tree(folder.parent)
    temporary.replace(models_dir / f"{record.name}{_RECORD}")
    folder.rename(models_dir / record.name)

"""Create a bundle: the wheels of the lock file, models, configuration and collections in one file with checksums."""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elt_llm_core.errors import EltError, ModelError, UsageError
from elt_llm_core.models.model_files import find_model_folder, with_models_dir
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.profiles import load_profile, profile_names
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.disk import file_sha256, require_space, sync_file
from elt_llm_core.store.records import canonical_json
from elt_llm_core.utilities import find_clone, nearest_names

from elt_llm_api.bundle import installer
from elt_llm_api.bundle.installer import FORMAT, FORMAT_VERSION, MAIN, MANIFEST, Say

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # a constant, so that equal contents give equal files
_PACKED = (".whl", ".zip", ".gguf", ".onnx")  # types of files that compression does not make smaller
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_")
_OLD_TAGS: dict[str, tuple[int, ...]] = {"manylinux1_": (2, 5), "manylinux2010_": (2, 12), "manylinux2014_": (2, 17)}
_MOST_WITHOUT_ZIP64 = (1 << 32) - (1 << 20)  # bytes; Python before 3.13 cannot run a larger zip file
_CHUNK = 1 << 20  # bytes read at a time


@dataclass
class BundleParts:
    """The files of a bundle by their path inside it, variables for the machine that installs it, and notes to print."""

    files: dict[str, Path | bytes] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    """Values by environment variable: a path in the bundle, such as `models/mine.gguf`, or the name of a model."""
    notes: list[str] = field(default_factory=list)

    def add_folder(self, name: str, folder: Path, leave_out: Iterable[Path] = ()) -> None:
        """Add the files below `folder` to the bundle as `name/...`, except hidden files and those in `leave_out`."""
        without = {path.resolve() for path in leave_out}
        for path in sorted(folder.rglob("*")):
            inner = path.relative_to(folder)
            if path.is_file() and path.resolve() not in without and not any(it.startswith(".") for it in inner.parts):
                self.files[f"{name}/{inner.as_posix()}"] = path


@dataclass(frozen=True)
class BundleReport:
    """The result of `elt-llm bundle create`. `sha256` is the hash of the whole file."""

    file: str
    size: int
    sha256: str
    packages: int
    models: tuple[str, ...]
    collections: tuple[str, ...]
    machine: dict[str, str]
    notes: tuple[str, ...]


def add_models(parts: BundleParts, loaded: LoadedSettings) -> None:
    """Add the model files that the settings and the profiles name.

    Raises ModelError if a model in the settings is missing on this machine, and UsageError if a profile names a model
    by a path that only this machine has. A note reports each missing model of a profile and each model server in use.
    """
    settings = with_models_dir(loaded.settings, loaded.data_dir)
    _add_models_of(parts, "", settings)
    for name in profile_names(loaded):
        try:
            _add_models_of(parts, name, load_profile(name, loaded).apply_to(settings))
        except ModelError as error:
            parts.notes.append(f"Profile {name}: {error}")
    servers = {settings.embedding.provider, settings.llm.provider} & {"ollama", "openai_like"}
    parts.notes += [
        f"The settings use a model server ({server}): install the server and its models on the target yourself."
        for server in sorted(servers)
    ]


def _add_models_of(parts: BundleParts, profile: str, settings: Settings) -> None:
    query = settings.query
    if query.use_reranker and query.reranker_strategy in {"cross-encoder", "auto"}:
        _add_cross_encoder(parts, profile, settings)
    if settings.llm.provider == "llama_cpp":
        _add_language_model(parts, profile, settings)


def _add_cross_encoder(parts: BundleParts, profile: str, settings: Settings) -> None:
    from elt_llm_core.models.cross_encoder import DEFAULT_MODEL

    chosen = settings.query.reranker_model
    name = chosen or DEFAULT_MODEL
    folder = find_model_folder(name, settings.storage.models_dir)
    if folder is None:
        if settings.query.reranker_strategy == "auto" and chosen is None:
            return
        raise ModelError(
            f"The cross-encoder '{name}' is not on this machine, so it cannot be in the bundle.",
            hint=f"Run: elt-llm models pull {name.rpartition('/')[2]}; or change query.reranker_model",
        )
    parts.add_folder(f"models/{folder.name}", folder)
    record = folder.with_name(f"{folder.name}.checksums.json")
    if record.is_file():
        parts.files[f"models/{record.name}"] = record
    if Path(name).expanduser().is_absolute():
        _replace_path(parts, profile, "query.reranker_model", folder.name)


def _add_language_model(parts: BundleParts, profile: str, settings: Settings) -> None:
    from elt_llm_core.models.llama_cpp import find_model_file

    path = find_model_file(settings)
    parts.files[f"models/{path.name}"] = path
    if settings.llama_cpp.model_path is not None:
        _replace_path(parts, "", "llama_cpp.model_path", f"models/{path.name}")
    elif Path(settings.llm.model or "").expanduser().is_absolute():
        _replace_path(parts, profile, "llm.model", path.name)


def _replace_path(parts: BundleParts, profile: str, key: str, value: str) -> None:
    """Make the installed program use the model in the bundle, `value`, instead of the path in the setting `key`.

    Its launcher sets the environment variable of `key`. Raises UsageError if the path comes from `profile` (not ""),
    and the settings without a profile do not name the same model.
    """
    variable = f"ELT_LLM_{key.replace('.', '__').upper()}"
    if profile and parts.environment.get(variable) != value:
        raise UsageError(
            f"The profile '{profile}' sets {key} to a path that exists only on this machine.",
            hint=f"Move the model into the folder of models (storage.models_dir), and set {key} to {Path(value).name}",
        )
    parts.environment[variable] = value


def needed_extras(settings: Settings) -> set[str]:
    """Return the extras (optional dependencies) that these settings require."""
    used = {
        "multilingual": settings.embedding.provider == "embedded" and settings.embedding.model is not None,
        "llama-cpp": settings.llm.provider == "llama_cpp",
        "openai-like": settings.llm.provider == "openai_like",
        "postgres": settings.storage.backend == "postgres",
        "qdrant": settings.index.backend == "qdrant",
        "ray": settings.ingest.compute == "ray",
        "otel": settings.serve.otel_endpoint is not None,
    }
    return {extra for extra, needed in used.items() if needed}


def collection_server(settings: Settings) -> str | None:
    """Return the server that stores the collections, "PostgreSQL" or "Qdrant"; None if they are files on this disk."""
    if settings.storage.backend == "postgres":
        return "PostgreSQL"
    return "Qdrant" if settings.index.backend == "qdrant" and not settings.index.is_folder else None


def add_configuration(parts: BundleParts, loaded: LoadedSettings) -> None:
    """Add the configuration file to the bundle and, if it is in a folder `config`, the other files of this folder.

    Left out are hidden files, the private TLS key, and the file with the database password. A note lists the
    environment variables that must be set again on the target.
    """
    if loaded.source is not None:
        secret = filter(None, (loaded.settings.serve.tls_key, loaded.settings.storage.dsn_file))
        if loaded.source.parent.name == "config":
            parts.add_folder("config", loaded.config_dir, (loaded.project / path for path in secret))
        parts.files["config/rag_config.yaml"] = loaded.source
    if names := sorted(loaded.environment):
        parts.notes.append(f"Not in the bundle, set them on the target yourself: the variables {', '.join(names)}.")


def collect_wheels(extras: Iterable[str], folder: Path, say: Say) -> None:
    """Download the wheels of uv.lock for this Python and system into `folder`, and build those of this project.

    Raises UsageError outside a clone of the repository, for an unknown extra or without uv. Raises EltError if a
    download or build fails.
    """
    clone = find_clone()
    if clone is None:
        raise UsageError(
            "A bundle can only be created in a clone of the project, whose uv.lock has the versions and checksums.",
            hint="Run the command in a clone, or copy the bundle that this installation came from",
        )
    known = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            raise UsageError(f"There is no extra '{extra}'.", hint=nearest_names(extra, sorted(known)))
    locked = folder / "requirements.txt"
    chosen = [argument for extra in sorted(extras) for argument in ("--extra", extra)]
    _uv(clone, "export", "--locked", "--no-dev", "--no-emit-workspace", "--format", "requirements.txt", *chosen,
        "--output-file", str(locked))  # fmt: skip
    say("Downloading the packages of uv.lock")
    pip = ("tool", "run", "--python", sys.executable, "--from", "pip", "pip", "wheel", "--no-deps", "--wheel-dir")
    _uv(clone, *pip, str(folder), "--require-hashes", "--requirement", str(locked))
    _uv(clone, *pip, str(folder), "pip")  # pip installs the other wheels on the target
    say("Building the packages of this project")
    _uv(clone, "build", "--all-packages", "--wheel", "--out-dir", str(folder))


def _uv(clone: Path, *arguments: str) -> None:
    """Run uv in the clone. Raises UsageError if uv is not installed, and EltError with its last output if it fails."""
    if (uv := shutil.which("uv")) is None:
        raise UsageError("uv is not installed.", hint="Install uv: https://docs.astral.sh/uv/")
    done = subprocess.run(  # noqa: S603 - uv, with arguments of this module and checked names of extras
        [uv, "--quiet", *arguments], cwd=clone, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = " ".join((done.stderr or done.stdout).split()[-60:])
        raise EltError(
            f"uv {' '.join(arguments[:3])} failed: {why}", hint="Check the network, then run the same command again"
        )


@contextmanager
def working_folder(target: Path) -> Iterator[Path]:
    """Create a temporary folder beside the bundle file `target`, for wheels and exported collections."""
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent} is not a folder.", hint="Create it, or name another file")
    with TemporaryDirectory(prefix=".elt-llm-bundle-", dir=target.parent) as folder:
        yield Path(folder)


def write_bundle(parts: BundleParts, wheels: Sequence[Path], target: Path) -> BundleReport:
    """Write the bundle atomically, so that there is never half a file at `target`. Replaces an existing file."""
    files = parts.files | {f"wheels/{wheel.name}": wheel for wheel in wheels}
    files[MAIN] = Path(installer.__file__).read_bytes()
    require_space(target.parent, sum(map(_size, files.values())), "the bundle")
    machine = installer.this_machine() | {"libc": _needed_libc([wheel.name for wheel in wheels])}
    manifest: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION, "machine": machine}
    manifest |= {"environment": parts.environment, "unpacked": sum(map(_unpacked_size, wheels))}
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            stream.write(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(stream, "w") as package:
                listed = {name: _write_member(package, name, files[name]) for name in sorted(files)}
                _write_member(package, MANIFEST, canonical_json(manifest | {"files": listed}).encode())
        unfinished.chmod(0o700)
        sync_file(unfinished)
        unfinished.replace(target)
        sync_file(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)
    size = target.stat().st_size
    if size > _MOST_WITHOUT_ZIP64:
        parts.notes.append(
            "Python before 3.13 cannot run a file of more than 4 GB. Before installing, run: "
            f"unzip {target.name} {MAIN}; and then: python3 {MAIN} install FOLDER --bundle {target.name}"
        )
    inner = {kind: tuple(sorted({it.split("/")[1] for it in files if it.startswith(f"{kind}/")}))
             for kind in ("models", "collections")}  # fmt: skip
    return BundleReport(
        str(target), size, file_sha256(target), len(wheels), **inner, machine=machine, notes=tuple(parts.notes)
    )


def _write_member(package: zipfile.ZipFile, name: str, content: Path | bytes) -> dict[str, Any]:
    info = zipfile.ZipInfo(name, _TIMESTAMP)
    info.compress_type = zipfile.ZIP_STORED if name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
    info.external_attr, info.file_size = 0o600 << 16, _size(content)
    digest = hashlib.sha256()
    source = BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    with source, package.open(info, "w") as member:
        while chunk := source.read(_CHUNK):
            member.write(chunk)
            digest.update(chunk)
    return {"size": info.file_size, "sha256": digest.hexdigest()}


def _size(content: Path | bytes) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _unpacked_size(wheel: Path) -> int:
    with zipfile.ZipFile(wheel) as package:
        return sum(member.file_size for member in package.infolist())


def _needed_libc(wheels: Iterable[str]) -> str:
    """Return the oldest C library that can run all wheels, such as `glibc 2.28`; empty if any can.

    A wheel that was compiled here needs the C library of this machine or a newer one.
    """
    name, here = platform.libc_ver()
    if name != "glibc":
        return f"{name} {here}".strip()
    needed = [version for wheel in wheels if (version := _glibc_of(wheel, here))]
    return "glibc " + ".".join(map(str, max(needed))) if needed else ""


def _glibc_of(wheel: str, here: str) -> tuple[int, ...] | None:
    """Return the oldest glibc that runs a wheel: `...-manylinux_2_28_x86_64.whl` -> (2, 28). None if any does."""
    known = {**_OLD_TAGS, "linux_": tuple(map(int, here.split(".")))}
    versions: list[tuple[int, ...]] = []
    for tag in wheel.removesuffix(".whl").rpartition("-")[2].split("."):
        if found := _GLIBC.match(tag):
            versions.append((int(found[1]), int(found[2])))
        versions += [version for start, version in known.items() if tag.startswith(start)]
    return min(versions, default=None)

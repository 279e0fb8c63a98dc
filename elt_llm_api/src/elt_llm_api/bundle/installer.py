"""Install a bundle without a network: `python FILE install FOLDER` on the target, or `elt-llm bundle install`.

Every bundle contains a copy of this file as its `__main__`. It imports only the standard library, because the target
may have nothing but Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any, Callable  # noqa: UP035 - Python 3.8 must be able to print that it is too old

FORMAT = "elt-llm-bundle"
FORMAT_VERSION = 1
MANIFEST, MAIN = "manifest.json", "__main__.py"
FOLDERS = ("wheels", "models", "config", "collections")
LAUNCHER = "elt-llm"
UNFINISHED = ".installing"
"""A folder that marks an unfinished installation, and holds the wheels and collections until it is finished."""
_CHUNK = 1 << 20  # bytes read at a time
_MAX_MANIFEST = 4 << 20  # bytes
_UNPACKED_COPIES = 2  # of a wheel's files: the files themselves, and their compiled modules
_EXTRA_BYTES = 64 << 20
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError, TypeError, AttributeError)
_COPY_AGAIN = "Copy it again, and compare its sha256 with the one that `elt-llm bundle create` printed."

# Starts pip from its wheel. If Python supports IPv6, urllib3 would open a socket when it is imported, to test IPv6.
_PIP = """
import runpy, socket, sys
socket.has_ipv6 = False
sys.path.insert(0, sys.argv[1])
sys.argv = ["pip", *sys.argv[2:]]
runpy.run_module("pip", run_name="__main__")
"""

Say = Callable[[str], None]


class BundleError(Exception):
    """A bundle that cannot be installed here. The message gives the reason, and `hint` how to solve the problem."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def this_machine() -> dict[str, str]:
    """Return the properties that a bundle and its target must share: Python, system, processor and C library."""
    library, version = platform.libc_ver()
    return {
        "python": f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}",
        "system": platform.system(),
        "machine": platform.machine().lower(),
        "libc": f"{library} {version}".strip(),
    }


def install_bundle(bundle: Path, folder: Path, say: Say) -> dict[str, Any]:
    """Install a bundle into a new or empty folder, and return its manifest. No socket is opened.

    Machine, folder, free space and all checksums are checked before anything is written. If the installation fails, its
    files are removed; if the process is killed, the next installation removes them. Raises BundleError.
    """
    folder = folder.absolute()
    try:
        with zipfile.ZipFile(bundle) as package:
            manifest = _checked_manifest(package, folder, say)
            _install_files(package, manifest, folder, say)
    except zipfile.BadZipFile as error:
        raise BundleError(f"{bundle} is cut off, altered, or not a bundle ({error}).", _COPY_AGAIN) from error
    except OSError as error:
        hint = "Check that the path exists and that you may read and write there. Then run the same command again."
        raise BundleError(f"{error.filename or folder}: {error.strerror or error}.", hint) from error
    return manifest


def _checked_manifest(package: zipfile.ZipFile, folder: Path, say: Say) -> dict[str, Any]:
    """Check machine, target folder, checksums and free space, and return the manifest. Raises BundleError."""
    try:
        manifest = _read_manifest(package)
        _check_machine(manifest["machine"])
        _check_folder(folder)
        say(f"Checking the sha256 of {len(manifest['files'])} files")
        _check_files(package, manifest)
        _check_space(folder, manifest)
    except _FAILURES as error:
        raise BundleError(f"{package.filename} is cut off, altered, or not a bundle ({error}).", _COPY_AGAIN) from error
    return manifest


def _read_manifest(package: zipfile.ZipFile) -> dict[str, Any]:
    """Return the manifest. Raises one of `_FAILURES` if it is invalid, and BundleError for another format version."""
    if package.getinfo(MANIFEST).file_size > _MAX_MANIFEST:
        raise ValueError(f"its {MANIFEST} is too long")
    manifest: dict[str, Any] = json.loads(package.read(MANIFEST))
    if manifest["format"] != FORMAT:
        raise ValueError(f"its format is {manifest['format']}")
    if manifest["version"] != FORMAT_VERSION:
        raise BundleError(
            f"The bundle has format version {manifest['version']}, but this installer reads version {FORMAT_VERSION}.",
            "Run the bundle itself: python FILE install FOLDER",
        )
    names = [member.filename for member in package.infolist()]
    if sorted(names) != sorted([*manifest["files"], MANIFEST]):
        raise ValueError("its files differ from those in its manifest")
    for name in manifest["files"]:
        path = PurePosixPath(name)
        inside = len(path.parts) > 1 and path.parts[0] in FOLDERS and ".." not in path.parts and "\\" not in name
        if name != MAIN and (not inside or str(path) != name):
            raise ValueError(f"the path {name!r} is not allowed")
    return manifest


def _check_machine(wanted: dict[str, str]) -> None:
    """Raise BundleError, with a hint, unless the bundle was made for this Python and this kind of machine."""
    here = this_machine()
    if wanted["python"] != here["python"]:
        version = wanted["python"].split()[-1]
        raise BundleError(
            f"The bundle is for {wanted['python']}, but this is {here['python']}.",
            f"Run it with that Python: python{version} FILE install FOLDER; or create a bundle with Python "
            f"{here['python'].split()[-1]}.",
        )
    for part in ("system", "machine"):
        if wanted[part] != here[part]:
            raise BundleError(
                f"The bundle is for {wanted['system']} on {wanted['machine']}, "
                f"but this is {here['system']} on {here['machine']}.",
                "Create a bundle on a machine of this kind: elt-llm bundle create FILE",
            )
    if not _is_new_enough(here["libc"], wanted["libc"]):
        raise BundleError(
            f"The bundle needs {wanted['libc']} or newer, but this system has {here['libc'] or 'another C library'}.",
            "Create the bundle on a system as old as this one, or update this system.",
        )


def _is_new_enough(here: str, wanted: str) -> bool:
    """Return whether the C library `here` is at least `wanted`, such as `glibc 2.36`. An empty `wanted` accepts any."""
    if not wanted:
        return True
    name, _, version = here.partition(" ")
    wanted_name, _, wanted_version = wanted.partition(" ")
    return name == wanted_name and _numbers(version) >= _numbers(wanted_version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _check_folder(folder: Path) -> None:
    """Raise BundleError unless the folder is new, empty, or left by an installation that was killed."""
    if folder.exists() and not (folder / UNFINISHED).is_dir() and (not folder.is_dir() or any(folder.iterdir())):
        raise BundleError(f"{folder} is not an empty folder.", "Name a new folder: python FILE install FOLDER")


def _check_files(package: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    """Compare the size and the SHA-256 of every file with the manifest. Raises BundleError for the first difference."""
    for name, expected in manifest["files"].items():
        digest, size = hashlib.sha256(), 0
        with package.open(name) as stream:
            for chunk in iter(lambda: stream.read(_CHUNK), b""):
                digest.update(chunk)
                size += len(chunk)
        if (size, digest.hexdigest()) != (expected["size"], expected["sha256"]):
            raise BundleError(
                f"{package.filename}: {name} was altered: its sha256 differs from the manifest's.", _COPY_AGAIN
            )


def _check_space(folder: Path, manifest: dict[str, Any]) -> None:
    files = sum(int(file["size"]) for file in manifest["files"].values())
    needed = files + _UNPACKED_COPIES * int(manifest["unpacked"]) + _EXTRA_BYTES
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if (free := shutil.disk_usage(existing).free) < needed:
        raise BundleError(
            f"{folder} has too little space: {needed} bytes are needed, {free} are free.", "Choose another folder."
        )


def _install_files(package: zipfile.ZipFile, manifest: dict[str, Any], folder: Path, say: Say) -> None:
    """Unpack the bundle, install the wheels into a virtual environment, and import the collections."""
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    _empty(folder)
    unpacked = folder / UNFINISHED
    unpacked.mkdir()
    try:
        _unpack(package, manifest, folder)
        say(f"Installing {len(list(unpacked.glob('wheels/*.whl')))} packages into {folder / 'venv'}")
        _install_wheels(folder)
        launcher = _write_launcher(folder, manifest["environment"])
        for exported in sorted(unpacked.glob("collections/*")):
            say(f"Importing {exported.name}")
            _run([str(launcher), "import", str(exported)], f"{exported.name} could not be imported")
        _run([str(launcher), "--version"], "the installed command does not run")
        shutil.rmtree(unpacked)
    except BaseException:
        _empty(folder)
        if not existed:
            folder.rmdir()
        raise


def _empty(folder: Path) -> None:
    """Remove everything in the folder. The marker `.installing` is removed last, so that the next run can continue."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == UNFINISHED):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _unpack(package: zipfile.ZipFile, manifest: dict[str, Any], folder: Path) -> None:
    for name in manifest["files"]:
        if name == MAIN:
            continue
        kept = name.startswith(("models/", "config/"))
        target = (folder if kept else folder / UNFINISHED) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with package.open(name) as stream, target.open("xb") as file:
            shutil.copyfileobj(stream, file, _CHUNK)


def _install_wheels(folder: Path) -> None:
    """Create the virtual environment, and install the wheels with the bundle's pip, because some systems lack pip."""
    venv.EnvBuilder(symlinks=os.name != "nt", with_pip=False).create(folder / "venv")
    wheels = sorted(map(str, (folder / UNFINISHED / "wheels").glob("*.whl")))
    pip = next(wheel for wheel in wheels if Path(wheel).name.startswith("pip-"))
    options = ["--no-index", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet"]
    options.append("--ignore-installed")  # a package on the user's PYTHONPATH must not replace one of the bundle
    command = [str(folder / "venv" / "bin" / "python"), "-c", _PIP, pip, "install", *options, *wheels]
    _run(command, "the packages could not be installed")


def _run(command: list[str], failure: str) -> None:
    """Run a program without the user's variables for pip and elt-llm. Raises BundleError if the program fails."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHONHOME", "ELT_LLM_"))
    }
    environment = {**kept, "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(  # noqa: S603 - programs of the checked bundle
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        last = " ".join(done.stdout.decode("utf-8", "replace").split()[-60:])
        raise BundleError(f"Nothing was installed: {failure}: {last}", "Create the bundle again, and report the error.")


def _write_launcher(folder: Path, environment: dict[str, str]) -> Path:
    """Write a script that runs elt-llm with the files in `folder`, unless the user's environment variables name others.

    `environment` maps further variables to values. A value that starts with `models/` is a path below `folder`.
    """
    lines = ["#!/bin/sh", f"folder={shlex.quote(str(folder))}"]
    paths = {"ELT_LLM_DATA_DIR": ".elt_llm", "ELT_LLM_STORAGE__MODELS_DIR": "models"}
    for variable, path in paths.items():
        lines.append(f': "${{{variable}:=$folder/{path}}}"; export {variable}')
    for variable, value in environment.items():
        where = '"$folder"/' if value.startswith("models/") else ""
        lines.append(f'[ -n "${{{variable}-}}" ] || {variable}={where}{shlex.quote(value)}; export {variable}')
    lines.append('exec "$folder/venv/bin/elt-llm" --config "$folder/config/rag_config.yaml" "$@"')
    launcher = folder / LAUNCHER
    launcher.write_text("\n".join(lines) + "\n", encoding="utf-8")
    launcher.chmod(0o755)
    return launcher


def main(arguments: list[str]) -> int:
    """Run the installer of a bundle, and return the exit code: 0 done, 1 refused or failed."""
    parser = argparse.ArgumentParser(description="Install elt-llm from this bundle. The network is not used.")
    parser.add_argument("action", choices=["install"])
    parser.add_argument("folder", type=Path, help="a new folder, for the program, its configuration and its data")
    parser.add_argument("--bundle", type=Path, default=Path(sys.argv[0]), help="the bundle; by default this file")
    given = parser.parse_args(arguments)
    try:
        install_bundle(given.bundle, given.folder, _print)
    except BundleError as error:
        sys.stderr.write(f"Error: {error}\nHint: {error.hint}\n")
        return 1
    _print(f"Installed. Try: {given.folder.absolute() / LAUNCHER} demo")
    return 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

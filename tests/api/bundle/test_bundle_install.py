"""A bundle installs itself without a network; an unsuitable bundle is refused before anything is written."""

import ensurepip
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_api.bundle.creation import BundleParts, write_bundle
from elt_llm_api.bundle.installer import MANIFEST, UNFINISHED, BundleError, install_bundle
from elt_llm_core.store.disk import file_sha256

pytestmark = pytest.mark.halved


COMMAND = """
import json, os, sys

def main():
    names = ("ELT_LLM_DATA_DIR", "ELT_LLM_STORAGE__MODELS_DIR", "ELT_LLM_LLAMA_CPP__MODEL_PATH")
    print(json.dumps({"arguments": sys.argv[1:], **{name: os.environ.get(name) for name in names}}))
    if "import" in sys.argv:
        os.makedirs(os.environ["ELT_LLM_DATA_DIR"])
        open(os.environ["ELT_LLM_DATA_DIR"] + "/imported", "w").write(sys.argv[-1])
"""
SOCKET_RECORDER = """
import os, sys
from pathlib import Path

def record(event, arguments):
    if event.startswith("socket."):
        with Path(os.environ["SOCKETS"]).open("a") as file:
            file.write(event + "\\n")

sys.addaudithook(record)
"""


def write_wheel(folder: Path, tag: str = "py3-none-any") -> Path:
    """Write a wheel whose command `elt-llm` prints its arguments and its settings, and return its path."""
    path = folder / f"tiny_elt_llm-1-{tag}.whl"
    info = "tiny_elt_llm-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_elt_llm.py", COMMAND)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-elt-llm\nVersion: 1\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\nelt-llm = tiny_elt_llm:main\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def pip_wheel() -> Path:
    """Return the path of the wheel of pip that Python contains for `ensurepip`."""
    found = [*(Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")]
    if not found:
        pytest.skip("this Python, such as Debian's, contains no wheel of pip")
    return found[0]


@pytest.fixture
def parts() -> BundleParts:
    files: dict[str, Path | bytes] = {
        "config/rag_config.yaml": b"llm:\n  provider: llama_cpp\n",
        "models/small.gguf": b"weights" * 100,
        "collections/notes.elt.zip": b"exported",
    }
    return BundleParts(files, {"ELT_LLM_LLAMA_CPP__MODEL_PATH": "models/small.gguf"})


@pytest.fixture
def bundle(parts: BundleParts, tmp_path: Path) -> Path:
    """A bundle with one tiny package, pip, a model, a configuration and a collection."""
    path = tmp_path / "tiny.pyz"
    write_bundle(parts, [write_wheel(tmp_path), pip_wheel()], path)
    return path


def silent(_line: str) -> None:
    """Ignore a line of progress."""


def rewrite(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Change the contents of a bundle as a skilled attacker would: the zip file gets correct CRCs."""
    with zipfile.ZipFile(bundle) as package:
        contents = {name: package.read(name) for name in package.namelist()}
    change(contents)
    with zipfile.ZipFile(bundle, "w") as package:
        for name, content in contents.items():
            package.writestr(name, content)


def with_manifest(bundle: Path, **changes: object) -> None:
    """Replace values in the manifest of a bundle."""

    def change(contents: dict[str, bytes]) -> None:
        contents[MANIFEST] = json.dumps(json.loads(contents[MANIFEST]) | changes).encode()

    rewrite(bundle, change)


def refused(bundle: Path, folder: Path) -> BundleError:
    """Try to install a bundle. Check that it is refused before anything is written, and return the error."""
    with pytest.raises(BundleError) as raised:
        install_bundle(bundle, folder, silent)
    assert not folder.exists()
    assert raised.value.hint
    return raised.value


def test_a_bundle_installs_itself_with_the_standard_library_only_and_opens_no_socket(
    bundle: Path, tmp_path: Path
) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(SOCKET_RECORDER)
    sockets = tmp_path / "sockets"
    environment = {"PYTHONPATH": str(tmp_path / "hooks"), "SOCKETS": str(sockets), "HOME": str(tmp_path / "home")}
    code = "import socket; socket.socket().close()"
    python = getattr(sys, "_base_executable", sys.executable)  # it cannot import the packages of the test environment
    subprocess.run([python, "-c", code], env=environment, check=True)
    assert sockets.read_text() == "socket.__new__\n"  # proves that the recorder works
    sockets.unlink()
    folder = tmp_path / "project with a space"
    shown = subprocess.run(
        [python, bundle, "install", folder], env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert not sockets.exists()
    assert not (tmp_path / "home").exists()
    ran = subprocess.run(
        [folder / "elt-llm", "ask", "it"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    assert json.loads(ran.stdout) == {
        "arguments": ["--config", f"{folder}/config/rag_config.yaml", "ask", "it"],
        "ELT_LLM_DATA_DIR": f"{folder}/.elt_llm",
        "ELT_LLM_STORAGE__MODELS_DIR": f"{folder}/models",
        "ELT_LLM_LLAMA_CPP__MODEL_PATH": f"{folder}/models/small.gguf",
    }
    assert (folder / ".elt_llm" / "imported").read_text().endswith("notes.elt.zip")
    assert (folder / "models" / "small.gguf").read_bytes() == b"weights" * 100
    assert sorted(it.name for it in folder.iterdir()) == [".elt_llm", "config", "elt-llm", "models", "venv"]


@pytest.mark.sampled(1, "installed bundle")
def test_the_launcher_prefers_variables_that_the_user_sets(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    install_bundle(bundle, folder, silent)
    environment = {"PATH": "/usr/bin:/bin", "ELT_LLM_DATA_DIR": "/elsewhere"}
    ran = subprocess.run([folder / "elt-llm"], env=environment, capture_output=True, check=True)
    assert json.loads(ran.stdout)["ELT_LLM_DATA_DIR"] == "/elsewhere"


@pytest.mark.sampled(1, "installed bundle")
def test_a_package_in_the_users_pythonpath_does_not_replace_a_package_of_the_bundle(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "tiny_elt_llm-1-py3-none-any.whl") as wheel:
        wheel.extractall(tmp_path / "user")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "user"))
    install_bundle(bundle, tmp_path / "project", silent)
    assert list((tmp_path / "project" / "venv").rglob("tiny_elt_llm.py"))


@pytest.mark.parametrize("kept", [0, 10, 1000, -1, -30])
def test_a_truncated_bundle_is_refused(bundle: Path, tmp_path: Path, kept: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:kept])
    assert "cut off" in str(refused(bundle, tmp_path / "project"))


@pytest.mark.parametrize(
    "name", ["__main__.py", MANIFEST, "wheels/tiny_elt_llm-1-py3-none-any.whl", "models/small.gguf"]
)
def test_a_flipped_bit_in_any_file_of_a_bundle_is_found(bundle: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(bundle) as package:
        member = package.getinfo(name)
    content = bytearray(bundle.read_bytes())
    content[member.header_offset + 30 + len(name) + member.compress_size // 2] ^= 1
    bundle.write_bytes(content)
    refused(bundle, tmp_path / "project")


def test_a_replaced_file_of_a_bundle_is_found_by_its_checksum(bundle: Path, tmp_path: Path) -> None:
    def replace(contents: dict[str, bytes]) -> None:
        contents["config/rag_config.yaml"] = b"network:\n  allow_remote_models: true\n"

    rewrite(bundle, replace)
    assert "config/rag_config.yaml was altered" in str(refused(bundle, tmp_path / "project"))


def test_a_file_that_the_manifest_does_not_list_is_refused(bundle: Path, tmp_path: Path) -> None:
    rewrite(bundle, lambda contents: contents.update({"wheels/more.whl": b""}))
    assert "its files differ from those in its manifest" in str(refused(bundle, tmp_path / "project"))


@pytest.mark.parametrize("name", ["../outside", "config/../../outside", "/outside", "elsewhere/file", "config", ""])
def test_a_bundle_with_a_path_outside_the_allowed_folders_is_refused(
    parts: BundleParts, tmp_path: Path, name: str
) -> None:
    parts.files[name] = b"x"
    write_bundle(parts, [write_wheel(tmp_path), pip_wheel()], tmp_path / "tiny.pyz")
    assert "is not allowed" in str(refused(tmp_path / "tiny.pyz", tmp_path / "project"))


@pytest.mark.parametrize(
    ("part", "value", "reason", "hint"),
    [
        ("python", "cpython 3.99", "is for cpython 3.99, but this is cpython 3.", "python3.99 FILE install FOLDER"),
        ("system", "Plan9", "is for Plan9 on", "machine of this kind"),
        ("machine", "riscv128", "on riscv128, but this is", "machine of this kind"),
        ("libc", "glibc 9.9", "needs glibc 9.9 or newer", "update this system"),
    ],
)
def test_a_bundle_for_another_python_version_or_machine_is_refused_with_a_hint(
    bundle: Path, tmp_path: Path, part: str, value: str, reason: str, hint: str
) -> None:
    with zipfile.ZipFile(bundle) as package:
        machine = json.loads(package.read(MANIFEST))["machine"]
    with_manifest(bundle, machine=machine | {part: value})
    error = refused(bundle, tmp_path / "project")
    assert reason in str(error)
    assert hint in error.hint


def test_a_manifest_with_an_unexpected_structure_is_refused(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as package:
        files = json.loads(package.read(MANIFEST))["files"]
    with_manifest(bundle, files=list(files))
    assert "not a bundle" in str(refused(bundle, tmp_path / "project"))


def test_a_bundle_with_a_newer_format_version_is_refused(bundle: Path, tmp_path: Path) -> None:
    with_manifest(bundle, version=2)
    assert "format version 2" in str(refused(bundle, tmp_path / "project"))


def test_a_bundle_is_refused_if_there_is_too_little_disk_space_to_unpack_its_packages(
    bundle: Path, tmp_path: Path
) -> None:
    with_manifest(bundle, unpacked=1 << 60)
    assert "too little space" in str(refused(bundle, tmp_path / "project"))


def test_installing_into_a_folder_that_is_not_empty_is_refused_and_changes_nothing(
    bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(BundleError, match="not an empty folder"):
        install_bundle(bundle, folder, silent)
    assert [it.name for it in folder.iterdir()] == ["mine.txt"]


@pytest.mark.sampled(1, "installed bundle")
def test_an_installation_removes_the_remains_of_a_killed_installation_and_starts_again(
    bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    (folder / UNFINISHED / "wheels").mkdir(parents=True)
    (folder / "venv").mkdir()
    (folder / "venv" / "rest").write_text("half a file")
    install_bundle(bundle, folder, silent)
    assert not (folder / "venv" / "rest").exists()
    assert not (folder / UNFINISHED).exists()


@pytest.mark.sampled(1, "installed bundle")
def test_a_failed_installation_leaves_nothing_and_names_the_reason(parts: BundleParts, tmp_path: Path) -> None:
    write_bundle(parts, [write_wheel(tmp_path, "cp27-none-win32"), pip_wheel()], tmp_path / "tiny.pyz")
    assert "is not a supported wheel" in str(refused(tmp_path / "tiny.pyz", tmp_path / "project"))


def test_the_error_for_a_missing_bundle_names_its_file(tmp_path: Path) -> None:
    assert "no.pyz: No such file" in str(refused(tmp_path / "no.pyz", tmp_path / "project"))


def test_equal_contents_give_byte_identical_bundles(bundle: Path, parts: BundleParts, tmp_path: Path) -> None:
    report = write_bundle(parts, [tmp_path / "tiny_elt_llm-1-py3-none-any.whl", pip_wheel()], tmp_path / "again.pyz")
    assert report.sha256 == file_sha256(bundle)
    assert (report.packages, report.models, report.collections) == (2, ("small.gguf",), ("notes.elt.zip",))
    assert bundle.stat().st_mode & 0o777 == 0o700  # it holds documents

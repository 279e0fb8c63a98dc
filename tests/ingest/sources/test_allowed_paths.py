"""Sixty hostile paths in a job never make the process open or list anything outside the project."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import EltError, UsageError
from elt_llm_ingest.sources.allowed_paths import AllowedPaths
from stored.job_project import JobProject

CANARY = "The canary sings in Vlissingen."
# {out}: the folder outside; {name}: its file; {root}: the project.
HOSTILE = [
    "../outside/secret.md",
    "docs/../../outside/secret.md",
    "docs/./../../outside/secret.md",
    "docs/../docs/../../outside",
    "..",
    "../",
    "../*",
    "../**/*.md",
    "docs/../../**/*.md",
    "docs/*/../../../outside/*.md",
    "docs/**/../../../outside/secret.md",
    "*/../../outside/secret.md",
    "{out}/secret.md",
    "{out}",
    "{out}/*.md",
    "/{out}/secret.md",
    "//{out}/secret.md",
    "/./{out}/secret.md",
    "{root}/../outside/secret.md",
    "{root}/docs/../../outside/secret.md",
    "/proc/self/root{out}/secret.md",
    "/proc/thread-self/root{out}/secret.md",
    "/proc/self/cwd/../outside/secret.md",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/maps",
    "/dev/fd/0",
    "/dev/stdin",
    "/dev/zero",
    "/dev/tty",
    "/etc/passwd",
    "/etc/*",
    "/**/secret.md",
    "/",
    "/*",
    "~/secret.md",
    "~",
    "~root/secret.md",
    "~nobody/.ssh/id_rsa",
    "link/secret.md",
    "link",
    "link/*.md",
    "link/**/*.md",
    "secret-link.md",
    "docs/inner-link/secret.md",
    "chain/secret.md",
    "loop/secret.md",
    "loop",
    "pipe.md",
    "socket.md",
    "\\\\server\\share\\secret.md",
    "//server/share/secret.md",
    "..\\outside\\secret.md",
    "C:\\outside\\secret.md",
    "C:/outside/secret.md",
    "C:secret.md",
    "file://{out}/secret.md",
    "file:{out}/secret.md",
    "https://example.org/secret.md",
    "%2e%2e/outside/secret.md",
    "%2e%2e%2foutside%2fsecret.md",
    "..%2foutside%2fsecret.md",
    "%252e%252e%252foutside",
    "..%c0%afoutside/secret.md",
    "\uff0e\uff0e/outside/secret.md",
    "..\u2215outside\u2215secret.md",
    "../OUTSIDE/SECRET.MD",
    "../Outside/secret.md",
    "../outside./secret.md",
    ".../outside/secret.md",
    "../outside/secret.md.",
    "../outside/secret.md ",
    "../outside/secret.md::$DATA",
    "docs\0/../../outside/secret.md",
    "../outside/secret.md\0.txt",
    "../outside/\nsecret.md",
    "docs/\x1b]0;x\x07",
    "../outside/secret\udcff.md",
    "docs/" + "a" * 300 + "/../../outside/secret.md",
    "../outside/" + "./" * 3000 + "secret.md",
    "CON",
    "",
    " ",
    "{{out}}/secret.md",
    "$HOME/secret.md",
    "`cat ../outside/secret.md`",
    "docs/..;/outside/secret.md",
    "docs/../../outside/[s]ecret.md",
    "../[o]utside/secret.md",
    "docs/[.][.]/outside/secret.md",
]


class OpenedPaths:
    """An audit hook that records opened and listed paths while `recording`; Python cannot remove a hook."""

    def __init__(self) -> None:
        self.recording = False
        self.opened: list[str] = []

    def record(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (
            self.recording
            and event in {"open", "os.listdir", "os.scandir"}
            and isinstance(arguments[0], str | bytes | Path)
        ):
            self.opened.append(os.fsdecode(arguments[0]))


@pytest.fixture(scope="module")
def hooked() -> OpenedPaths:
    import_module("elt_llm_core.index.chroma")  # its import reads /proc/stat
    opened_paths = OpenedPaths()
    sys.addaudithook(opened_paths.record)
    return opened_paths


@pytest.fixture
def opened_paths(hooked: OpenedPaths) -> Iterator[OpenedPaths]:
    hooked.opened.clear()
    hooked.recording = True
    yield hooked
    hooked.recording = False


@contextmanager
def _not_recording(opened_paths: OpenedPaths) -> Iterator[None]:
    opened_paths.recording = False
    yield
    opened_paths.recording = True


@pytest.fixture
def project(tmp_path: Path) -> JobProject:
    """Return a project with links, pipes and loops, and a folder with a secret beside the project."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(f"# Secret\n\n{CANARY}\n")
    made = JobProject(tmp_path / "project")
    made.write({"docs/a.md": "# A\n\nAn anchor.\n"})
    root = made.folder
    (root / "link").symlink_to(outside)
    (root / "chain").symlink_to(root / "link")
    (root / "docs" / "inner-link").symlink_to(outside)
    (root / "secret-link.md").symlink_to(outside / "secret.md")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe.md")
    os.mknod(root / "socket.md", 0o140600)
    return made


def _texts_of_all(project: JobProject) -> str:
    if not (project.loaded.data_dir / "store.sqlite3").exists():
        return ""
    return "".join(text for name in project.collections() for text in project.texts(name).values())


def _outside(paths: list[str], project: JobProject) -> list[str]:
    """Return the opened paths that are in the folder outside of the project or in system folders."""
    secret = str(project.folder.parent / "outside")
    forbidden = (secret, "/proc", "/dev/fd", "/dev/stdin", "/dev/zero", "/dev/tty", "/etc/passwd")
    own = "/proc/self/mountinfo"  # by which the store detects a network file system
    return [path for path in paths if path.startswith(forbidden) and path != own]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_request_with_a_hostile_path_reads_no_file_outside_the_allowed_folders(
    name: str, project: JobProject, opened_paths: OpenedPaths
) -> None:
    named = name.replace("{out}", str(project.folder.parent / "outside")).replace("{root}", str(project.folder))
    job = project.load_text("job", ["docs/a.md", named])
    message = "nothing was found by the pattern"
    try:
        project.run_job(job)
    except UsageError as error:
        message = str(error)
    with _not_recording(opened_paths):
        assert message.isprintable()
        assert CANARY not in _texts_of_all(project)
        assert _outside(opened_paths.opened, project) == []


def test_at_least_sixty_distinct_hostile_names_are_tested() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 60


@pytest.mark.parametrize("name", [".", "docs", "*/*", "**/*.md", "docs/*", "./docs/../docs", "docs//a.md"])
def test_symbolic_links_to_paths_outside_of_a_folder_are_not_followed(
    name: str, project: JobProject, opened_paths: OpenedPaths
) -> None:
    project.run_job(project.load_text("job", [name]))
    with _not_recording(opened_paths):
        assert "anchor" in _texts_of_all(project)
        assert CANARY not in _texts_of_all(project)
        assert _outside(opened_paths.opened, project) == []


def test_only_paths_within_the_configured_folders_are_allowed(tmp_path: Path) -> None:
    for name in ("open", "closed", "project"):
        (tmp_path / name).mkdir()
    project = JobProject(tmp_path / "project", "ingest: {roots: [../open, ../link]}\nembedding: {provider: fake}\n")
    (tmp_path / "link").symlink_to(tmp_path / "open")
    allowed = AllowedPaths.of(project.loaded)
    assert allowed.roots == ((tmp_path / "open").resolve(),) * 2
    assert allowed.check("../open") == allowed.check(str(tmp_path / "link")) == (tmp_path / "open").resolve()
    for name in ("../closed", ".", "../open/../closed"):
        with pytest.raises(UsageError, match="leads out of"):
            allowed.check(name)


def test_a_file_replaced_by_a_link_after_the_check_is_not_followed(project: JobProject) -> None:
    """The request of the parser names the folder of its file, so that the parser can refuse the link."""
    seen: list[Path | None] = []

    class Swapping(type(project.parser)):  # type: ignore[misc]  # the class of a value
        def read_all(self, requests: Any) -> Any:
            listed = list(requests)
            seen.extend(request.within for request in listed)
            return super().read_all(listed)

    project.parser = Swapping()
    project.run_job(project.load_text("job", ["docs"]))
    assert seen == [project.folder.resolve() / "docs"]


def test_a_missing_source_file_is_a_usage_error(project: JobProject) -> None:
    with pytest.raises(EltError, match=r"no file or folder docs/b\.md"):
        project.run_job(project.load_text("job", ["docs/b.md"]))

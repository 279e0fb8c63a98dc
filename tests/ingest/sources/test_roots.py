"""The names of root folders are short, lasting and unique."""

from pathlib import Path

import pytest
from elt_llm_ingest.sources.collection_sources import RootNames
from elt_llm_ingest.sources.discovery import FoundFile
from hypothesis import given
from hypothesis import strategies as st


def _file(root: str, relative: str) -> FoundFile:
    return FoundFile(Path(root), relative, Path(root) / relative, 1, 1)


def _place(names: RootNames, root: str, relative: str) -> tuple[str, str]:
    located = names.locate(_file(root, relative))
    return located.root, located.relative


def test_the_name_of_a_source_folder_includes_as_many_parent_folders_as_needed_to_be_unique(tmp_path: Path) -> None:
    for path in ("a/docs", "b/docs", "c/b/docs"):
        (tmp_path / path).mkdir(parents=True)
    names = RootNames({})
    assert names.name_of(tmp_path / "a/docs") == "docs"
    assert names.name_of(tmp_path / "b/docs") == "b/docs"
    assert names.name_of(tmp_path / "c/b/docs") == "c/b/docs"
    assert names.name_of(tmp_path / "a/docs") == "docs"


def test_a_source_folder_that_is_the_root_of_the_file_system_gets_a_name() -> None:
    assert RootNames({}).name_of(Path("/")) == "root"


@pytest.mark.parametrize(
    ("known", "root", "relative", "place"),
    [
        ({"docs": "/x/docs"}, "/x/docs", "a.md", ("docs", "a.md")),
        ({"docs": "/x/docs"}, "/x/docs/sub/deep", "a.md", ("docs", "sub/deep/a.md")),
        ({"sub": "/x/docs/sub"}, "/x/docs", "sub/deep/a.md", ("sub", "deep/a.md")),
        ({"sub": "/x/docs/sub"}, "/x/docs", "submarine/a.md", ("docs", "submarine/a.md")),
        ({"docs": "/x/docs", "sub": "/x/docs/sub"}, "/x/docs", "sub/a.md", ("sub", "a.md")),
        ({"é": "/x/docs/e\u0301"}, "/x/docs", "é/a.md", ("é", "a.md")),
        ({"docs": "/x/docs"}, "/x/docs/e\u0301", "a.md", ("docs", "é/a.md")),
    ],
)
def test_a_file_belongs_to_the_innermost_known_source_folder(
    known: dict[str, str], root: str, relative: str, place: tuple[str, str]
) -> None:
    names = RootNames({name: Path(path) for name, path in known.items()})
    assert _place(names, root, relative) == place


def test_a_new_source_folder_takes_over_the_name_of_a_missing_source_folder(tmp_path: Path) -> None:
    (tmp_path / "new" / "docs").mkdir(parents=True)
    names = RootNames({"docs": tmp_path / "old" / "docs"})
    located = names.locate(_file(str(tmp_path / "new" / "docs"), "a.md"))
    assert (located.root, located.root_path) == ("docs", tmp_path / "new" / "docs")


FOLDERS = ("a", "b", "a/b", "a/c", "a/b/c", "b/a")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that contains all test folders."""
    made = tmp_path_factory.mktemp("roots")
    for folder in FOLDERS:
        (made / folder).mkdir(parents=True, exist_ok=True)
    return made


@given(folders=st.lists(st.sampled_from(FOLDERS), min_size=1, unique=True))
def test_file_names_within_a_collection_are_unique_and_stable(place: Path, folders: list[str]) -> None:
    names = RootNames({})
    files = [_file(str(place / folder), f"{leaf}.md") for folder in folders for leaf in "xy"]
    first = {file.path: _place(names, str(file.root), file.relative) for file in files}
    assert len(set(first.values())) == len(first)
    known = RootNames(dict(names._paths))
    for file in files:
        assert _place(known, str(file.root), file.relative)[1].endswith(file.path.name)

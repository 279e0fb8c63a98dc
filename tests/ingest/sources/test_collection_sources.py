"""The files of a run come from the given paths and from the known sources of the collection."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.store.store import open_store
from elt_llm_ingest.sources.collection_sources import CollectionSources, KnownSources, find_sources
from elt_llm_ingest.sources.patterns import PathSelection
from stored.folders import run_ingest, write_files
from stored.shelf import COLLECTION


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {"a.md": "# A\n\nReef.\n", "sub/b.md": "# B\n\nTide.\n"})


def _find(data_dir: Path, *paths: Path, everything: bool = False, include: tuple[str, ...] = ()) -> CollectionSources:
    with open_store(data_dir, for_writing=True) as store:
        return find_sources(KnownSources.of(store, COLLECTION), paths, PathSelection.of(include), everything=everything)


def _places(sources: CollectionSources) -> list[tuple[str, str]]:
    return [(file.root, file.relative) for file in sources.files]


def test_a_new_collection_has_no_known_source_paths(tmp_path: Path, docs: Path) -> None:
    assert not _find(tmp_path / "data").known
    given = _find(tmp_path / "data", docs)
    assert _places(given) == [("docs", "a.md"), ("docs", "sub/b.md")]
    assert given.whole_roots == {"docs"}


def test_an_ingest_path_that_does_not_exist_is_refused(tmp_path: Path, docs: Path) -> None:
    with pytest.raises(UsageError, match="dcos"):
        _find(tmp_path / "data", tmp_path / "dcos")


def test_an_ingest_without_paths_scans_all_known_source_paths(tmp_path: Path, docs: Path) -> None:
    other = write_files(tmp_path / "other", {"c.md": "# C\n\nQuay.\n", "d.md": "# D\n\nPier.\n"})
    run_ingest(tmp_path / "data", docs, other / "c.md")
    found = _find(tmp_path / "data")
    assert sorted(_places(found)) == [("docs", "a.md"), ("docs", "sub/b.md"), ("other", "c.md")]
    assert found.whole_roots == {"docs"}
    assert _places(_find(tmp_path / "data", other)) == [("other", "c.md"), ("other", "d.md")]
    assert len(_find(tmp_path / "data", other, everything=True).files) == 4


def test_known_source_paths_that_are_missing_are_reported(tmp_path: Path, docs: Path) -> None:
    other = write_files(tmp_path / "other", {"c.md": "# C\n\nQuay.\n"})
    run_ingest(tmp_path / "data", docs, other / "c.md")
    docs.rename(tmp_path / "elsewhere")
    (other / "c.md").unlink()
    found = _find(tmp_path / "data")
    assert (found.files, found.missing, len(found.missing_files)) == ((), (docs,), 1)


@pytest.mark.parametrize("name", ["docs", "docs.md"])
def test_a_file_at_the_path_of_a_known_folder_does_not_replace_the_folder(tmp_path: Path, name: str) -> None:
    folder = write_files(tmp_path / name, {"a.md": "# A\n\nReef.\n"})
    run_ingest(tmp_path / "data", folder)
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("No folder.\n")
    found = _find(tmp_path / "data")
    assert (found.files, found.missing, found.whole_roots) == ((), (folder,), frozenset())


def test_scanning_a_parent_folder_includes_known_folders_unless_they_are_hidden(tmp_path: Path, docs: Path) -> None:
    hidden = write_files(docs / ".hidden" / "inner", {"h.md": "# H\n\nKeel.\n"})
    run_ingest(tmp_path / "data", docs / "sub", hidden)
    found = _find(tmp_path / "data", docs)
    assert _places(found) == [("docs", "a.md"), ("sub", "b.md")]
    assert found.whole_roots == {"docs", "sub"}


def test_a_relative_pattern_does_not_make_files_of_other_folders_count_as_deleted(tmp_path: Path, docs: Path) -> None:
    other = write_files(tmp_path / "other", {"c.md": "# C\n\nQuay.\n"})
    run_ingest(tmp_path / "data", docs, other)
    found = _find(tmp_path / "data", docs, include=("sub/**",))
    assert _places(found) == [("docs", "sub/b.md")]
    assert found.whole_roots == {"docs"}


def test_known_files_that_no_absolute_pattern_matches_count_as_deleted(tmp_path: Path, docs: Path) -> None:
    other = write_files(tmp_path / "other", {"c.md": "# C\n\nQuay.\n"})
    single = write_files(tmp_path / "single", {"d.md": "# D\n\nPier.\n"}) / "d.md"
    run_ingest(tmp_path / "data", docs, other, single)
    found = _find(tmp_path / "data", docs / "sub", everything=True, include=(f"{docs}/sub/**",))
    assert _places(found) == [("docs", "sub/b.md")]
    assert found.whole_roots == {"docs", "other"}
    assert (len(found.missing_files), found.missing) == (1, ())


def test_an_upload_that_is_deleted_after_it_was_listed_is_left_out(tmp_path: Path, docs: Path) -> None:
    known = KnownSources(uploads=(docs / "a.md", docs / "deleted.md"))
    found = find_sources(known, (), PathSelection.of(()), everything=False)
    assert [file.relative for file in found.files] == ["a.md"]

"""Patterns match paths, and a selection of patterns selects files."""

import time
from pathlib import Path

import pytest
from elt_llm_ingest.sources.patterns import PathPattern, PathSelection, fixed_folder, is_pattern, literal_pattern
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path("/project/docs")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.md", "a.md", True),
        ("*.md", "sub/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "sub/deep/a.md", True),
        ("sub/**", "sub/deep/a.md", True),
        ("sub/**", "sub", True),
        ("sub/**", "subway/a.md", False),
        ("**/drafts/**/*.md", "x/drafts/y/z/a.md", True),
        ("**/drafts/**/*.md", "drafts/a.md", True),
        ("**/drafts/**/*.md", "a.md", False),
        ("?.md", "ab.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("A.md", "a.md", False),
        ("./sub//a.md", "sub/a.md", True),
    ],
)
def test_a_file_pattern_is_matched_against_a_path_component_by_component(
    pattern: str, path: str, expected: bool
) -> None:
    assert PathPattern(pattern).matches(path.split("/")) is expected


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [("docs/**/*.pdf", "docs"), ("docs/a/*.pdf", "docs/a"), ("*.md", "."), ("/x/*.md", "/x"), ("/*", "/"), ("a", "a")],
)
def test_the_fixed_folder_of_a_pattern_is_the_path_before_the_first_wildcard(pattern: str, folder: str) -> None:
    assert fixed_folder(pattern) == folder


def test_folders_without_possible_matches_are_not_walked() -> None:
    pattern = PathPattern("/project/docs/*/notes/*.md")
    assert pattern.may_match_below(("project", "docs", "x"))
    assert pattern.may_match_below(("project", "docs", "x", "notes"))
    assert not pattern.may_match_below(("project", "docs", "x", "other"))
    assert not pattern.may_match_below(("project", "docs", "x", "notes", "deep"))


def test_a_file_name_pattern_excludes_files_in_every_folder_and_a_path_pattern_only_at_its_path() -> None:
    selection = PathSelection.of(exclude=["*.tmp", "drafts", "sub/a.md", "/project/docs/old/**"])
    excluded = {
        name: selection.excluded_by(ROOT, ROOT / name)
        for name in ("x/y.tmp", "x/drafts", "sub/a.md", "other/a.md", "old", "old/b.md", "x/old/b.md")
    }
    assert excluded == {
        "x/y.tmp": "*.tmp",
        "x/drafts": "drafts",
        "sub/a.md": "sub/a.md",
        "other/a.md": "",
        "old": "/project/docs/old/**",
        "old/b.md": "/project/docs/old/**",
        "x/old/b.md": "",
    }


@given(st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_a_pattern_without_wildcards_matches_only_its_own_path(parts: list[str]) -> None:
    named = [part for part in parts if part not in {".", ".."}] or ["a"]
    path = ROOT.joinpath(*named)
    selection = PathSelection.of([literal_pattern(path)])
    assert selection.includes(ROOT, path)
    assert not selection.includes(ROOT, path.with_name(f"{path.name}x"))
    assert all(selection.may_include_below(ROOT, folder) for folder in path.parents)


def test_a_file_selection_is_exhaustive_only_if_all_patterns_are_absolute() -> None:
    assert PathSelection.of(["/project/docs/*.md"]).is_exhaustive
    assert not PathSelection.of(["*.md"]).is_exhaustive
    assert not PathSelection.of().is_exhaustive
    assert is_pattern("a*") and not is_pattern("a")  # noqa: PT018 - one thought


def test_a_hostile_pattern_is_matched_quickly() -> None:
    started = time.monotonic()
    parts = ["a" * 200] * 60
    assert not PathPattern("/".join(["**", "*a*a*a*a*b"] * 30)).matches(parts)
    assert not PathSelection.of(exclude=["*a" * 100 + "b"]).excluded_by(ROOT, ROOT / ("a" * 250))
    assert time.monotonic() - started < 5  # far above what it takes; without bounds it would take for ever

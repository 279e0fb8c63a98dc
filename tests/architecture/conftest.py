"""Fixtures: the files of the repository that the architecture tests examine."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGES = ("elt_llm_core", "elt_llm_ingest", "elt_llm_query", "elt_llm_consumer", "elt_llm_api")
SOURCES = sorted(path for package in PACKAGES for path in (PROJECT / package / "src").rglob("*.py"))
TESTS = sorted((PROJECT / "tests").rglob("*.py"))
_NOT_OURS = {"node_modules", "__pycache__", "build", "dist", "site"}


def _written_files() -> list[Path]:
    """Return every file that people wrote: no caches, no virtual environments, no hidden files except .ci."""
    found = [path for path in PROJECT.rglob("*") if path.is_file()]
    return sorted(path for path in found if _is_written(path.relative_to(PROJECT)))


def _is_written(path: Path) -> bool:
    hidden = any(part.startswith(".") and part not in {".ci", ".gitignore"} for part in path.parts)
    return not hidden and not _NOT_OURS & set(path.parts)


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the repository."""
    return PROJECT


@pytest.fixture(scope="session")
def sources() -> list[Path]:
    """Every module of the five packages."""
    return SOURCES


@pytest.fixture(scope="session")
def test_files() -> list[Path]:
    """Every test and fixture file."""
    return TESTS


@pytest.fixture(scope="session")
def written_files() -> list[Path]:
    """Every file of the repository that people wrote."""
    return _written_files()


@pytest.fixture(scope="session")
def modules(sources: list[Path]) -> list[str]:
    """The dotted name of every module of the five packages."""
    names: list[str] = []
    for path in sources:
        parts = path.relative_to(PROJECT).with_suffix("").parts[2:]
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names

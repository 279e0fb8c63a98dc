"""The packages stay small: limits on files, lines, top-level entries, functions, and modules imported by a question."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST_FILES = 480
MOST_LINES = 84_636
MOST_ENTRIES = 12
FORMER_ENTRY_POINTS = ("runner.py", "app.py")
MOST_FILES_OF_A_QUESTION = 110
LONGEST_FUNCTION = 40

_PARTICIPLES = re.compile(
    "Begun|Bound|Broken|Brought|Built|Caught|Chosen|Cut|Drawn|Driven|Eaten|Fallen|Felt|Found|Given|Gone|Grown|Heard|"
    "Held|Kept|Known|Laid|Led|Left|Lent|Lost|Made|Meant|Met|Paid|Put|Read|Run|Said|Seen|Sent|Set|Shown|Shut|Spoken|Spent|"
    "Stood|Struck|Taken|Taught|Told|Thought|Understood|Won|Worn|Written|[A-Z][a-z]+ed"
)


def package_of(path: Path) -> str:
    """The package a source file belongs to."""
    return path.parts[path.parts.index("src") + 1]


def public_classes(sources: list[Path]) -> Iterator[tuple[str, str, Path]]:
    """Package, name and file of every public class at the top of a module."""
    for path in sources:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield package_of(path), node.name, path


def is_one_word(name: str) -> bool:
    """Whether a class name is a single word, such as Candidate."""
    return re.fullmatch(r"[A-Z][a-z]+", name) is not None


def test_the_packages_have_at_most_480_files(sources: list[Path]) -> None:
    assert len(sources) <= MOST_FILES


def test_the_packages_do_not_grow_beyond_their_line_limit(sources: list[Path]) -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources) <= MOST_LINES


def test_the_top_folder_of_each_package_has_few_entries(project: Path) -> None:
    # Former entry points do not count: they only name the command that replaced them.
    hidden = {"__init__.py", "py.typed", "__pycache__", *FORMER_ENTRY_POINTS}
    for source in project.glob("elt_llm_*/src/elt_llm_*"):
        entries = sorted(entry.name for entry in source.iterdir() if entry.name not in hidden)
        assert len(entries) <= MOST_ENTRIES, f"{source.name}: {entries}"


def test_no_function_is_longer_than_forty_lines(sources: list[Path]) -> None:
    lengths = {
        f"{path.name}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_no_file_has_a_meaningless_name(sources: list[Path]) -> None:
    empty_names = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
    assert [str(path) for path in sources if path.stem in empty_names] == []


def test_public_class_names_are_unique_within_a_package(sources: list[Path]) -> None:
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    for package, name, path in public_classes(sources):
        files[package, name].append(path.name)
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_no_class_name_is_a_single_participle(sources: list[Path]) -> None:
    names = {name for _, name, _ in public_classes(sources) if is_one_word(name)}
    assert {name for name in names if _PARTICIPLES.fullmatch(name)} == set()


def test_no_two_packages_have_the_same_one_word_class_name(sources: list[Path]) -> None:
    packages: dict[str, set[str]] = defaultdict(set)
    for package, name, _ in public_classes(sources):
        if is_one_word(name):
            packages[name].add(package)
    assert {name: sorted(where) for name, where in packages.items() if len(where) > 1} == {}


def imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of this project that a file imports: at its top, in functions or for type checking."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in modules else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & modules.keys()


@pytest.fixture(scope="module")
def paths_of_modules(sources: list[Path]) -> dict[str, Path]:
    """The file of every module of this project, by the module's dotted name."""
    found: dict[str, Path] = {}
    for path in sources:
        dotted = ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])
        found[dotted.removesuffix(".__init__")] = path
    return found


def test_the_query_engine_imports_at_most_110_source_files(paths_of_modules: dict[str, Path]) -> None:
    reached: set[str] = set()
    waiting = ["elt_llm_query.engine"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += imported_modules(paths_of_modules[module], paths_of_modules)
    assert len(reached) <= MOST_FILES_OF_A_QUESTION, sorted(reached)

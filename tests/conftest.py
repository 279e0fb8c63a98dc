"""What every test relies on: no network, no developer's home folder, real data when it is there."""

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 - recognised, never bound

hypothesis.settings.register_profile("project", deadline=None, print_blob=True)
hypothesis.settings.load_profile("project")


class NetworkRefused(Exception):
    """A test tried to leave this machine."""


_refused: list[str] = []


def _refuse_to_leave_the_machine(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: it sees every socket Python opens, whichever library asks, and patches nothing."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
    elif event == "socket.getaddrinfo":
        address = arguments
    else:
        return
    if not isinstance(address, tuple):
        return  # a UNIX socket
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if host is None or str(host) == "" or str(host).startswith(LOOPBACK):
        return
    _refused.append(f"{event} to {host}")
    raise NetworkRefused(f"{event} to {host}: tests stay on this machine")


sys.addaudithook(_refuse_to_leave_the_machine)


@pytest.fixture
def refused_connections() -> list[str]:
    """What the present test was refused; clearing it forgives."""
    return _refused


@pytest.fixture(autouse=True)
def _no_connection_is_refused_in_silence() -> Iterator[None]:
    """Fails a test whose connection was refused even when the library under test swallowed the error."""
    _refused.clear()
    yield
    assert not _refused, f"connections were attempted: {_refused}"


@pytest.fixture(autouse=True, scope="session")
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the developer's home folder and ELT_LLM_ variables out of the tests and of what they start."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("XDG_", "ELT_LLM_")) and name != "ELT_LLM_DATASETS":
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        yield


def _datasets_folder() -> Path | None:
    folder = os.environ.get("ELT_LLM_DATASETS")
    return Path(folder).resolve() if folder and Path(folder).is_dir() else None


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of real data; without it the test skips and says how to bring it."""
    folder = _datasets_folder()
    if folder is None:
        pytest.skip("needs real data: set ELT_LLM_DATASETS to its folder")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where continuous integration has the data, a skipped test is a failed one."""
    report = yield
    skipped = report.outcome == "skipped" and not hasattr(report, "wasxfail")
    if skipped and os.environ.get("CI") == "true" and _datasets_folder() is not None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although CI has the data: {call.excinfo and call.excinfo.value}"
    return report

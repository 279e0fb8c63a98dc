"""Security case S-BIND: the server listens on other addresses only if all safeguards for them are configured."""

import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_api.serve.listening import model_exposure_warnings
from elt_llm_core.settings.tree import Settings
from processes.command_line import FAKE, CommandLine, run_here
from served.answering_server import copied_project
from served.command import serving

pytestmark = pytest.mark.network

TOKEN = "bound-token-" + "y" * 32
EVERY = "0.0.0.0"  # noqa: S104 - refused, or behind a key


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate for this machine and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs openssl: apt-get install openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made = folder / "chain.pem", folder / "key.pem"
    asked = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    subprocess.run([program, *asked, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


@dataclass(frozen=True)
class EndedServer:
    """What a server responded before a signal ended it, and how it ended."""

    port: int
    listening: set[tuple[str, int]]
    statuses: list[int]
    """The answers to `/health`, to `/ready`, and to `/ready` with the token."""
    code: int
    seconds: float
    """How long it took to end."""
    output: str


def _served_and_ended(folder: Path, logs: Path, number: signal.Signals, *options: str | Path) -> EndedServer:
    with serving(folder, logs, *options) as running:
        key = {"authorization": f"Bearer {TOKEN}"}
        answers = [running.get("/health"), running.get("/ready"), running.get("/ready", **key)]
        port, listening = int(running.address.rpartition(":")[2]), _listening(running.process.pid)
        started = time.monotonic()
        code = running.end(number)
    took, statuses = time.monotonic() - started, [answer.status_code for answer in answers]
    return EndedServer(port, listening, statuses, code, took, running.output)


@pytest.fixture(scope="module")
def open_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> EndedServer:
    """A server without a key, ended by Ctrl-C."""
    return _served_and_ended(sample_folder, tmp_path_factory.mktemp("open"), signal.SIGINT)


@pytest.fixture(scope="module")
def locked_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> EndedServer:
    """A server with a key and a token from a file that others can read, ended by SIGTERM."""
    place = tmp_path_factory.mktemp("locked")
    folder = copied_project(sample_folder, place / "project")
    assert run_here("keys", "add", "wiki", "--read", "*", folder=folder, environment=FAKE).code == 0
    file = place / "token"
    file.write_text(f"{TOKEN}\n", encoding="ascii")
    file.chmod(0o644)
    return _served_and_ended(folder, place, signal.SIGTERM, "--token-file", file)


def test_by_default_the_server_listens_on_loopback_only(open_server: EndedServer) -> None:
    assert open_server.statuses[0] == 200
    assert open_server.listening == {("127.0.0.1", open_server.port)}


def test_at_startup_the_server_reports_open_access_only_if_it_requires_no_key(
    open_server: EndedServer, locked_server: EndedServer
) -> None:
    assert "All users of this machine may ask." in open_server.output
    assert "may ask" not in locked_server.output


def test_a_signal_stops_the_server_within_a_time_limit_with_the_exit_code_of_the_signal(
    open_server: EndedServer, locked_server: EndedServer
) -> None:
    assert (open_server.code, locked_server.code) == (130, 143)
    assert max(open_server.seconds, locked_server.seconds) < 60
    assert "Traceback" not in open_server.output + locked_server.output


REFUSED = {
    "without a token": ({}, (), "a token is needed"),
    "with too short a token": ({"ELT_LLM_SERVE_TOKEN": "x" * 31}, (), "32 characters or more"),
    "with a token alone": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, (), "only with --allow-remote"),
    "unencrypted": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, ("--allow-remote",), "unencrypted"),
    "with a flag alone": ({}, ("--allow-remote", "--behind-proxy"), "a token is needed"),
    "with an empty token": ({"ELT_LLM_SERVE_TOKEN": " "}, ("--allow-remote", "--behind-proxy"), "a token is needed"),
    "with spaces in the token": ({"ELT_LLM_SERVE_TOKEN": "x y" * 20}, ("--allow-remote",), "no spaces"),
    "with half of TLS": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, ("--allow-remote", "--key", "k.pem"), "unencrypted"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
@pytest.mark.parametrize("host", [EVERY, "::"])
def test_an_address_other_than_loopback_is_refused_without_a_token(
    case: str, host: str, own_samples: CommandLine
) -> None:
    environment, options, reason = REFUSED[case]
    calling = CommandLine(own_samples.folder, own_samples.capsys, {**own_samples.environment, **environment})
    refused = calling("serve", "--host", host, "--port", "0", *options)
    assert refused.code == 2
    assert reason in refused.err
    assert "\n" in refused.err.strip()  # the hint is on the next line


def test_a_proxy_in_front_of_loopback_also_needs_a_token(own_samples: CommandLine) -> None:
    refused = own_samples("serve", "--port", "0", "--behind-proxy")
    assert (refused.code, "a token is needed" in refused.err) == (2, True)


def test_a_network_server_with_a_token_and_tls_accepts_only_encrypted_connections(
    own_samples: CommandLine, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    chain, key = certificate
    options = ("--host", EVERY, "--allow-remote", "--certificate", chain, "--key", key)
    with serving(own_samples.folder, tmp_path, *options, token=TOKEN) as running:
        assert running.address.startswith("https://")
        here = running.address.replace(EVERY, "127.0.0.1")
        asked = [running.get("/ready").status_code, running.get("/ready", authorization=f"Bearer {TOKEN}").status_code]
        with socket.create_connection(("127.0.0.1", int(here.rpartition(":")[2])), timeout=10) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not plain.recv(100).startswith(b"HTTP/1.1 200")
        arguments = Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
    assert asked == [421, 421]  # no allowed host is configured, and 0.0.0.0 is no host name
    assert TOKEN.encode() not in arguments


def test_a_port_in_use_is_reported_with_the_remedy(own_samples: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = own_samples("serve", "--port", str(port))
    assert refused.code == 2
    assert f"Port {port} of 127.0.0.1 is in use by another program" in refused.err
    assert "--port" in refused.err.splitlines()[-1]


@pytest.mark.parametrize("host", ["nowhere invalid", "192.0.2.1", "999.1.1.1", "a" * 300])
def test_an_address_that_belongs_to_another_machine_is_reported(host: str, own_samples: CommandLine) -> None:
    assert "is not an address of this machine" in own_samples("serve", "--host", host, "--port", "0").err


def test_an_unusable_tls_certificate_is_reported(
    own_samples: CommandLine, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    chain, key = certificate
    (tmp_path / "no.pem").write_text("none", encoding="ascii")
    for options in ((chain, tmp_path / "missing.pem"), (tmp_path / "no.pem", key), (key, chain)):
        refused = own_samples("serve", "--port", "0", "--certificate", options[0], "--key", options[1])
        assert refused.code == 2
        assert "PEM" in refused.err
    assert "Give both" in own_samples("serve", "--port", "0", "--certificate", chain).err


def test_a_token_file_is_read_and_a_token_file_that_other_users_can_read_is_reported(
    locked_server: EndedServer,
) -> None:
    assert locked_server.statuses == [200, 401, 200]
    assert "can read" in locked_server.output


def test_a_token_file_without_a_token_is_reported(own_samples: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "token"
    assert "There is no file" in own_samples("serve", "--token-file", file).err
    file.write_text("\n", encoding="ascii")
    assert "contains no token" in own_samples("serve", "--token-file", file).err


def test_a_warning_is_printed_for_an_exposed_or_remote_model_server() -> None:
    elsewhere = Settings.model_validate(
        {"ollama": {"base_url": "http://me:secret@models.example:1"}, "llm": {"provider": "ollama"}}
    )
    warned = list(model_exposure_warnings(elsewhere, {"OLLAMA_HOST": EVERY}))
    assert [EVERY in warned[0], "http://models.example:1" in warned[1], "secret" in str(warned)] == [True, True, False]
    assert not list(model_exposure_warnings(Settings(), {"OLLAMA_HOST": "127.0.0.1:11434"}))


def _listening(pid: int) -> set[tuple[str, int]]:
    """Return the IPv4 addresses that a process listens on, and its number of IPv6 sockets."""
    mine = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # The process may close it meanwhile, for instance while it loads a module.
            mine.add(descriptor.readlink().name)
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine:
                address, port = fields[1].split(":")
                shown = socket.inet_ntoa(bytes.fromhex(address)[::-1]) if table == "tcp" else "IPv6"
                found.add((shown, int(port, 16)))
    return found

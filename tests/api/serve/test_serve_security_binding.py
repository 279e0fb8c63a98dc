"""S-BIND: the server is this machine's alone unless everything that makes it safe for others was given."""

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from command_line import CommandLine
from elt_llm_api.serve.listening.warnings import exposed_models
from elt_llm_core.settings import Settings
from served_command import serving

pytestmark = pytest.mark.network

TOKEN = "bound-token-" + "y" * 32
EVERY = "0.0.0.0"  # noqa: S104 - refused, or behind a key


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs openssl: apt-get install openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made = folder / "chain.pem", folder / "key.pem"
    asked = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    subprocess.run([program, *asked, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


def test_s_bind_it_listens_at_loopback_alone_and_nothing_else_does(own_samples: CommandLine, tmp_path: Path) -> None:
    with serving(own_samples.folder, tmp_path) as running:
        assert running.get("/health").json() == {"status": "ok"}
        port = int(running.address.rpartition(":")[2])
        listening = _listening(running.process.pid)
    assert listening == {("127.0.0.1", port)}


REFUSED = {
    "without a token": ({}, (), "a token is needed"),
    "with too short a token": ({"ELT_LLM_SERVE_TOKEN": "x" * 31}, (), "32 characters or more"),
    "with a token alone": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, (), "only if told to"),
    "unencrypted": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, ("--allow-remote",), "unencrypted"),
    "with a flag alone": ({}, ("--allow-remote", "--behind-proxy"), "a token is needed"),
    "with an empty token": ({"ELT_LLM_SERVE_TOKEN": " "}, ("--allow-remote", "--behind-proxy"), "a token is needed"),
    "with spaces in the token": ({"ELT_LLM_SERVE_TOKEN": "x y" * 20}, ("--allow-remote",), "no spaces"),
    "with half of TLS": ({"ELT_LLM_SERVE_TOKEN": TOKEN}, ("--allow-remote", "--key", "k.pem"), "unencrypted"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
@pytest.mark.parametrize("host", [EVERY, "::"])
def test_s_bind_another_address_is_refused(case: str, host: str, own_samples: CommandLine) -> None:
    environment, options, reason = REFUSED[case]
    calling = CommandLine(own_samples.folder, own_samples.capsys, {**own_samples.environment, **environment})
    refused = calling("serve", "--host", host, "--port", "0", *options)
    assert refused.code == 2
    assert reason in refused.err
    assert "\n" in refused.err.strip()  # a cure stands below


def test_s_bind_a_proxy_in_front_of_loopback_needs_a_token_too(own_samples: CommandLine) -> None:
    refused = own_samples("serve", "--port", "0", "--behind-proxy")
    assert (refused.code, "a token is needed" in refused.err) == (2, True)


def test_s_bind_with_token_flag_and_tls_it_listens_and_only_in_secret(
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
    assert asked == [421, 421]  # nobody named the addresses it may be asked by, and 0.0.0.0 is none
    assert TOKEN.encode() not in arguments


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_in_bounded_time_with_the_code_of_the_signal(
    number: signal.Signals, code: int, own_samples: CommandLine, tmp_path: Path
) -> None:
    with serving(own_samples.folder, tmp_path) as running:
        begun = time.monotonic()
        assert running.end(number) == code
    assert time.monotonic() - begun < 60
    assert "Traceback" not in running.said


def test_a_port_that_is_taken_is_told_with_the_cure(own_samples: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = own_samples("serve", "--port", str(port))
    assert refused.code == 2
    assert f"Port {port} of 127.0.0.1 is taken" in refused.err
    assert "--port" in refused.err.splitlines()[-1]


@pytest.mark.parametrize("host", ["nowhere invalid", "192.0.2.1", "999.1.1.1", "a" * 300])
def test_an_address_that_is_not_this_machines_is_told(host: str, own_samples: CommandLine) -> None:
    assert "is no address of this machine" in own_samples("serve", "--host", host, "--port", "0").err


def test_a_certificate_that_cannot_be_used_is_told(
    own_samples: CommandLine, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    chain, key = certificate
    (tmp_path / "no.pem").write_text("none", encoding="ascii")
    for options in ((chain, tmp_path / "missing.pem"), (tmp_path / "no.pem", key), (key, chain)):
        refused = own_samples("serve", "--port", "0", "--certificate", options[0], "--key", options[1])
        assert refused.code == 2
        assert "PEM" in refused.err
    assert "Give both" in own_samples("serve", "--port", "0", "--certificate", chain).err


def test_a_token_file_is_read_and_a_bad_one_told(own_samples: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "token"
    assert "There is no file" in own_samples("serve", "--token-file", file).err
    file.write_text("\n", encoding="ascii")
    assert "holds no token" in own_samples("serve", "--token-file", file).err
    file.write_text(f"{TOKEN}\n", encoding="ascii")
    file.chmod(0o644)
    with serving(own_samples.folder, tmp_path, "--token-file", file) as running:
        assert running.get("/ready").status_code == 401
        assert running.get("/ready", authorization=f"Bearer {TOKEN}").status_code == 200
    assert "may read" in running.said


def test_model_servers_that_are_open_or_elsewhere_are_warned_of() -> None:
    elsewhere = Settings.model_validate(
        {"ollama": {"base_url": "http://me:secret@models.example:1"}, "llm": {"provider": "ollama"}}
    )
    warned = list(exposed_models(elsewhere, {"OLLAMA_HOST": EVERY}))
    assert [EVERY in warned[0], "http://models.example:1" in warned[1], "secret" in str(warned)] == [True, True, False]
    assert not list(exposed_models(Settings(), {"OLLAMA_HOST": "127.0.0.1:11434"}))


def _listening(pid: int) -> set[tuple[str, int]]:
    """What a process listens at, over IPv4, as the system tells it; IPv6 sockets are counted as such."""
    mine = {Path(f"/proc/{pid}/fd/{one.name}").readlink().name for one in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine:
                address, port = fields[1].split(":")
                shown = socket.inet_ntoa(bytes.fromhex(address)[::-1]) if table == "tcp" else "IPv6"
                found.add((shown, int(port, 16)))
    return found

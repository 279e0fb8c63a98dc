"""Security case S-AUTH: without a key every route except /health is closed, and guessing keys is slow."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from served.routes import every_path, operations
from served.server import RunningServer, served

pytestmark = pytest.mark.network

TOKEN = "canary-token-" + "x" * 32
OPEN = {"/health", "/login", "/logout"}
WRONG = ("Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer é", TOKEN)


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    """Start a server that demands a key and does not lock out callers with wrong keys."""
    with served(sample_folder, token=TOKEN, tries="1000", requests_per_minute="100000") as running:
        yield running


@pytest.fixture
def stranger(server: RunningServer) -> Iterator[httpx.Client]:
    """Return a client without a key."""
    with httpx.Client(base_url=server.address, timeout=30) as client:
        yield client


def test_every_route_refuses_a_missing_key(server: RunningServer, stranger: httpx.Client) -> None:
    reported = {
        f"{method} {path}": response.status_code
        for method, path in every_path(server)
        if path not in OPEN
        if (response := stranger.request(method, _filled(path))).status_code != 401
    }
    assert reported == {}
    assert len(every_path(server)) > 40


def test_every_route_refuses_a_wrong_key(server: RunningServer, stranger: httpx.Client) -> None:
    reported = {
        f"{method} {path} {number}": response.status_code
        for number, wrong in enumerate(WRONG)
        for method, path in sorted(every_path(server))[number :: len(WRONG)]
        if path not in OPEN
        if (response := stranger.request(method, _filled(path), headers={b"authorization": wrong.encode()})).status_code
        != 401
    }
    assert reported == {}


def test_a_wrong_key_is_refused_in_every_header_that_can_carry_a_key(stranger: httpx.Client) -> None:
    for wrong in WRONG:
        refused = stranger.get("/ready", headers={b"authorization": wrong.encode()})
        assert refused.status_code == 401, wrong
        assert refused.json()["error"]["type"] == "unauthenticated"
        assert refused.headers["www-authenticate"] == "Bearer"


def test_no_route_refuses_a_valid_key(server: RunningServer) -> None:
    plain = [one for one in operations(server) if one.method == "get" and not one.parameters]
    statuses = {one.path: server.client.get(one.path).status_code for one in plain}
    assert not {401, 403, 429} & set(statuses.values()), statuses
    assert len(statuses) > 6


def test_a_request_that_contains_two_keys_is_refused(stranger: httpx.Client) -> None:
    twice = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert stranger.get("/ready", headers=twice).status_code == 401


@pytest.mark.parametrize(
    "path", ["//health", "/health/", "/health/../ready", "/login/../ready", "/health;/ready", "/HEALTH"]
)
def test_paths_that_resemble_a_public_path_require_a_key(path: str, stranger: httpx.Client) -> None:
    asked = httpx.Request("GET", stranger.base_url.copy_with(raw_path=path.encode()))
    assert stranger.send(asked).status_code in {401, 403}


def test_the_health_route_reports_only_that_the_server_is_running(stranger: httpx.Client) -> None:
    assert stranger.get("/health").json() == {"status": "ok"}
    assert stranger.get("/%68ealth").json() == {"status": "ok"}


def test_after_ten_wrong_keys_an_address_is_locked_out_even_with_a_valid_key(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="10", lockout_seconds="300") as running:
        wrong = [_status(running, f"wrong {number}") for number in range(10)]
        after = running.client.get("/ready")
        signing_in = httpx.post(f"{running.address}/login", data={"key": TOKEN})
        alive = httpx.get(f"{running.address}/health")
    assert wrong == [401] * 10
    assert (after.status_code, signing_in.status_code, alive.status_code) == (429, 429, 200)
    assert 0 < int(after.headers["retry-after"]) <= 300
    assert after.json()["error"]["type"] == "locked_out"


def test_a_refused_key_is_told_from_a_missing_one_with_the_number_of_tries_that_are_left(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="2", lockout_seconds="300") as running:
        keys = [{}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}]
        messages = [httpx.get(f"{running.address}/ready", headers=one).json()["error"]["message"] for one in keys]
    assert messages == [
        "No key was sent.",
        "The key is wrong. Wrong keys left until this address is locked out for 300 s: 1.",
        "The key is empty, or not sent as Bearer KEY. Wrong keys left until this address is locked out for 300 s: 0.",
    ]


def test_a_valid_key_does_not_reset_the_count_of_wrong_keys(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="3") as running:
        statuses = [(_status(running, "wrong"), running.client.get("/ready").status_code) for _ in range(3)]
    assert statuses == [(401, 200), (401, 200), (401, 429)]


def test_requests_without_a_key_do_not_count_as_wrong_keys(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="3") as running:
        statuses = {httpx.get(f"{running.address}/ready").status_code for _ in range(10)}
        assert running.client.get("/ready").status_code == 200
    assert statuses == {401}


def test_requests_are_rate_limited_with_and_without_a_key(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, requests_per_minute="5") as running:
        with_key = [running.client.get("/v1/collections").status_code for _ in range(7)]
        without = [httpx.get(f"{running.address}/v1/collections").status_code for _ in range(7)]
    assert (with_key[0], with_key[-1]) == (200, 429)
    assert (without[0], without[-1]) == (401, 429)


def test_a_revoked_key_is_refused_at_once(sample_folder: Path, tmp_path: Path) -> None:
    with served(tmp_path, token=TOKEN) as running:
        state = open_state(running.data_dir)
        try:
            secret = KeyTable(state).create("reader", ["*"], [])
            before = _status(running, secret)
            KeyTable(state).revoke("reader")
        finally:
            state.close()
        after = _status(running, secret)
    assert (before, after) == (503, 401)  # this project has no ingested documents


def test_creating_the_first_key_at_runtime_makes_an_open_server_require_keys(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        before = running.client.get("/v1/collections").status_code
        state = open_state(running.data_dir)
        try:
            KeyTable(state).create("reader", ["*"], [])
        finally:
            state.close()
        after = running.client.get("/v1/collections").status_code
    assert (before, after) == (200, 401)


def _status(running: RunningServer, secret: str) -> int:
    return httpx.get(f"{running.address}/ready", headers={"authorization": f"Bearer {secret}"}).status_code


def _filled(path: str) -> str:
    return path.replace("{", "").replace("}", "")

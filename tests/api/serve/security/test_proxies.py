"""Behind a proxy, address and scheme come from the headers of the nearest proxy. Without a proxy they are ignored."""

import asyncio
from pathlib import Path

import httpx
import pytest
from elt_llm_api.serve.access.gate import network_key
from elt_llm_api.serve.middleware.request_log import ProxyHeaders
from served.server import served
from starlette.types import Receive, Scope, Send

TOKEN = "proxied-token-" + "p" * 32


async def _nothing(*_: object) -> None:
    """Replace the functions receive and send, which the middleware does not call in these tests."""


def _seen(*headers: tuple[str, str]) -> Scope:
    """Return the request as the app behind the middleware receives it."""
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    given = [(name.encode(), value.encode()) for name, value in headers]
    scope: Scope = {"type": "http", "client": ("127.0.0.1", 9), "scheme": "http", "headers": given}
    asyncio.run(ProxyHeaders(app)(scope, _nothing, _nothing))  # type: ignore[arg-type]  # it is never received from
    return seen[0]


@pytest.mark.parametrize(
    ("values", "address"),
    [
        (["192.0.2.7"], "192.0.2.7"),
        (["10.0.0.1, 192.0.2.7"], "192.0.2.7"),
        (["10.0.0.1", "192.0.2.7"], "192.0.2.7"),
        (["192.0.2.7:4711"], "192.0.2.7"),
        (["[2001:db8::1]:4711"], "2001:db8::1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["192.0.2.7, unknown"], "127.0.0.1"),
        (["evil"], "127.0.0.1"),
        ([""], "127.0.0.1"),
        ([], "127.0.0.1"),
    ],
)
def test_the_client_address_is_taken_from_the_header_of_the_nearest_proxy(values: list[str], address: str) -> None:
    assert _seen(*(("x-forwarded-for", value) for value in values))["client"][0] == address


@pytest.mark.parametrize(
    ("value", "scheme"),
    [("https", "https"), ("http, https", "https"), ("HTTPS", "https"), ("ftp", "http")],
)
def test_the_request_scheme_is_taken_from_the_header_of_the_nearest_proxy(value: str, scheme: str) -> None:
    assert _seen(("x-forwarded-proto", value))["scheme"] == scheme


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("testclient", "other", True),
    ],
)
def test_wrong_keys_are_counted_for_the_network_of_the_client(one: str, other: str, same: bool) -> None:
    assert (network_key({"client": (one, 1)}) == network_key({"client": (other, 1)})) is same


@pytest.mark.network
def test_behind_a_proxy_clients_are_locked_out_separately_despite_forged_headers(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, behind_proxy="true", tries="3") as running:
        for number in range(3):
            made_up = {"x-forwarded-for": f"10.0.0.{number}, 192.0.2.7", "authorization": "Bearer wrong"}
            assert httpx.get(f"{running.address}/ready", headers=made_up).status_code == 401
        statuses = [
            running.client.get("/ready", headers={"x-forwarded-for": address}).status_code
            for address in ("192.0.2.7", "10.9.9.9, 192.0.2.7", "192.0.2.8")
        ]
        signed_in = httpx.post(f"{running.address}/login", data={"key": TOKEN}, headers={"x-forwarded-proto": "https"})
    assert statuses == [429, 429, 200]
    assert "; Secure" in signed_in.headers["set-cookie"]


@pytest.mark.network
def test_without_a_proxy_forwarded_headers_are_ignored(sample_folder: Path) -> None:
    with served(sample_folder, token=TOKEN, tries="3") as running:
        for number in range(3):
            made_up = {"x-forwarded-for": f"10.0.0.{number}", "authorization": "Bearer wrong"}
            httpx.get(f"{running.address}/ready", headers=made_up)
        assert running.client.get("/ready", headers={"x-forwarded-for": "10.0.0.9"}).status_code == 429

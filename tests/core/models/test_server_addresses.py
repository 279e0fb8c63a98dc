import ipaddress

import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_core.models.server import check_address, is_local_host
from hypothesis import given
from hypothesis import strategies as st

LOCAL = [
    "localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "10.0.0.7", "192.168.1.20", "172.16.3.4", "fd00::1",
    "fe80::1%eth0", "ollama", "host.docker.internal", "box.local", "nas.lan", "gpu.home.arpa", "a.localhost",
    "::ffff:10.0.0.7", "169.254.7.7", "0.0.0.0", "::",  # noqa: S104 - asked for, never bound
]  # fmt: skip
REMOTE = [
    "api.openai.com", "ollama.com", "8.8.8.8", "172.32.0.1", "2001:4860:4860::8888", "localhost.example.com",
    "127.0.0.1.nip.io", "134744072", "0x8080808", "", "internal.example",
    "::ffff:8.8.8.8", "example%2ecom",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::1", "2002:808:808::1", "2002:a00:1::1", "64:ff9b::808:808",
    "64:ff9b:1::808:808", "::8.8.8.8", "::10.0.0.7", "::ffff:0:8.8.8.8", "2001:db8::1", "192.0.2.1", "198.18.0.1",
    "240.0.0.1",
    "8\u30028\u30028\u30028", "example\u3002com", "example\uff61com", "example\uff0ecom",
]  # fmt: skip


@pytest.mark.parametrize("host", LOCAL)
def test_loopback_and_private_hosts_are_local(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize("host", REMOTE)
def test_public_hosts_and_hosts_disguised_as_local_are_remote(host: str) -> None:
    assert not is_local_host(host)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_ipv6_form_is_local_if_the_ipv4_address_is_local(address: ipaddress.IPv4Address) -> None:
    assert is_local_host(str(address)) == is_local_host(f"::ffff:{address}")
    assert not (is_local_host(str(address)) and address.is_global)


@given(st.ip_addresses(v=4), st.sampled_from(["2002:{0}::1", "64:ff9b::{0}", "::{0}", "2001:0:{0}::1"]))
def test_an_ipv6_tunnel_address_that_contains_a_local_ipv4_address_is_not_local(
    address: ipaddress.IPv4Address, form: str
) -> None:
    number = int(address)
    carrying = form.format(f"{number >> 16:x}:{number & 0xFFFF:x}")
    assert not is_local_host(carrying) or number <= 1  # :: and ::1 are this machine


@pytest.mark.parametrize("address", ["http://8.8.8.8:11434", "https://api.example.com/v1", "http://example\u3002com"])
def test_a_server_address_outside_the_local_network_is_refused_unless_the_settings_allow_it(address: str) -> None:
    with pytest.raises(SettingsError, match="allow_remote_models is false") as caught:
        check_address(address, "ollama.base_url", allow_remote=False)
    assert "network.allow_remote_models" in caught.value.hint
    assert check_address(address, "ollama.base_url", allow_remote=True) == address


@pytest.mark.parametrize("address", ["", "localhost:11434", "ftp://localhost", "http://", "http://[::1", "http://a:b"])
def test_an_invalid_server_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="not the address of a server"):
        check_address(address, "ollama.base_url", allow_remote=True)


def test_the_trailing_slash_of_a_server_address_is_removed() -> None:
    assert check_address("http://localhost:1/v1/", "x", allow_remote=False) == "http://localhost:1/v1"


@pytest.mark.parametrize("host", ["localhost:11434", "example.com", "[::1", "a:b"])
def test_a_server_address_with_a_password_is_refused_and_the_error_does_not_repeat_the_password(host: str) -> None:
    with pytest.raises(SettingsError, match="contains a user name or password") as caught:
        check_address(f"http://reader:hush@{host}", "ollama.base_url", allow_remote=True)
    assert "hush" not in f"{caught.value} {caught.value.hint}"

"""Which addresses of model servers are on this machine or its own network, told without looking any name up."""

import ipaddress
import re
from urllib.parse import urlsplit

from elt_llm_core.errors import SettingsError

_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
# Said one by one: what Python counts as private differs between its versions, and has tunnels to anywhere in it.
_LOCAL_NUMBERS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/32"),
            *("::1/128", "::/128", "fc00::/7", "fe80::/10"),
        ),
    )
)
# Other letters become these before a name is looked up, the full stop of Chinese a dot: `example<U+3002>com` is public.
_NAME = re.compile(r"[a-z0-9_.-]{1,253}")


def is_local(host: str) -> bool:
    """Loopback, private and link-local numbers, and names that no public name server answers for.

    A name without a dot is local: containers and routers give such names, the public ones all have a dot. Numbers that
    carry another one through a tunnel or a translator (Teredo, 6to4, NAT64) may end anywhere, and are not.
    """
    bare = host.rstrip(".").lower()
    try:
        number = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        local = "." not in bare or bare.endswith(_LOCAL_ENDINGS)
        return local and _NAME.fullmatch(bare) is not None and not _is_odd_number(bare)
    # Four numbers written as six-and-ten are the same machine: ::ffff:8.8.8.8 is 8.8.8.8.
    number = getattr(number, "ipv4_mapped", None) or number
    return any(number in network for network in _LOCAL_NUMBERS)


def checked_address(address: str, key: str, *, allow_remote: bool) -> str:
    """The address without a slash at its end. `key` names the setting it comes from.

    Raises SettingsError for what is no http address, for one with a name or a password in it, which every message would
    show, and for one beyond the own network unless `allow_remote`.
    """
    if "@" in address:
        raise SettingsError(
            f"{key} has a name or a password before its '@'",
            hint=f"Leave that out of {key}: a key goes into the variable that openai_like.api_key_variable names",
        )
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        raise SettingsError(
            f"{key} is '{address}', which is no address of a server",
            hint=f"Set {key} to one such as http://localhost:11434",
        )
    if not allow_remote and not is_local(host):
        raise SettingsError(
            f"{key} is '{address}', which is beyond this machine's network, and network.allow_remote_models is false",
            hint=f"Set {key} to a local address, or network.allow_remote_models to true if texts may leave",
        )
    return address.rstrip("/")


def _is_odd_number(name: str) -> bool:
    """Whether a name without a dot is a number in disguise: 134744072 and 0x8080808 both mean 8.8.8.8."""
    return name.isdigit() or name.startswith("0x")

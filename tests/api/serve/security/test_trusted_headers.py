"""Persons whom a proxy signs in: their headers are trusted only if they come from the proxy's address."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_api.serve.access.gate import AccessGate, AccessRefusal, CallerRegistry, Lockout, ProxiedPeople, RateLimit
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PEER
from elt_llm_core.settings.tree import ServeSettings
from elt_llm_core.store.conditions import DocumentCondition
from optional import needs
from pydantic import ValidationError
from served.server import RunningServer, served
from served.tenants import TOKEN
from stored.folders import run_ingest, write_files

SETTINGS: Mapping[str, Any] = {
    "trusted_user_header": "X-Forwarded-User",
    "trusted_groups_header": "X-Forwarded-Groups",
    "trusted_proxy": "10.0.0.0/30",
    "groups": {
        "acme": {"read": ["shared"], "write": ["shared"], "where": ["tenant_id=acme"]},
        "staff": {"read": ["handbook"]},
        "operators": {"read": ["*"], "admin": True},
    },
}


def admitted(
    headers: list[tuple[str, str]],
    peer: str = "10.0.0.1",
    secret: str | None = None,
    encoding: str = "utf-8",
    **settings: Any,
) -> Principal | AccessRefusal:
    serve = ServeSettings.model_validate({**SETTINGS, **settings})
    callers = CallerRegistry(TOKEN, lambda _: None, lambda: False, always=True)
    gate = AccessGate(callers, Lockout(3, 3), RateLimit(100), ProxiedPeople(serve))
    encoded = [(name.lower().encode(), value.encode(encoding)) for name, value in headers]
    return gate.admit({"type": "http", "client": ("192.0.2.9", 1), PEER: peer, "headers": encoded}, secret)


def sent(user: str = "ann", groups: str = "acme") -> list[tuple[str, str]]:
    return [("X-Forwarded-User", user), ("X-Forwarded-Groups", groups)]


def test_a_person_has_the_permissions_of_all_their_known_groups() -> None:
    ann = admitted(sent(groups="acme, staff,unknown"))
    assert isinstance(ann, Principal)
    assert ann.readable(["handbook", "other", "shared"]) == ["handbook", "shared"]
    assert ann.conditions_of("shared") == (DocumentCondition("tenant_id", ("acme",)),)
    assert not ann.administers
    assert isinstance(operator := admitted(sent(groups="operators")), Principal)
    assert operator.administers


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_of_persons_and_groups_are_read_in_the_encoding_of_the_proxy(encoding: str) -> None:
    groups = {"Gesch\u00e4ft": {"read": ["handbook"]}}
    person = admitted(sent("J\u00fcrgen Gro\u00df \u00c0", "Gesch\u00e4ft"), encoding=encoding, groups=groups)
    assert isinstance(person, Principal)
    assert person.name == "J\u00fcrgen Gro\u00df \u00c0"


@pytest.mark.parametrize("peer", ["192.0.2.9", "10.0.0.9", "::1", "", "unknown"])
@pytest.mark.parametrize("headers", [sent(), sent()[:1], sent()[1:]])
def test_identity_headers_from_an_untrusted_address_are_refused(peer: str, headers: list[tuple[str, str]]) -> None:
    refusal = admitted(headers, peer, TOKEN)
    assert isinstance(refusal, AccessRefusal)
    assert (refusal.status, refusal.kind) == (403, "untrusted_headers")


def test_identity_headers_from_an_untrusted_address_are_ignored_if_the_settings_choose_this() -> None:
    ignored = admitted(sent(), "192.0.2.9", untrusted_headers="ignore")
    assert isinstance(ignored, AccessRefusal)
    assert ignored.status == 401
    assert isinstance(admitted(sent(), "192.0.2.9", TOKEN, untrusted_headers="ignore"), Principal)


@pytest.mark.parametrize("peer", ["10.0.0.1", "127.0.0.1"])
def test_a_request_without_identity_headers_and_without_a_key_is_refused(peer: str) -> None:
    refusal = admitted([], peer)
    assert isinstance(refusal, AccessRefusal)
    assert refusal.status == 401


@pytest.mark.parametrize(
    "headers",
    [
        *(sent(""), sent("  "), sent("a" * 201), sent("ann\tbob\x1b"), [*sent(), ("X-Forwarded-User", "bob")]),
        sent()[1:],
        [*sent(), ("X-Forwarded-Groups", "operators")],
    ],
)
def test_a_request_whose_headers_do_not_name_exactly_one_person_is_refused(headers: list[tuple[str, str]]) -> None:
    refusal = admitted(headers, secret=TOKEN)
    assert isinstance(refusal, AccessRefusal)
    assert refusal.kind == "unnamed_person"


@pytest.mark.parametrize("groups", ["", "unknown", "ACME", "acme;staff"])
def test_a_person_in_no_known_group_is_refused(groups: str) -> None:
    refusal = admitted(sent(groups=groups), secret=TOKEN)
    assert isinstance(refusal, AccessRefusal)
    assert refusal.kind == "no_group"


@pytest.mark.parametrize(
    "wrong",
    [
        {"trusted_proxy": None},
        {"trusted_groups_header": None},
        {"trusted_user_header": None},
        {"trusted_proxy": "proxy.example"},
        {"trusted_groups_header": "x-forwarded-user"},
        {"groups": {"g": {"read": ["*"], "where": ["tenant_id=a"], "admin": True}}},
    ],
)
def test_proxy_settings_that_would_leave_the_server_unprotected_are_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServeSettings.model_validate({**SETTINGS, **wrong})


SERVED = """
embedding: {provider: fake}
serve:
  trusted_user_header: X-Forwarded-User
  trusted_groups_header: X-Forwarded-Groups
  trusted_proxy: 127.0.0.1
  groups: {staff: {read: [handbook]}, editors: {write: [handbook]}, readers: {read: ["*"]}}
"""


@contextmanager
def proxied(folder: Path) -> Iterator[RunningServer]:
    write_files(folder, {"config/rag_config.yaml": SERVED})
    with served(folder, environment={"ELT_LLM_STORAGE__DATA_DIR": str(folder / "data")}) as server:
        yield server


@pytest.mark.network
def test_a_person_may_upload_on_the_web_page_if_one_of_their_groups_may_write(tmp_path: Path) -> None:
    needs("gradio")
    with proxied(tmp_path) as server:

        def status(groups: str) -> int:
            server.client.get("/config", headers=dict(sent(groups=groups)))
            files = {"files": ("leave.md", b"# Leave\n\nThe manager approves it.\n")}
            return server.client.post("/gradio_api/upload", files=files, headers=dict(sent(groups=groups))).status_code

        assert [status("staff"), status("staff, editors")] == [403, 200]
        asked = [
            server.client.post("/v1/ask", json={"question": "Who?"}, headers=dict(sent(groups=groups)))
            for groups in ("staff", "readers")
        ]
        assert [one.status_code for one in asked] == [403, 409]  # forbidden; nothing was ingested


@pytest.mark.network
def test_each_person_behind_a_proxy_has_separate_conversations(tmp_path: Path) -> None:
    write_files(tmp_path, {"docs/leave.md": "# Leave\n\nLeave is approved by the manager.\n"})
    run_ingest(tmp_path / "data", tmp_path / "docs", collection="handbook")
    with proxied(tmp_path) as server:

        def call(method: str, path: str, user: str = "", **body: Any) -> httpx.Response:
            headers = dict(sent(user, "staff")) if user else {}
            return server.client.request(method, path, json=body or None, headers=headers)

        assert call("GET", "/v1/collections").status_code == 401
        session = call("POST", "/v1/sessions", "ann@example.org", collections=["handbook"]).json()["id"]
        assert call("POST", "/v1/ask", "ann@example.org", question="Who approves leave?", session=session).is_success
        assert call("GET", f"/v1/sessions/{session}", "ann@example.org").is_success
        assert call("GET", f"/v1/sessions/{session}", "bob@example.org").status_code == 403
        assert call("GET", "/v1/sessions", "bob@example.org").json() == []

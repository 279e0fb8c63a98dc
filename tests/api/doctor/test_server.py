"""`elt-llm doctor` on the server: the address, the keys, and optional extras."""

import socket
from pathlib import Path

import pytest
from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts
from elt_llm_api.doctor.configuration import installed_extra
from elt_llm_api.doctor.examine import examine
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable


def verdicts(folder: Path, **environment: str) -> dict[str, CheckVerdict]:
    given = {"ELT_LLM_EMBEDDING__PROVIDER": "fake", **environment}
    return examine(DoctorFacts(given, load_settings(None, given, folder), None))


def test_a_missing_extra_is_reported_with_the_command_that_installs_it() -> None:
    told = installed_extra("ui", "no-such-library")
    assert (told.outcome, told.detail) == ("ok", "not installed; install it with: uv sync --inexact --extra ui")
    assert installed_extra("ui", "click").detail.startswith("click ")


@pytest.mark.network
def test_a_port_in_use_is_reported_but_is_not_a_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        told = verdicts(tmp_path, ELT_LLM_SERVE__PORT=port)["server's address"]
    assert (told.outcome, told.detail) == (
        "ok",
        f"127.0.0.1, port {port}: in use, by a running server or by another program",
    )


def test_a_server_address_that_cannot_be_resolved_is_reported_with_the_remedy(tmp_path: Path) -> None:
    told = verdicts(tmp_path, ELT_LLM_SERVE__HOST="wiki.example")["server's address"]
    assert (told.outcome, told.hint) == ("warn", "Omit --host, or give an IP address, such as 192.168.1.5.")


def test_the_doctor_counts_api_keys_and_creates_none(tmp_path: Path) -> None:
    assert verdicts(tmp_path)["server's keys"].detail == (
        "none: without a token every user of this machine may ask questions"
    )
    assert list(tmp_path.iterdir()) == []
    state = open_state(tmp_path / ".elt_llm")
    KeyTable(state).create("wiki", ["hr_*"], [])
    state.close()
    assert verdicts(tmp_path)["server's keys"].detail == "1"

"""What `elt-llm doctor` says of serving: the address, the keys, and parts that are not demanded."""

import socket
from pathlib import Path

import pytest
from elt_llm_api.diagnosis.check import Facts, Verdict
from elt_llm_api.diagnosis.examination import examine
from elt_llm_api.diagnosis.serving import extra
from elt_llm_core.settings_loader import load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import Keys


def verdicts(folder: Path, **environment: str) -> dict[str, Verdict]:
    return examine(Facts(environment, folder, load_settings(None, environment, folder), None))


def test_a_part_that_is_not_installed_is_told_with_what_brings_it() -> None:
    told = extra("ui", "no-such-library")
    assert (told.outcome, told.detail) == ("ok", "not installed; bring it with: uv sync --inexact --extra ui")
    assert extra("ui", "click").detail.startswith("click ")


@pytest.mark.network
def test_a_port_that_is_taken_is_told_and_is_no_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        told = verdicts(tmp_path, ELT_LLM_SERVE__PORT=port)["server's address"]
    assert (told.outcome, told.detail) == (
        "ok",
        f"127.0.0.1, port {port}: taken, by a server that runs or by another program",
    )


def test_an_address_of_no_machine_is_pointed_out_with_its_cure(tmp_path: Path) -> None:
    told = verdicts(tmp_path, ELT_LLM_SERVE__HOST="wiki.example")["server's address"]
    assert (told.outcome, told.hint) == ("warn", "Leave --host away, or give one in numbers, such as 192.168.1.5.")


def test_keys_are_counted_and_never_made(tmp_path: Path) -> None:
    assert verdicts(tmp_path)["server's keys"].detail == "none: without a token whoever uses this machine may ask"
    assert list(tmp_path.iterdir()) == []
    state = open_state(tmp_path / ".elt_llm")
    Keys(state).create("wiki", ["hr_*"], [])
    state.close()
    assert verdicts(tmp_path)["server's keys"].detail == "1"

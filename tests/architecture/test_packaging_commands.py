"""The commands of containers and services work: their options, the start script and the systemd unit."""

import os
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from elt_llm_api.cli import run
from elt_llm_core.settings.loader import load_settings

HARDENING = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "DynamicUser": "yes",
    "CapabilityBoundingSet": "",
    "IPAddressDeny": "any",
    "IPAddressAllow": "localhost",
    "RestrictSUIDSGID": "yes",
    "UMask": "0077",
}


class Unit(ConfigParser):
    """Parses a systemd unit file: keys keep their case, and repeated keys are accepted."""

    def __init__(self, path: Path) -> None:
        super().__init__(interpolation=None, strict=False)
        self.read(path, encoding="utf-8")

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture(scope="module")
def unit_file(project: Path) -> Path:
    return project / "docs" / "examples" / "systemd" / "elt-llm.service"


def commands(project: Path) -> list[list[str]]:
    """Every elt-llm command that a container or a service runs."""
    composed: dict[str, Any] = yaml.safe_load((project / "compose.yaml").read_text(encoding="utf-8"))
    services = composed["services"].values()
    unit = Unit(project / "docs" / "examples" / "systemd" / "elt-llm.service")
    found = [it["command"] for it in services if it.get("command", [""])[0] == "elt-llm"]
    return [command[1:] for command in [*found, unit["Service"]["ExecStart"].split()]]


def test_every_command_option_in_the_packaging_files_exists(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(commands(project)) >= 4
    for command in commands(project):
        assert run([command[0], "--help"], {}, tmp_path) == 0
        told = capsys.readouterr().out
        for option in (word for word in command if word.startswith("-")):
            assert option in told, f"{command[0]} has no {option}"


_DEFAULT = re.compile(r"\$\{\w+:-([^{}]*)\}")  # a variable of compose with its default


def test_every_setting_that_the_packaging_files_set_in_an_environment_variable_exists(
    project: Path, tmp_path: Path
) -> None:
    composed: dict[str, Any] = yaml.safe_load((project / "compose.yaml").read_text(encoding="utf-8"))
    for service in composed["services"].values():
        environment = (service.get("environment") or {}).items()
        given = {name: _DEFAULT.sub(r"\1", str(value)) for name, value in environment if "ELT_LLM" in name}
        loaded = load_settings(None, given, tmp_path)
        if given:
            assert loaded.settings.ollama.base_url == "http://ollama:11434"


def test_the_systemd_unit_drops_privileges_that_a_server_does_not_need(unit_file: Path) -> None:
    unit = Unit(unit_file)
    assert {name: unit["Service"][name] for name in HARDENING} == HARDENING
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    assert "--host" not in unit["Service"]["ExecStart"], "it listens to this machine alone"


def test_systemd_accepts_the_unit_file(unit_file: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze: apt-get install systemd")
    told = unit_file.read_text(encoding="utf-8")
    # systemd-analyze checks that the program exists, so another existing program is named here.
    told = told.replace("/opt/elt-llm/.venv/bin/elt-llm serve", "/bin/true").replace(
        "=/opt/elt-llm\n", f"={tmp_path}\n"
    )
    (tmp_path / "elt-llm.service").write_text(told, encoding="utf-8")
    ended = subprocess.run(
        [program, "verify", str(tmp_path / "elt-llm.service")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


def started(project: Path, folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a container's start script with a fake `elt-llm` that records its arguments."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "elt-llm").write_text(
        f'#!/bin/sh\necho "$@" >> {folder}/asked\ntest "$2" != /broken\n', encoding="utf-8"
    )
    (programs / "elt-llm").chmod(0o755)
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "ELT_LLM_DATA_DIR": str(folder), **environment}
    script = project / "docs" / "examples" / "container" / "start.sh"
    return subprocess.run([script, *command], capture_output=True, text=True, env=variables, check=False, timeout=60)


def calls_in(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_a_container_that_is_configured_to_ingest_a_folder_does_so_only_on_its_first_start(
    project: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        ended = started(project, tmp_path, "elt-llm", "serve", FIRST_INGEST="/documents", FIRST_COLLECTION="notes")
        assert ended.returncode == 0
    assert calls_in(tmp_path) == ["ingest /documents -c notes", "serve", "serve"]


def test_a_container_ingests_nothing_unless_configured(project: Path, tmp_path: Path) -> None:
    assert started(project, tmp_path, "elt-llm", "serve", FIRST_INGEST="").returncode == 0
    assert calls_in(tmp_path) == ["serve"]


def test_a_failed_ingest_at_the_first_container_start_is_reported_and_repeated_at_the_next_start(
    project: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert started(project, tmp_path, "elt-llm", "serve", FIRST_INGEST="/broken").returncode != 0
    assert calls_in(tmp_path) == ["ingest /broken -c documents"] * 2

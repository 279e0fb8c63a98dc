"""Settings files that change while the server runs: valid changes apply, invalid ones are reported."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from elt_llm_api.serve.services import SettingsReloader
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from served.answering_server import EXTRACTIVE, copied_project
from served.server import RunningServer, served

ASKED = {"question": "How many points does a ground need for Grade A?"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert run(["init", str(tmp_path / "project")], {}, tmp_path) == 0
    return tmp_path / "project"


def loaded_from(project: Path, **environment: str) -> LoadedSettings:
    return load_settings(None, environment, project)


@pytest.fixture
def reloader(project: Path) -> Iterator[SettingsReloader]:
    """Return a reloader that checks the files only when the test asks for it."""
    with SettingsReloader(loaded_from(project, ELT_LLM_LLM__TOP_P="0.5"), seconds=3600) as reloader:
        yield reloader


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_unchanged_configuration_files_are_not_read_again(reloader: SettingsReloader) -> None:
    before = reloader.active
    reloader.check_now()
    assert reloader.active is before
    assert reloader.notes == ()


def test_changed_settings_apply_and_environment_variables_still_override_them(
    reloader: SettingsReloader, project: Path
) -> None:
    write(project / "config" / "rag_config.yaml", "query:\n  reranker_top_k: 3\nllm:\n  top_p: 0.9\n")
    reloader.check_now()
    settings = reloader.active.loaded.settings
    assert (settings.query.reranker_top_k, settings.llm.top_p) == (3, 0.5)
    assert reloader.active.version == 2


def test_changed_profiles_aliases_and_prompts_apply_without_a_restart(
    reloader: SettingsReloader, project: Path
) -> None:
    config = project / "config"
    write(config / "profiles" / "new.yaml", "description: new\nquery:\n  reranker_top_k: 2\n")
    write(config / "aliases.yaml", "aliases:\n  HR: [personnel]\n")
    prompt = config / "prompts" / "follow_up.yaml"
    write(prompt, "system: You tell.\nuser: 'Before: {earlier}. Now: {question}'\n")
    reloader.check_now()
    now = reloader.active
    assert now.settings_for("new").query.reranker_top_k == 2
    assert now.aliases.groups == (("HR", "personnel"),)
    assert now.prompts["follow_up"].system == "You tell."
    (config / "profiles" / "new.yaml").unlink()
    reloader.check_now()
    with pytest.raises(UsageError, match="no profile 'new'"):
        reloader.active.profile("new")


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [
        ("rag_config.yaml", "query:\n  reranker_top_k: none\n", "rag_config.yaml:2"),
        ("rag_config.yaml", "query: [", "rag_config.yaml"),
        ("profiles/default.yaml", "query:\n  top: 1\n", "default.yaml:2"),
        ("aliases.yaml", "aliases: 3\n", "aliases.yaml:1"),
        ("prompts/simple.yaml", "system: x\nuser: y\n", "simple.yaml"),
    ],
)
def test_invalid_configuration_files_change_nothing_until_they_are_fixed(
    reloader: SettingsReloader, project: Path, name: str, text: str, reported: str
) -> None:
    path, before = project / "config" / name, reloader.active
    well = path.read_text(encoding="utf-8") if path.exists() else None
    write(path, text)
    reloader.check_now()
    assert reloader.active is before
    assert len(reloader.notes) == 1
    assert reported in reloader.notes[0]
    if well is None:
        path.unlink()
    else:
        write(path, well)
    os.utime(path.parent)
    reloader.check_now()
    assert not reloader.notes


def test_changed_settings_that_need_a_restart_are_reported_but_not_applied(
    reloader: SettingsReloader, project: Path
) -> None:
    text = "serve:\n  port: 9999\nembedding:\n  provider: fake\nquery:\n  reranker_top_k: 3\n"
    write(project / "config" / "rag_config.yaml", text)
    reloader.check_now()
    settings = reloader.active.loaded.settings
    assert (settings.serve.port, settings.embedding.provider) == (7860, "embedded")
    assert settings.query.reranker_top_k == 3
    [note] = reloader.notes
    assert "active after the next start: embedding.provider, serve.port." in note


def test_a_server_does_not_start_with_an_invalid_profile(project: Path) -> None:
    write(project / "config" / "profiles" / "broken.yaml", "query:\n  top: 1\n")
    with pytest.raises(SettingsError, match=r"broken\.yaml:2"):
        SettingsReloader(loaded_from(project))


def test_backup_files_of_editors_are_not_loaded_as_profiles(reloader: SettingsReloader, project: Path) -> None:
    (project / "config" / "profiles" / ".#default.yaml").symlink_to("somebody@elsewhere.1234")
    write(project / "config" / "profiles" / "my own.yaml", "query:\n  top: 1\n")
    write(project / "config" / "rag_config.yaml", "query:\n  reranker_top_k: 3\n")
    reloader.check_now()
    assert not reloader.notes
    assert reloader.active.loaded.settings.query.reranker_top_k == 3


def test_loaded_settings_keep_no_environment_variables_with_secrets(project: Path) -> None:
    loaded = loaded_from(project, ELT_LLM_LLM__TOP_P="0.5", ELT_LLM_SERVE_TOKEN="t" * 40, OTHER="x")
    assert loaded.environment == {"ELT_LLM_LLM__TOP_P": "0.5"}


def notes_of(server: RunningServer) -> list[str]:
    notes: list[str] = server.client.get("/v1/monitoring").json()["notes"]
    return notes


def soon(condition: Callable[[], bool]) -> bool:
    """Return whether the condition becomes true in time. It is checked at intervals."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def passages(server: RunningServer, **asked: str) -> int:
    answer = server.client.post("/v1/search", json={**ASKED, **asked})
    assert answer.status_code == 200, answer.text
    return len(answer.json()["chunks"])


@pytest.mark.network
def test_a_running_server_uses_changed_settings(sample_folder: Path, tmp_path: Path) -> None:
    project = copied_project(sample_folder, tmp_path / "project")
    assert run(["init", str(project)], {}, project) == 0
    with served(project, environment=EXTRACTIVE) as server:
        assert passages(server) == 8
        write(project / "config" / "profiles" / "short.yaml", "query:\n  reranker_top_k: 2\n")
        assert passages(server, profile="short") == 2
        write(project / "config" / "profiles" / "default.yaml", "query:\n  reranker_top_k: 3\n")
        assert soon(lambda: passages(server) == 3)
        write(project / "config" / "profiles" / "default.yaml", "query:\n  reranker_top_k: none\n")
        assert soon(lambda: bool(notes_of(server)))
        assert "default.yaml:2" in notes_of(server)[0]
        assert passages(server) == 3
        assert server.client.get("/ready").status_code == 200

"""Files of settings that change while the server runs: taken when they hold, told when they do not."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from answering import EXTRACTIVE, copied
from elt_llm_api.cli import run
from elt_llm_api.serve.reload import Reloader
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings_loader import LoadedSettings, load_settings
from served import Served, served

ASKED = {"question": "How many points does a ground need for Grade A?"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert run(["init", str(tmp_path / "project")], {}, tmp_path) == 0
    return tmp_path / "project"


def loaded_from(project: Path, **environment: str) -> LoadedSettings:
    return load_settings(None, environment, project)


@pytest.fixture
def reloader(project: Path) -> Iterator[Reloader]:
    """One that looks when it is told to."""
    with Reloader(loaded_from(project, ELT_LLM_LLM__TOP_P="0.5"), every=3600) as reloader:
        yield reloader


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_nothing_is_read_again_while_nothing_changes(reloader: Reloader) -> None:
    before = reloader.in_force
    reloader.look()
    assert reloader.in_force is before
    assert reloader.notes == ()


def test_changed_settings_are_in_force_and_what_the_environment_says_still_holds(
    reloader: Reloader, project: Path
) -> None:
    write(project / "config" / "rag_config.yaml", "query:\n  reranker_top_k: 3\nllm:\n  top_p: 0.9\n")
    reloader.look()
    settings = reloader.in_force.loaded.settings
    assert (settings.query.reranker_top_k, settings.llm.top_p) == (3, 0.5)
    assert reloader.in_force.version == 2


def test_changed_profiles_aliases_and_prompts_are_in_force(reloader: Reloader, project: Path) -> None:
    config = project / "config"
    write(config / "profiles" / "new.yaml", "description: new\nquery:\n  reranker_top_k: 2\n")
    write(config / "aliases.yaml", "aliases:\n  HR: [personnel]\n")
    prompt = config / "prompts" / "follow_up.yaml"
    write(prompt, "system: You tell.\nuser: 'Before: {earlier}. Now: {question}'\n")
    reloader.look()
    now = reloader.in_force
    assert now.settings_for("new").query.reranker_top_k == 2
    assert now.aliases.groups == (("HR", "personnel"),)
    assert now.prompts["follow_up"].system == "You tell."
    (config / "profiles" / "new.yaml").unlink()
    reloader.look()
    with pytest.raises(UsageError, match="no profile 'new'"):
        reloader.in_force.profile("new")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rag_config.yaml", "query:\n  reranker_top_k: none\n", "rag_config.yaml:2"),
        ("rag_config.yaml", "query: [", "rag_config.yaml"),
        ("profiles/default.yaml", "query:\n  top: 1\n", "default.yaml:2"),
        ("aliases.yaml", "aliases: 3\n", "aliases.yaml:1"),
        ("prompts/simple.yaml", "system: x\nuser: y\n", "simple.yaml"),
    ],
)
def test_what_does_not_hold_leaves_everything_as_it_was_until_it_is_mended(
    reloader: Reloader, project: Path, name: str, text: str, told: str
) -> None:
    path, before = project / "config" / name, reloader.in_force
    well = path.read_text(encoding="utf-8") if path.exists() else None
    write(path, text)
    reloader.look()
    assert reloader.in_force is before
    assert len(reloader.notes) == 1
    assert told in reloader.notes[0]
    if well is None:
        path.unlink()
    else:
        write(path, well)
    os.utime(path.parent)
    reloader.look()
    assert not reloader.notes


def test_what_needs_a_restart_is_told_and_not_taken(reloader: Reloader, project: Path) -> None:
    text = "serve:\n  port: 9999\nembedding:\n  provider: fake\nquery:\n  reranker_top_k: 3\n"
    write(project / "config" / "rag_config.yaml", text)
    reloader.look()
    settings = reloader.in_force.loaded.settings
    assert (settings.serve.port, settings.embedding.provider) == (7860, "embedded")
    assert settings.query.reranker_top_k == 3
    [note] = reloader.notes
    assert "from the next start on: embedding.provider, serve.port." in note


def test_a_server_is_not_started_over_a_profile_that_does_not_hold(project: Path) -> None:
    write(project / "config" / "profiles" / "broken.yaml", "query:\n  top: 1\n")
    with pytest.raises(SettingsError, match=r"broken\.yaml:2"):
        Reloader(loaded_from(project))


def test_what_an_editor_keeps_beside_a_profile_is_no_profile(reloader: Reloader, project: Path) -> None:
    (project / "config" / "profiles" / ".#default.yaml").symlink_to("somebody@elsewhere.1234")
    write(project / "config" / "profiles" / "my own.yaml", "query:\n  top: 1\n")
    write(project / "config" / "rag_config.yaml", "query:\n  reranker_top_k: 3\n")
    reloader.look()
    assert not reloader.notes
    assert reloader.in_force.loaded.settings.query.reranker_top_k == 3


def test_secrets_of_the_environment_are_not_kept(project: Path) -> None:
    loaded = loaded_from(project, ELT_LLM_LLM__TOP_P="0.5", ELT_LLM_SERVE_TOKEN="t" * 40, OTHER="x")
    assert loaded.environment == {"ELT_LLM_LLM__TOP_P": "0.5"}


def notes_of(server: Served) -> list[str]:
    notes: list[str] = server.client.get("/v1/monitoring").json()["notes"]
    return notes


def soon(condition: Callable[[], bool]) -> bool:
    """Whether the condition comes true in time; asking all the time would be asking too often."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def passages(server: Served, **asked: str) -> int:
    answer = server.client.post("/v1/search", json={**ASKED, **asked})
    assert answer.status_code == 200, answer.text
    return len(answer.json()["chunks"])


@pytest.mark.network
def test_a_running_server_asks_with_changed_settings(sample_folder: Path, tmp_path: Path) -> None:
    project = copied(sample_folder, tmp_path / "project")
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

"""Machines that share a queue: each reads the uploads that it received."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.jobs.runner import run_queued_jobs
from elt_llm_api.serve.services import Services
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.workspace import DSN_VARIABLE, Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.store import uploads_folder
from elt_llm_core.store.uploads import machine_id
from processes.command_line import FAKE
from served.documents import wait_for_job

if TYPE_CHECKING:
    from stored.postgres import PostgresServer


def test_a_job_with_uploaded_files_is_run_only_by_the_machine_that_stores_the_files(
    postgres: "PostgresServer", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DSN_VARIABLE, postgres.workspace(tmp_path).connection_string())
    here = load_settings(None, {**FAKE, "ELT_LLM_STORAGE__BACKEND": "postgres"}, tmp_path)
    there = replace(here, data_dir=tmp_path / "there")
    with closing(open_state(here.workspace)) as state, closing(open_state(there.workspace)):
        queue = JobQueue(state)
        no_collections = SimpleNamespace(collections=SimpleNamespace(find=lambda _: None))
        actions = JobActions(cast(Services, SimpleNamespace(queue=queue, loaded=here, store=no_collections)))
        first = actions.submit(LOCAL, "ingest", {"collection": "samples", "uploads": ["absent.md"]})
        second = actions.submit(LOCAL, "ingest", {"collection": "samples", "paths": ["absent.md"]})
        stored = uploads_folder(here.data_dir, "kept") / "a.md"
        stored.parent.mkdir(parents=True)
        stored.touch()
        all_uploads = actions.submit(LOCAL, "ingest", {"collection": "kept", "paths": []})
        assert [it.arguments.get("machine", "") for it in (second, all_uploads)] == ["", machine_id(here.workspace)]
        with run_queued_jobs(queue, lambda: there):
            assert wait_for_job(queue, second.id).has_ended
        assert queue.get(first.id).status == "queued"
        with run_queued_jobs(queue, lambda: here):
            assert "The uploads were deleted" in wait_for_job(queue, first.id).error


def test_each_machine_of_a_shared_database_has_a_lasting_id_and_other_machines_have_none(tmp_path: Path) -> None:
    here, there = (Workspace(tmp_path / name, "postgres") for name in ("here", "there"))
    for workspace in (here, there):
        workspace.folder.mkdir()
    assert machine_id(here) == machine_id(here) != machine_id(there)
    assert machine_id(Workspace(tmp_path / "here")) == ""

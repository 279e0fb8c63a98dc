"""Run work in a process that ends itself at a failpoint, a named step in the code of the project."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.remote import RemoteUrl
from elt_llm_ingest.sources.request import IngestRequest
from processes.killing import processes
from stored.folders import run_ingest

Changes = dict[str, Any]


def _is_killed(work: Callable[..., None], *arguments: object) -> bool:
    """Run work in a process. Return whether it was killed, which only a failpoint may do."""
    process = processes().Process(target=work, args=arguments)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def ingest_killed_at(place: str, data_dir: Path, folder: Path, flags: Changes, version: str = "1") -> bool:
    """Ingest until a failpoint, such as `write-after:3` (end of the third `write`). Return whether it was reached."""
    plan = f"{place}:kill" if ":" in place else f"{place}:1:kill"
    return _is_killed(_ingest, plan, data_dir, folder, flags, version)


def _ingest(plan: str, data_dir: Path, folder: Path, flags: Changes, version: str) -> None:
    os.environ[FAILPOINT_VARIABLE] = plan
    run_ingest(data_dir, folder, embedding=FakeEmbedding(version=version), batch_size=4, **flags)


def enriching_killed_at(plan: str, data_dir: Path, folder: Path) -> bool:
    """Ingest with contexts by a language model, optionally until a failpoint; return whether it was reached."""
    return _is_killed(_enrich, plan, data_dir, folder)


def _enrich(plan: str, data_dir: Path, folder: Path) -> None:
    os.environ[FAILPOINT_VARIABLE] = plan
    run_ingest(data_dir, folder, llm=ScriptedLLM(["It is about the water and what lies in it."] * 9))


def fetching_killed_at(plan: str, data_dir: Path, url: str) -> bool:
    """Ingest a URL, optionally until a failpoint; return whether it was reached."""
    return _is_killed(_fetch, plan, data_dir, url)


def _fetch(plan: str, data_dir: Path, url: str) -> None:
    os.environ[FAILPOINT_VARIABLE] = plan
    source = RemoteUrl.parse(url)
    settings = Settings.model_validate({"ingest": {"remote": {"allowed_hosts": (source.host,)}}})
    with open_store(data_dir, for_writing=True) as store:
        request = IngestRequest("remote", (), (source,))
        ingest(request, settings, FakeEmbedding(), store, SilentListener(), DirectParser())

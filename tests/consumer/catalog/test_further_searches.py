"""A language model chooses further searches for the fields that the first chunks do not support."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from elt_llm_consumer.runner.costs import RunReport
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM, ScriptedReply
from elt_llm_core.settings.loader import LoadedSettings
from pydantic import PrivateAttr
from row_jobs.fake_jobs import job_file, project
from stored.folders import run_ingest, write_files

pytestmark = pytest.mark.halved


MODEL = Path(__file__).parents[3] / "samples" / "enterprise" / "model.drawio"
TEXTS = {
    "rules.md": "# Rules\n\nA Loan must be returned. The Registrar grants every Loan.\n",
    "costs.md": "# Tariff\n\nA Loan must not cost above ten pounds.\n",
}
JOB = """
catalog:
  entity_types: [DataObject]
  handbook_only: false
  search_again: true
  fields:
    business_rules: {at_most: 1, top_k: 1}
"""
LEFT_OUT = (
    *("domain_context", "lifecycle_states", "data_classification", "data_owner", "retention"),
    *("regulatory_context", "associated_agreements", "governance_rules"),
)
STEP = "You decide what to look for next"
COST = "A Loan must not cost above ten pounds."


class SearchingLLM(ScriptedLLM):
    """A model that first chooses a search for the tariff, and quotes the tariff as soon as a prompt contains it."""

    _step: str | ScriptedReply = PrivateAttr()

    def __init__(self, step: str | ScriptedReply = "KEYWORD: tariff") -> None:
        super().__init__()
        self._step = step

    def _next(self, prompt: str) -> ScriptedReply:
        self.prompts.append(prompt)
        if STEP in prompt:
            return self._step if isinstance(self._step, ScriptedReply) else ScriptedReply(self._step)
        return ScriptedReply(COST if COST in prompt else "Zebras own purple elephants.")


def _project(folder: Path, job: str = JOB, settings: str = "") -> LoadedSettings:
    job = job + "".join(f"    {name}: null\n" for name in LEFT_OUT)
    found = project(folder, TEXTS, job, settings)
    (folder / "drawn").mkdir()
    shutil.copy(MODEL, folder / "drawn")
    run_ingest(found.data_dir, folder / "drawn", collection="drawn")
    path = found.config_dir / "consumer" / "rules.yaml"
    text = path.read_text(encoding="utf-8").replace("{handbook: [library]}", "{handbook: [library], model: drawn}")
    path.write_text(text, encoding="utf-8")
    return found


def _run(loaded: LoadedSettings, llm: ScriptedLLM) -> RunReport:
    request = JobRequest("catalog", job_file(loaded), RowSelection(only=("Loan",)), embedding=FakeEmbedding(), llm=llm)
    report = run_job(request, loaded)
    assert report is not None
    assert report.failures == ()
    return report


def _rules(loaded: LoadedSettings) -> dict[str, Any]:
    written = json.loads((loaded.project / "out" / "rules-catalog.json").read_text(encoding="utf-8"))
    groups = [group for domain in written["tables"]["entities"]["domains"] for group in domain["subgroups"]]
    cells: dict[str, Any] = next(row for group in groups for row in group["entities"] if row["name"] == "Loan")["cells"]
    found: dict[str, Any] = cells["business_rules"]
    return found


def test_a_field_is_written_from_the_chunks_of_a_search_that_the_language_model_chooses(tmp_path: Path) -> None:
    loaded, llm = _project(tmp_path), SearchingLLM()
    assert _run(loaded, llm).spent.calls == len(llm.prompts) >= 3
    cell = _rules(loaded)
    assert (cell["value"], cell["verdict"], cell["method"]) == (COST, "found", "llm")
    assert [place["source"] for place in cell["evidence"]] == ["costs.md"]


def test_a_row_that_was_made_with_further_searches_is_reused_until_its_collections_change(tmp_path: Path) -> None:
    loaded = _project(tmp_path)
    _run(loaded, SearchingLLM())
    assert _run(loaded, SearchingLLM()).spent.calls == 0
    run_ingest(loaded.data_dir, write_files(tmp_path / "docs", {"more.md": "# More\n\nThe garden opens at nine.\n"}))
    assert _run(loaded, SearchingLLM()).spent.calls > 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("job", "settings"),
    [(JOB.replace("search_again: true", "search_again: false"), ""), (JOB, "answer: {further_steps: 0}\n")],
)
def test_the_language_model_chooses_no_search_if_the_setting_is_off_or_allows_no_steps(
    job: str, settings: str, tmp_path: Path
) -> None:
    loaded, llm = _project(tmp_path, job, settings), SearchingLLM()
    assert _run(loaded, llm).spent.calls == 1
    assert not any(STEP in prompt for prompt in llm.prompts)
    assert _rules(loaded)["method"] == "extractive"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", ["DONE", "I do not know.", "KEYWORD: zeppelin"])
def test_the_first_text_of_a_field_is_kept_if_a_further_search_finds_nothing(step: str, tmp_path: Path) -> None:
    loaded = _project(tmp_path)
    _run(loaded, SearchingLLM(step))
    assert _rules(loaded)["method"] == "extractive"


def test_a_truncated_reply_that_chooses_a_search_is_noted_and_does_not_fail_the_row(tmp_path: Path) -> None:
    loaded = _project(tmp_path)
    _run(loaded, SearchingLLM(ScriptedReply("KEYWORD: tar", finish="length")))
    assert "The further search failed: The language model's reply is truncated" in _rules(loaded)["note"]

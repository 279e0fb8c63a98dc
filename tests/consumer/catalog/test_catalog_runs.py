"""The command makes a catalog from ingested collections: it searches them, calls a model, and reuses rows."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from elt_llm_consumer.jobs.context import open_job
from elt_llm_consumer.runner.costs import RunReport
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.loader import LoadedSettings
from row_jobs.fake_jobs import job_file, project
from stored.folders import run_ingest

pytestmark = pytest.mark.halved


MODEL = Path(__file__).parents[3] / "samples" / "enterprise" / "model.drawio"
RULES = """# Part A

A1.1 A Loan lasts four weeks. A Loan may be renewed twice. The Registrar grants every Loan. No Loan may be sold.
A Loan must be noted. A Loan must be returned. A Loan is free. A Loan should be short.

# Part B

B1.1 A Transfer must be reported by 30 June. The Registrar approves every Transfer.
"""
JOB = """
catalog:
  entity_types: [DataObject]
  fields:
    business_rules: {profile: fast, at_most: 2}
    governance_rules: {at_most: 1}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return settings with rules in one collection and the sample model in another collection."""
    found = project(tmp_path, {"rules.md": RULES}, JOB)
    (tmp_path / "drawn").mkdir()
    shutil.copy(MODEL, tmp_path / "drawn")
    run_ingest(found.data_dir, tmp_path / "drawn", collection="drawn")
    path = found.config_dir / "consumer" / "rules.yaml"
    text = path.read_text(encoding="utf-8").replace("{handbook: [library]}", "{handbook: [library], model: drawn}")
    path.write_text(text, encoding="utf-8")
    profiles = found.config_dir / "profiles"
    profiles.mkdir(exist_ok=True)
    fast = "description: quick\nquery: {similarity_top_k: 2, reranker_top_k: 2}\n"
    (profiles / "fast.yaml").write_text(fast, encoding="utf-8")
    return found


def _run(loaded: LoadedSettings, llm: ScriptedLLM | None = None, *only: str) -> RunReport:
    request = JobRequest("catalog", job_file(loaded), RowSelection(only=only), embedding=FakeEmbedding(), llm=llm)
    report = run_job(request, loaded)
    assert report is not None
    return report


def _cells(loaded: LoadedSettings, name: str) -> dict[str, Any]:
    written = json.loads((loaded.project / "out" / "rules-catalog.json").read_text(encoding="utf-8"))
    rows = [
        row
        for domain in written["tables"]["entities"]["domains"]
        for subgroup in domain["subgroups"]
        for row in subgroup["entities"]
    ]
    cells: dict[str, Any] = next(row for row in rows if row["name"] == name)["cells"]
    return cells


def test_a_second_run_of_a_catalog_job_reuses_every_row(loaded: LoadedSettings) -> None:
    first, second = _run(loaded), _run(loaded)
    assert (first.made > 83, first.failures) == (True, ())
    assert (second.made, second.kept) == (0, first.made)
    loan = _cells(loaded, "Loan")
    assert len(loan["business_rules"]["value"]) == 2
    assert loan["governance_rules"]["value"] == "The Registrar grants every Loan."
    assert _cells(loaded, "Sponsor")["source"]["value"] == "MODEL_ONLY"


def test_a_field_with_its_own_profile_is_searched_with_that_profile(loaded: LoadedSettings) -> None:
    with open_job(job_file(loaded), loaded, embedding=FakeEmbedding()) as opened:
        engine = opened.engines["fast"]
        assert opened.engine is not None
        assert [one.identity for one in engine.generations] == [one.identity for one in opened.engine.generations]
        assert len(engine.search("Loan").chunks) == 2


def test_a_language_model_is_called_once_for_each_field(loaded: LoadedSettings) -> None:
    llm = ScriptedLLM(["Zebras own purple elephants."] * 20)
    first, second = _run(loaded, llm, "Loan"), _run(loaded, llm, "Loan")
    assert first.failures == ()
    assert first.spent.calls == len(llm.prompts) > 3
    assert (second.made, second.spent.calls) == (0, 0)
    cell = _cells(loaded, "Loan")["governance_rules"]
    assert (cell["value"], cell["method"]) == ("The Registrar grants every Loan.", "extractive")
    assert "do not support" in cell["note"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("reply", "verdict", "method"),
    [
        ("A Loan must be noted.", "found", "llm"),
        ("A Transfer must be reported by 30 June.", "inferred", "llm"),
        ("B1.1 Part B", "found", "extractive"),
    ],
)
def test_statements_about_one_entity_are_not_used_for_another_entity(
    reply: str, verdict: str, method: str, loaded: LoadedSettings
) -> None:
    assert _run(loaded, ScriptedLLM([reply] * 20), "Loan").failures == ()
    cell = _cells(loaded, "Loan")["business_rules"]
    assert (cell["verdict"], cell["method"]) == (verdict, method)


def test_a_job_without_an_enterprise_model_is_refused(loaded: LoadedSettings) -> None:
    path = loaded.config_dir / "consumer" / "rules.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(", model: drawn", ""), encoding="utf-8")
    with pytest.raises(UsageError, match="enterprise model"):
        _run(loaded)

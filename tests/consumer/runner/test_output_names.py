"""Output file names of different jobs never collide."""

import shutil
from pathlib import Path

from elt_llm_consumer.jobs.job_file import load_job
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.loader import LoadedSettings
from row_jobs.fake_jobs import KIND, MeaningJob, outputs_of, project, some_terms


def _written(loaded: LoadedSettings, job: Path) -> list[str]:
    request = JobRequest(
        KIND, load_job(job, loaded), create=lambda _, context: MeaningJob(context, "Shorten"), embedding=FakeEmbedding()
    )
    run_job(request, loaded)
    return [name for name in outputs_of(loaded) if name.endswith(".json")]


def test_jobs_with_the_same_file_name_in_different_folders_write_different_files(tmp_path: Path) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(2)})
    known = loaded.config_dir / "consumer" / "rules.yaml"
    other = loaded.project / "sub" / "rules.yaml"
    other.parent.mkdir()
    shutil.copy(known, other)
    assert _written(loaded, known) == ["rules-glossary.json"]
    assert _written(loaded, other) == ["rules-glossary.json", "sub-rules-glossary.json"]


def test_the_output_of_a_job_named_after_its_kind_does_not_repeat_the_kind(tmp_path: Path) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(2)})
    named = loaded.config_dir / "consumer" / "glossary.yaml"
    shutil.copy(loaded.config_dir / "consumer" / "rules.yaml", named)
    assert _written(loaded, named) == ["glossary.json"]

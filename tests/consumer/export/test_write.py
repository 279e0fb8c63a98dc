from pathlib import Path

import pytest
from elt_llm_consumer.export.text import write_atomically
from elt_llm_consumer.export.write import write_outputs
from elt_llm_consumer.jobs.sections import OutputsSection
from elt_llm_core.errors import StoreError

from tests.consumer.export.sample_results import glossary_result


def test_every_requested_format_is_written_once(tmp_path: Path) -> None:
    outputs = OutputsSection(formats=("json", "csv", "json", "purview", "openmetadata", "datahub", "xlsx"))
    paths = write_outputs(glossary_result(), outputs, tmp_path / "new" / "folder", "words")
    assert [path.name for path in paths] == [
        "words.json",
        "words.terms.csv",
        "words.evidence.csv",
        "words.purview.csv",
        "words.openmetadata.csv",
        "words.datahub.yaml",
        "words.xlsx",
    ]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(path.name for path in paths)


def test_writing_a_result_twice_gives_byte_identical_files(tmp_path: Path) -> None:
    outputs = OutputsSection(formats=("json", "csv", "xlsx", "purview", "openmetadata", "datahub"))
    before = {path: path.read_bytes() for path in write_outputs(glossary_result(), outputs, tmp_path, "words")}
    after = {path: path.read_bytes() for path in write_outputs(glossary_result(), outputs, tmp_path, "words")}
    assert before == after


def test_an_existing_output_is_kept_if_the_new_output_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where a folder is wanted")
    with pytest.raises(StoreError, match="cannot be written") as raised:
        write_atomically(tmp_path / "out" / "words.json", b"{}")
    assert "outputs.folder" in raised.value.hint
    assert (tmp_path / "out").read_text() == "a file where a folder is wanted"

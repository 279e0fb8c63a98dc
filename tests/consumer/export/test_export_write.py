from pathlib import Path

import pytest
from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.write import write_outputs
from elt_llm_consumer.sections.outputs import Outputs
from elt_llm_core.errors import StoreError

from tests.consumer.export.sample_results import glossary_result


def test_every_form_that_was_asked_for_is_written_once(tmp_path: Path) -> None:
    outputs = Outputs(formats=("json", "csv", "json", "purview", "openmetadata", "datahub", "xlsx"))
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


def test_writing_twice_changes_no_byte(tmp_path: Path) -> None:
    outputs = Outputs(formats=("json", "csv", "xlsx", "purview", "openmetadata", "datahub"))
    before = {path: path.read_bytes() for path in write_outputs(glossary_result(), outputs, tmp_path, "words")}
    after = {path: path.read_bytes() for path in write_outputs(glossary_result(), outputs, tmp_path, "words")}
    assert before == after


def test_what_was_there_stays_where_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where a folder is wanted")
    with pytest.raises(StoreError, match="cannot be written") as raised:
        write_whole(tmp_path / "out" / "words.json", b"{}")
    assert "outputs.folder" in raised.value.hint
    assert (tmp_path / "out").read_text() == "a file where a folder is wanted"

from pathlib import Path

import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_query.synthesis.prompts import PROMPT_NAMES, load_prompts, shipped_text

OWN = 'system: "Answer in {language}."\nuser: "{sources} {question}"\n'


def written(folder: Path, name: str, text: str) -> Path:
    (folder / "prompts").mkdir()
    (folder / "prompts" / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", PROMPT_NAMES)
def test_a_prompt_file_that_was_written_is_read_back_unchanged(name: str, tmp_path: Path) -> None:
    assert load_prompts(written(tmp_path, f"{name}.yaml", shipped_text(name))) == load_prompts(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("simple.yaml", OWN.replace("{sources}", ""), "{sources}"),
        ("simple.yaml", OWN.replace("language", "langauge"), "Did you mean {language}?"),
        ("simpel.yaml", OWN, "simple.yaml"),
        ("simple.yml", OWN, "simple.yaml"),
    ],
)
def test_a_misspelt_prompt_name_raises_an_error_with_a_suggestion(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as raised:
        load_prompts(written(tmp_path, name, text))
    assert name in str(raised.value)
    assert message in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize(("name", "text"), [("simple.yaml", OWN + "# {x}"), ("simple_of_last_year.yaml", "none: 1")])
def test_prompts_keep_unknown_placeholders_in_braces_and_unrelated_files_are_ignored(
    name: str, text: str, tmp_path: Path
) -> None:
    assert load_prompts(written(tmp_path, name, text.replace("Answer", "{json} Answer")))

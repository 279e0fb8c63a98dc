"""Wrong arguments are reported in one clear sentence with a hint and the right exit code, without a traceback."""

from pathlib import Path

import pytest
from processes.command_line import CommandLine, CommandResult

LINES = 3  # a sentence and its hint, with room for one break


def assert_clear(ended: CommandResult, code: int, sentence: str, hint: str) -> None:
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.startswith("Error: ")
    assert sentence in ended.err
    assert hint in ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err.strip().splitlines()) <= LINES


WRONG_WITHOUT_DATA = [
    ("ask anything -c samples", 1, "There is no data in", "elt-llm ingest PATH -c NAME"),
    ("collections", 1, "There is no data in", "elt-llm demo"),
    ("status", 1, "There is no data in", "elt-llm ingest PATH -c NAME"),
    ("ingest", 2, "No collection is named", "elt-llm ingest PATH -c NAME"),
    ("ingest -c new", 2, "There is no collection 'new'", "elt-llm ingest PATH -c new"),
    ("ingest missing.md -c new", 2, "There is no file or folder", "Relative paths start at"),
    ("ingest empty -c new", 1, "There is nothing to ingest: no files were found.", ".pdf"),
    ("ingest unsupported -c new", 1, "skipped plan.dwg (no reader for .dwg)", ".md"),
    ("ingest unsupported -c New!", 1, "There is nothing to ingest", ".md"),
    ("--config missing.yaml collections", 2, "missing.yaml", "Error"),
    ("eval missing", 2, "corpus.jsonl cannot be read", "queries.jsonl"),
    (
        "eval",
        2,
        "Name a DIR, or --from-documents with -c NAME, or --answers FILE with -c NAME",
        "elt-llm eval --help",
    ),
    ("eval empty --answers x -c y", 2, "Name a DIR", "elt-llm eval --help"),
    ("--data-dir= status", 2, "The path is empty", "elt-llm --help"),
    ("status --config=", 2, "The path is empty", "elt-llm status --help"),
    ("drop", 2, "No collection is named", "elt-llm drop NAME"),
    ("aks hello", 2, "There is no command 'aks'. Did you mean ask?", "elt-llm --help"),
    ("zzz", 2, "There is no command 'zzz'", "elt-llm --help"),
    ("ask", 2, "Missing argument 'QUESTION'", "elt-llm ask --help"),
    ("ask x --colection y", 2, "No such option '--colection'", "--collection"),
    ("search x -k 0", 2, "0 is not in the range", "elt-llm search --help"),
    ("search x -k many", 2, "'many' is not a valid whole number", "elt-llm search --help"),
]

WRONG_WITH_DATA = [
    ("ask", "x -c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("search", "x -c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("status", "-c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("verify", "-c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("show", "handbook.pdf -c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("ask", "x", 2, "No collection is named.", "Known collections: samples."),
    ("ask", "x -c samples --profile quick", 2, "There is no profile 'quick':", "Known profiles: classic, default"),
    ("show", "handbok.pdf -c samples", 2, "There is no document 'handbok.pdf'", "Nearest: handbook.pdf"),
    ("show", "handbook.pdf -c samples --page 999", 2, "There is no page 999", "It has pages 1 to"),
    ("show", "data-protection-policy.md -c samples --page 1", 2, "There is no page 1", "use --span"),
    ("show", "handbook.pdf -c samples --span 5", 2, "'5' is not a span", "Give A:B within 0:"),
    ("show", "handbook.pdf -c samples --span 9:5", 2, "'9:5' is not a span", "Give A:B within 0:"),
    ("show", "handbook.pdf -c samples --span 0:99999999", 2, "is not a span", "Give A:B within 0:"),
    ("show", f"handbook.pdf -c samples --span 0:{'9' * 5000}", 2, "is not a span", "Give A:B within 0:"),
    ("show", "handbook.pdf -c samples --page 1 --span 0:5", 2, "cannot be combined", "Give one of them"),
    ("eval", "--answers missing.jsonl -c samples", 2, "missing.jsonl cannot be read", '{"id", "question"'),
]

WRONG_WHEN_WRITING = [
    ("ingest nowhere -c samples", 2, "There is no file or folder", "Relative paths start at"),
    ("rollback -c samples", 2, "has no earlier generation", "elt-llm status"),
    ("rollback -c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("ingest -c sampels", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("drop sampels --yes", 2, "There is no collection 'sampels'", "Nearest: samples."),
    ("drop --prefix zz --yes", 2, "No collection has a name that starts with 'zz'", "elt-llm collections"),
]


@pytest.mark.parametrize(("typed", "code", "sentence", "hint"), WRONG_WITHOUT_DATA)
def test_a_usage_error_in_an_empty_folder_is_reported_in_one_sentence(
    typed: str, code: int, sentence: str, hint: str, elt_llm: CommandLine
) -> None:
    (elt_llm.folder / "empty").mkdir()
    (elt_llm.folder / "unsupported").mkdir()
    (elt_llm.folder / "unsupported" / "plan.dwg").write_bytes(b"AC1032")
    assert_clear(elt_llm(*typed.split()), code, sentence, hint)


@pytest.mark.parametrize(("command", "rest", "code", "sentence", "hint"), WRONG_WITH_DATA)
def test_a_usage_error_in_a_folder_with_collections_is_reported_in_one_sentence(
    command: str, rest: str, code: int, sentence: str, hint: str, samples: CommandLine
) -> None:
    assert_clear(samples(command, *rest.split()), code, sentence, hint)


@pytest.mark.parametrize(("command", "rest", "code", "sentence", "hint"), WRONG_WITH_DATA)
def test_with_the_json_option_a_usage_error_is_one_json_document(
    command: str, rest: str, code: int, sentence: str, hint: str, samples: CommandLine
) -> None:
    ended = samples(command, *rest.split(), "--json")
    assert ended.code == code
    assert ended.err == ""
    error = ended.json["error"]
    assert sentence in error["message"]
    assert hint in error["hint"]
    assert error["type"].isidentifier()


@pytest.mark.parametrize(("typed", "code", "sentence", "hint"), WRONG_WHEN_WRITING)
def test_a_failed_write_command_changes_nothing(
    typed: str, code: int, sentence: str, hint: str, own_samples: CommandLine
) -> None:
    before = own_samples.done("collections", "--json").out
    assert_clear(own_samples(*typed.split()), code, sentence, hint)
    assert own_samples.done("collections", "--json").out == before


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "\x01\x02", "\u200b \ufeff"])
def test_an_empty_question_is_refused(question: str, samples: CommandLine) -> None:
    assert_clear(
        samples("ask", question, "-c", "samples"),
        2,
        "The question is empty.",
        "Ask in words, such as: Who approves leave?",
    )


@pytest.mark.parametrize("question", ["???", "\U0001f984\U0001f984 ?", "… !"])
def test_a_question_without_words_is_refused(question: str, samples: CommandLine) -> None:
    assert_clear(
        samples("ask", question, "-c", "samples"),
        2,
        "The question has no words.",
        "Ask in words, such as: Who approves leave?",
    )


@pytest.mark.parametrize("name", ["Upper", "two words", "../escape", "-x", "", "a" * 64])
def test_a_collection_name_that_is_not_a_valid_folder_name_is_refused(name: str, elt_llm: CommandLine) -> None:
    (elt_llm.folder / "note.md").write_text("The mast is twelve metres tall.", encoding="utf-8")
    ended = elt_llm("ingest", "note.md", "-c", name)
    assert ended.code == 2
    assert "is not a valid collection name" in ended.err or "Missing option" in ended.err
    assert "Traceback" not in ended.err


def test_an_invalid_pdf_is_reported_with_the_reason(elt_llm: CommandLine) -> None:
    (elt_llm.folder / "scan.pdf").write_bytes(b"garbage")
    ended = elt_llm("ingest", "scan.pdf", "-c", "new")
    assert ended.code == 1
    assert "failed  scan.pdf  is not a PDF" in ended.out
    assert "nothing was published" in ended.out
    assert "Traceback" not in ended.err
    assert elt_llm("collections", "--json").json == []


def test_an_encrypted_pdf_is_reported_and_other_files_are_ingested(elt_llm: CommandLine, datasets: Path) -> None:
    (elt_llm.folder / "note.md").write_text("The mast is twelve metres tall.", encoding="utf-8")
    ended = elt_llm("ingest", datasets / "docs" / "password.pdf", "note.md", "-c", "new", "--json")
    assert ended.code == 1
    statuses = {file["path"]: (file["status"], file["reason"]) for file in ended.json["files"]}
    assert statuses["password.pdf"] == ("failed", "is encrypted: a password is needed")
    assert statuses["note.md"][0] == "ok"
    assert elt_llm.done("ask", "How tall is the mast?", "-c", "new", "--json").json["answered"]


def test_an_unknown_settings_key_is_reported_with_its_line_and_the_most_similar_key(elt_llm: CommandLine) -> None:
    (elt_llm.folder / "rag.yaml").write_text("query:\n  leg_topk: 5\n", encoding="utf-8")
    ended = elt_llm("--config", "rag.yaml", "collections")
    assert ended.code == 2
    assert "rag.yaml:2" in ended.err
    assert "retriever_top_k" in ended.err


def test_control_characters_in_documents_do_not_reach_the_terminal(elt_llm: CommandLine) -> None:
    (elt_llm.folder / "note.md").write_text("The mast \x1b[31mis red\x07 and tall.", encoding="utf-8")
    elt_llm.done("ingest", "note.md", "-c", "new")
    for arguments in (["ask", "What is the mast?"], ["search", "mast"], ["show", "note.md"]):
        assert "\x1b" not in elt_llm.done(*arguments, "-c", "new").out

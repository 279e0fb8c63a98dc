"""The tables of `--explain`: one for each stage, as wide as the terminal, naming each chunk."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO

import pytest
from click import unstyle
from elt_llm_api.display.explain import explanation_lines
from elt_llm_api.display.text import TableColumn, table_lines
from elt_llm_core.results import TraceStage
from processes.command_line import FAKE, CommandLine, command, run_process

pytestmark = pytest.mark.halved


HEADS = {
    "Words of the question": ["word", "weight", "chunks"],
    "By vectors": ["read as", "rank", "cosine", "chunk"],
    "By words": ["read as", "rank", "BM25", "matched words", "chunk"],
    "Fused": ["read as", "fused", "by vectors", "by words", "chunk"],
    "Reranked": ["read as", "score", "cosine", "BM25", "covered", "ordered", "chunk"],
    "Read and left out": ["chunks"],
    "Near misses": ["score", "lacked", "reason", "matched words", "chunk"],
    "Caches": ["cache", "hits", "misses", "held"],
    "Times": ["stage", "ms", "kept"],
}
QUESTION = "When must the fee for an appeal be paid?"


def sections(shown: str) -> dict[str, list[str]]:
    """Return the lines below each heading of the explanation, by the heading's first words."""
    explained = shown[shown.index("\nUnderstood\n") + 1 :]
    blocks = [block.splitlines() for block in explained.split("\n\n")]
    return {heading.partition(":")[0]: lines for heading, *lines in blocks}


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


@pytest.mark.parametrize("width", [80, 100, 120])
def test_every_stage_is_a_table_that_fits_the_terminal(
    width: int, samples: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    tables = sections(samples.done("ask", QUESTION, "-c", "samples", "--explain").out)
    assert {heading: cells(tables[heading][0]) for heading in HEADS} == HEADS
    assert max(len(line) for lines in tables.values() for line in lines) <= width
    assert [row.split() for row in tables["Words of the question"][1:]][1][0] == "fee"
    assert cells(tables["Collections"][0])[-6:] == ["vectors", "words", "fused", "ranked", "read", "attainable"]
    assert {"Understood", "Answered"} <= tables.keys()


def test_chunks_are_named_by_document_page_and_first_words(samples: CommandLine) -> None:
    asked = ("search", QUESTION, "-c", "samples", "-k", "1")
    [found] = samples.done(*asked, "--json").json["chunks"]
    tables = sections(samples.done(*asked, "--explain").out)
    [row] = [line for line in tables["Reranked"] if line.split()[0] == "1"]
    assert f"  {found['source']} p. {found['page']}: {' '.join(found['text'].split())[:8]}" in row
    assert f"{found['score']:.3f}" in row


def test_every_candidate_chunk_is_listed_as_either_kept_or_left_out(samples: CommandLine) -> None:
    tables = sections(samples.done("search", QUESTION, "-c", "samples", "-k", "3", "--explain").out)
    counts = {reason: int(count) for count, reason in map(cells, tables["Read and left out"][1:])}
    in_all = counts.pop("in all")
    assert counts["read"] == 3
    assert sum(counts.values()) == in_all
    heads, figures = map(cells, tables["Collections"])
    row = dict(zip(heads, figures, strict=True))
    assert (row["fused"], row["ranked"], row["read"]) == (str(in_all), str(in_all), "3")


def test_the_best_chunk_beyond_top_k_is_listed_with_the_score_it_lacked_to_be_returned(
    samples: CommandLine,
) -> None:
    asked = ("search", QUESTION, "-c", "samples", "--explain")
    found = samples.done(*asked, "-k", "3", "--json").json
    missed = found["trace"]["stages"][-1]["details"]["near misses"]
    [fourth] = samples.done(*asked, "-k", "4", "--json").json["chunks"][3:]
    assert missed[0]["node_id"] == fourth["node_id"]
    assert missed[0]["reason"] == "beyond top_k"
    assert missed[0]["lacked"] == pytest.approx(found["chunks"][-1]["score"] - fourth["score"])
    row = sections(samples.done(*asked, "-k", "3").out)["Near misses"][1]
    assert cells(row)[:3] == [f"{fourth['score']:.3f}", f"{missed[0]['lacked']:.3f}", "beyond top_k"]


def test_the_trace_reports_how_many_chunks_of_each_collection_meet_the_filters(samples: CommandLine) -> None:
    asked = ("search", QUESTION, "-c", "samples", "--where", "page<=5", "--explain")
    tables = sections(samples.done(*asked).out)
    stages = samples.done(*asked, "--json").json["trace"]["stages"]
    [left] = [stage["details"] for stage in stages if stage["name"] == "filter"]
    counts = [str(left[name]["samples"]) for name in ("left", "of")]
    assert [line.split() for line in tables["Filtered"]] == [
        ["where", "page", "<=", "5"],
        ["collection", "left", "of"],
        ["samples", *counts],
    ]


def test_a_trace_contains_chunk_names_only_with_the_explain_option(samples: CommandLine) -> None:
    plain = samples.done("search", QUESTION, "-c", "samples", "--json").json
    explained = samples.done("search", QUESTION, "-c", "samples", "--explain", "--json").json
    assert explained["chunks"] == plain["chunks"]
    names = [stage["name"] for stage in plain["trace"]["stages"]]
    assert [stage["name"] for stage in explained["trace"]["stages"]] == [*names, "explain"]


@pytest.mark.sampled(1, "terminal")
def test_output_to_a_file_has_no_colours_and_80_columns(samples: CommandLine) -> None:
    environment = {**FAKE, "COLUMNS": "", "ELT_LLM_DATA_DIR": str(samples.folder / ".elt_llm")}
    ended = run_process("search", QUESTION, "-c", "samples", "--explain", folder=samples.folder, **environment)
    assert ended.code == 0, ended
    assert "\x1b" not in ended.out
    assert max(len(line) for lines in sections(ended.out).values() for line in lines) <= 80


def test_an_unknown_search_stage_is_shown_with_all_its_details() -> None:
    details = {"between": ["laws", "fees"], "sure": True, "none": {}, "ranks": [["n1", 1.0]]}
    lines = list(explanation_lines([TraceStage(name="compare", took_ms=1.0, kept=2, details=details)], 80))
    assert unstyle(lines[1]) == "Compare"
    assert lines[2:5] == ["between  laws, fees", "sure     yes", "ranks    1 in --json"]


def test_wide_characters_count_as_two_columns_of_the_terminal() -> None:
    [_, row] = table_lines([TableColumn("n", "figure"), TableColumn("chunk", "text")], [["1", "規" * 60]], 40)
    assert len(row) < 30
    assert json.dumps(row, ensure_ascii=False).endswith('…"')


def test_the_routing_table_lists_searched_collections_first() -> None:
    collections = {
        f"laws_{number:02}": {"score": float(number), "asked": number in (1, 29), "why": "others match better"}
        for number in range(30)
    }
    routed = TraceStage(name="route", took_ms=1.0, kept=2, details={"question": "x", "collections": collections})
    lines = list(explanation_lines([routed], 80))
    assert unstyle(lines[1]) == "Asked: 2 of 30 collections"
    assert [cells(line)[0] for line in lines[3:6]] == ["laws_29", "laws_01", "laws_28"]
    assert "and 10 more" in lines


@pytest.mark.sampled(1, "terminal")
@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_headings_are_bold_in_a_terminal_unless_the_variable_no_color_is_set(
    environment: dict[str, str], coloured: bool, samples: CommandLine
) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo terminals here")
    ours, theirs = pty.openpty()
    data = str(samples.folder / ".elt_llm")
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb", buffering=0) as reading:
        asked = command("search", QUESTION, "-c", "samples", "-k", "1", "--explain")
        variables = {**clean, **FAKE, "ELT_LLM_DATA_DIR": data, "TERM": "xterm", **environment}
        with subprocess.Popen(asked, stdout=theirs, env=variables, cwd=samples.folder) as process:
            os.close(theirs)
            shown = b"".join(_until_closed(reading))
    assert process.returncode == 0
    assert b"Reranked: embedding" in shown
    assert (b"\x1b[1mReranked" in shown) is coloured


def _until_closed(terminal: FileIO) -> Iterator[bytes]:
    """Return all text written to a pseudo terminal; Linux raises an error when the other end is closed."""
    with suppress(OSError):
        while data := terminal.read(4096):
            yield data


def test_the_trace_lists_aliases_and_corrected_words_as_readable_text() -> None:
    details = {"aliases": {"HR": ["human resources", "personnel"]}, "corrected": {"presidnet": "president"}}
    lines = list(explanation_lines([TraceStage(name="understand", took_ms=1.0, kept=0, details=details)], 80))
    assert lines[2:4] == ["aliases    HR: human resources or personnel", "corrected  presidnet: president"]


def test_a_trace_of_several_searches_lists_each_question_but_only_the_collections_of_the_last_search(
    samples: CommandLine,
) -> None:
    question = "Who appoints the referee and when must the fee for an appeal be paid?"
    tables = sections(samples.done("search", question, "-c", "samples", "--strategy", "multi_query", "--explain").out)
    assert "asked as well  when must the fee for an appeal be paid?" in tables["Combine"]
    shown = samples.done("search", question, "-c", "samples", "--strategy", "multi_query", "--explain").out
    assert re.search(r"^Collections: the last of \d searches; read from all of them$", shown, re.MULTILINE)

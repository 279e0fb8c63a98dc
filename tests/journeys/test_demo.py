"""The demo with the real embedding model, in separate processes."""

import re

import pytest
from processes.command_line import SAMPLES, CommandLine, run_process
from processes.demonstration import Demo


def test_the_demo_answers_with_citations_that_name_file_and_page(demo: Demo) -> None:
    assert demo.first.code == 0, demo.first
    assert re.search(r"published as generation 1", demo.first.out)
    assert re.search(r"^[^\[\n]+\[1\]", demo.first.out, re.MULTILINE)
    assert re.search(r"^\[1\] handbook\.pdf, page \d+", demo.first.out, re.MULTILINE)
    assert len(list(SAMPLES.iterdir())) == len(re.findall(r"^ok  ", demo.first.out, re.MULTILINE))


def test_a_second_run_of_the_demo_embeds_nothing(demo: Demo) -> None:
    assert demo.second.code == 0, demo.second
    assert demo.second.err == ""
    ingested = demo.second.json["ingest"]
    assert (ingested["embedded"], ingested["published"], ingested["generation"]) == (0, False, 1)
    assert ingested["counts"] == {"unchanged": len(list(SAMPLES.iterdir()))}
    assert demo.second.json["result"]["answered"]


def test_the_demo_opens_no_internet_socket(demo: Demo) -> None:
    assert demo.sockets == []


def test_libraries_write_nothing_to_stderr_during_the_demo(demo: Demo) -> None:
    stages = r"(Reading files|Embedding chunks|Building the index): [\d,]+"
    said = rf"{stages}|  [\d,]+/[\d,]+, .*|  [\d,]+ (file|chunk)s? in .*"
    assert [line for line in demo.first.err.splitlines() if not re.fullmatch(said, line)] == []


def test_the_ask_command_in_its_own_process_prints_only_the_answer(demo: Demo) -> None:
    ended = run_process(
        "ask",
        "Where was the Association founded?",
        "-c",
        "demo",
        "--json",
        folder=demo.folder,
        PYTHONWARNINGS="default",
    )
    assert ended.code == 0
    assert ended.json["answered"]
    assert ended.err == ""


def test_every_cited_excerpt_in_the_demo_equals_its_source_text(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    elt_llm = CommandLine(demo.folder, capsys, {})
    citations = demo.second.json["result"]["citations"]
    assert citations
    for citation in citations:
        span = "{}:{}".format(*citation["span"])
        shown = elt_llm("show", citation["source_id"], "-c", "demo", "--span", span, "--json")
        assert shown.json["text"] == citation["excerpt"]


def test_questions_on_the_command_line_need_no_quotes(demo: Demo) -> None:
    ended = run_process("ask", *["when", "was", "the", "association", "founded"], "-c", "demo", folder=demo.folder)
    assert "1887" in ended.out

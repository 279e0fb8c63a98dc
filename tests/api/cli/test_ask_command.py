"""`ask`, `search` and `show` on the samples: citations can be read back and answers repeat."""

import json
from typing import Any

import pytest
from processes.command_line import QUESTIONS, CommandLine

VOLATILE = {"latency_ms", "took_ms"}
ASKED = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()][::10]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(inner) for name, inner in value.items() if name not in VOLATILE}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.sampled(5)
@pytest.mark.parametrize("question", ASKED)
def test_the_show_command_prints_the_excerpt_of_every_citation(question: str, samples: CommandLine) -> None:
    result = samples.done("ask", question, "-c", "samples", "--json").json
    assert result["citations"] or not result["answered"]
    for citation in result["citations"]:
        span = "{}:{}".format(*citation["span"])
        shown = samples.done("show", citation["source_id"], "-c", "samples", "--span", span, "--json").json
        assert shown["text"] == citation["excerpt"]
        assert shown["document_hash"] == citation["document_hash"]
        assert shown["source"] == citation["source"]


def test_the_show_command_prints_the_text_of_every_retrieved_chunk(samples: CommandLine) -> None:
    found = samples.done("search", "appeal", "against", "a", "fine", "-c", "samples", "--json").json
    assert found["question"] == "appeal against a fine"
    for chunk in found["chunks"]:
        span = "{}:{}".format(*chunk["span"])
        shown = samples.done("show", chunk["source_id"], "-c", "samples", "--span", span, "--json").json
        assert shown["text"] == chunk["text"]


def test_the_show_command_prints_a_page_that_contains_the_cited_sentences(samples: CommandLine) -> None:
    result = samples.done("ask", "How many days do I have to lodge an appeal?", "-c", "samples", "--json").json
    cited = [citation for citation in result["citations"] if citation["page"]]
    assert cited
    for citation in cited:
        page = samples.done("show", citation["source_id"], "-c", "samples", "--page", str(citation["page"])).out
        assert citation["excerpt"].splitlines()[0] in page


def test_the_show_command_prints_a_span_of_a_document_unchanged(samples: CommandLine) -> None:
    whole = samples.done("show", "ground-grading-guide.txt", "-c", "samples").out
    assert (
        samples.done("show", "ground-grading-guide.txt", "-c", "samples", "--span", "10:60").out == whole[10:60] + "\n"
    )


@pytest.mark.parametrize("question", ASKED[:5])
def test_the_same_question_returns_identical_output(question: str, samples: CommandLine) -> None:
    first, second = (samples.done("ask", question, "-c", "samples", "--json").json for _ in range(2))
    assert json.dumps(without_times(first)) == json.dumps(without_times(second))
    first_text, second_text = (samples.done("ask", question, "-c", "samples").out for _ in range(2))
    assert first_text == second_text


def test_the_printed_answer_names_each_source_with_its_page(samples: CommandLine) -> None:
    result = samples.done(
        "ask", "When", "must", "the", "fee", "for", "an", "appeal", "be", "paid?", "-c", "samples", "--json"
    )
    citations = result.json["citations"]
    shown = samples.done("ask", result.json["question"], "-c", "samples").out
    assert "\x1b" not in shown
    for citation in citations:
        line = next(line for line in shown.splitlines() if line.startswith(citation["reference"]))
        assert citation["source"] in line
        assert citation["page"] is None or f"page {citation['page']}" in line


def test_a_question_that_the_documents_do_not_answer_is_refused(samples: CommandLine) -> None:
    ended = samples.done("ask", "xylophone quantum zeppelin?", "-c", "samples", "--json")
    assert not ended.json["answered"]
    assert "Not found in these documents" in ended.json["answer"]


@pytest.mark.parametrize("strategy", ["sparse", "multi_query", "multi_hop", "auto"])
def test_every_strategy_answers_a_question(strategy: str, samples: CommandLine) -> None:
    found = samples.done("search", "Who is the referee?", "-c", "samples", "--strategy", strategy, "--json").json
    answered = samples.done("ask", "Who is the referee?", "-c", "samples", "--strategy", strategy, "--json").json
    strategies = [result["trace"]["stages"][0]["details"]["strategy"] for result in (found, answered)]
    assert strategies == [strategy, strategy]
    assert found["chunks"]


def test_an_unknown_strategy_is_refused_and_the_error_lists_the_known_strategies(samples: CommandLine) -> None:
    refused = samples("search", "referee", "-c", "samples", "--strategy", "telepathy")
    assert refused.code == 2
    assert "multi_hop" in refused.err


def test_the_top_k_option_limits_the_number_of_chunks(samples: CommandLine) -> None:
    for k in (1, 3, 20):
        found = samples.done("search", "referee", "-c", "samples", "-k", str(k), "--json").json
        assert len(found["chunks"]) == k
        scores = [chunk["score"] for chunk in found["chunks"]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("profile", ["default", "classic", "fast", "thorough"])
def test_every_shipped_profile_retrieves_chunks(profile: str, samples: CommandLine) -> None:
    found = samples.done("search", "referee", "-c", "samples", "--profile", profile, "--json").json
    assert found["chunks"]


def test_printed_chunks_are_wrapped_to_the_terminal_width(
    samples: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = samples.done("search", "referee", "-c", "samples", "-k", "3").out
    assert max(len(line) for line in shown.splitlines() if line.startswith("   ")) <= 40


def test_two_collections_are_searched_together(own_samples: CommandLine) -> None:
    (own_samples.folder / "note.md").write_text("# Mast\n\nThe mast is twelve metres tall.\n", encoding="utf-8")
    own_samples.done("ingest", "note.md", "-c", "mast", "--json")
    both = own_samples.done("ask", "How tall is the mast?", "-c", "samples", "-c", "mast", "--json").json
    assert "twelve metres" in both["answer"]
    assert both["citations"][0]["collection"] == "mast"
    found = own_samples.done("search", "referee mast", "-c", "samples", "-c", "mast", "--json").json
    assert {chunk["collection"] for chunk in found["chunks"]} == {"samples", "mast"}


def test_search_returns_only_chunks_that_match_the_filters(samples: CommandLine) -> None:
    everything = samples.done("search", "referee", "-c", "samples", "-k", "50", "--json").json["chunks"]
    source = everything[0]["source"]
    where = ["--where", f"source={source}", "--where", "page>=1"]
    found = samples.done("search", "referee", "-c", "samples", "-k", "50", *where, "--json").json
    assert {(one["source"], one["page"] is None) for one in found["chunks"]} <= {(source, False)}
    assert [stage["details"]["where"] for stage in found["trace"]["stages"] if stage["name"] == "filter"] == [
        [f"source = {source}", "page >= 1"]
    ]


def test_a_filter_without_matches_is_reported(samples: CommandLine) -> None:
    shown = samples.done("search", "referee", "-c", "samples", "--where", "year>=3000").out
    assert "No chunk is relevant to this question." in shown
    assert "No chunk matches the filter: year >= 3000." in shown
    asked = samples.done("ask", "What is a referee?", "-c", "samples", "--where", "year>=3000", "--json").json
    assert (asked["answered"], asked["citations"]) == (False, [])


def test_a_filter_on_an_unknown_field_is_a_usage_error(samples: CommandLine) -> None:
    refused = samples("ask", "referee", "-c", "samples", "--where", "sorce=a.md")
    assert refused.code == 2
    assert "There is no field 'sorce'." in refused.err
    assert "Nearest: source" in refused.err

"""Tools return document texts with their locations and traces, and refuse invalid calls with a readable message."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.cli import run
from elt_llm_api.serve.mcp.tool_call import for_agents
from mcp.client import Client
from mcp_types import Tool
from processes.command_line import FAKE
from served.answering_server import EXTRACTIVE, copied_project
from served.mcp_clients import HttpAgent, answered, refused, text_of
from served.server import served

pytestmark = pytest.mark.network

QUESTION = "How many points does a ground need for Grade A?"
SENTENCE = "A ground needs 85 points for Grade A, 70 for Grade B, 50 for Grade C and 30 for Grade D."
GUIDE = "ground-grading-guide.txt"


@pytest.fixture(scope="module")
def agent(sample_folder: Path) -> Iterator[HttpAgent]:
    with served(sample_folder, environment=EXTRACTIVE) as server:
        yield HttpAgent(server.address)


@pytest.fixture(scope="module")
def tools(agent: HttpAgent) -> dict[str, Tool]:
    async def listed(client: Client) -> list[Tool]:
        return (await client.list_tools()).tools

    return {tool.name: tool for tool in agent.with_client(listed)}


def test_every_tool_describes_itself_its_arguments_and_its_result(tools: dict[str, Tool]) -> None:
    assert set(tools) == {
        *("search", "ask", "get_span", "verify_quote", "explain", "list_collections", "collection_status"),
        *("ingest_path", "reindex", "optimize_search", "model_neighbours", "list_jobs", "run_job", "job_status"),
        "job_rows",
    }
    for name, tool in tools.items():
        assert tool.title, name
        assert len(tool.description or "") > 60, name
        assert tool.output_schema, name
        assert tool.input_schema["additionalProperties"] is False, name
        for argument, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), (name, argument)


def test_every_text_argument_of_a_tool_has_a_length_limit(tools: dict[str, Tool]) -> None:
    unbounded = [
        (name, argument)
        for name, tool in tools.items()
        for argument, schema in tool.input_schema["properties"].items()
        for one in _alternatives(schema)
        if (one.get("type") == "string" and not {"maxLength", "enum", "pattern"} & one.keys())
        or (one.get("type") == "array" and "maxItems" not in one)
        or (one.get("type") == "integer" and not {"maximum", "minimum"} <= one.keys())
    ]
    assert unbounded == []


def _alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [schema, *schema.get("anyOf", ())]
    return [*found, *(one["items"] for one in found if "items" in one)]


def test_the_tools_ask_explain_and_search_have_the_same_arguments(tools: dict[str, Tool]) -> None:
    answer, explain, search = (tools[name].input_schema["properties"] for name in ("ask", "explain", "search"))
    assert answer == explain
    assert search == {**answer, "top_k": search["top_k"]}


def test_only_tools_that_change_data_are_marked_as_changing_data(tools: dict[str, Tool]) -> None:
    hints = {name: tool.annotations for name, tool in tools.items()}
    changing = {name for name, hint in hints.items() if hint is None or not hint.read_only_hint}
    assert changing == {"ingest_path", "reindex", "run_job"}
    assert all(hint is not None and hint.open_world_hint is False for hint in hints.values())


def test_a_question_is_answered_with_words_from_the_documents(agent: HttpAgent) -> None:
    result = agent.call("ask", question=QUESTION, collections=["samples"])
    told = answered(result)
    assert told["answered"]
    assert told["answer"].startswith("A ground needs 85 points")
    [citation] = told["citations"]
    assert citation["source"] == GUIDE
    assert "85 points" in text_of(result)
    assert told["asked"] == {"model": "extractive", "generations": {"samples": 1}}


def test_a_question_without_an_answer_in_the_documents_is_refused(agent: HttpAgent) -> None:
    result = agent.call("ask", question="Who won the chess olympiad of 1972?")
    assert not answered(result)["answered"]
    assert text_of(result).startswith("Not answered")


def test_a_retrieved_chunk_can_be_read_by_its_span_with_surrounding_text(agent: HttpAgent) -> None:
    chunk = answered(agent.call("search", question=QUESTION, top_k=1))["chunks"][0]
    place = {name: chunk[name] for name in ("collection", "document", "start", "end")}
    span = answered(agent.call("get_span", **place))
    assert (span["text"], span["page"], span["section"]) == (chunk["text"], chunk["page"], chunk["section"])
    wider = answered(agent.call("get_span", **{**place, "start": 0, "end": span["length"]}))
    assert wider["text"][chunk["start"] : chunk["end"]] == chunk["text"]


def test_pages_are_reported_for_files_with_pages(agent: HttpAgent) -> None:
    span = answered(agent.call("get_span", collection="samples", document="handbook.pdf", start=5000, end=5200))
    assert (span["page"], len(span["text"])) == (5, 200)


@pytest.mark.parametrize(
    ("document", "start", "end", "said"),
    [
        (GUIDE, 9, 9, "not a span"),
        (GUIDE, 0, 10_000_000, "not a span"),
        ("handbook.pdf", 0, 60_000, "too long"),
        ("handbok.pdf", 0, 5, "Nearest: handbook.pdf"),
        (GUIDE, -1, 5, "greater than or equal to 0"),
    ],
)
def test_a_span_outside_the_document_is_refused_with_a_message(
    agent: HttpAgent, document: str, start: int, end: int, said: str
) -> None:
    assert said in refused(agent.call("get_span", collection="samples", document=document, start=start, end=end))


def test_a_quote_is_verified_regardless_of_white_space(agent: HttpAgent) -> None:
    result = agent.call("verify_quote", collection="samples", quote=SENTENCE.replace(" ", "\n  "))
    told = answered(result)
    assert told["verbatim"]
    [place] = told["places"]
    assert " ".join(place["text"].split()) == SENTENCE
    span = answered(
        agent.call("get_span", collection="samples", document=place["document"], start=place["start"], end=place["end"])
    )
    assert span["text"] == place["text"]
    assert text_of(result).startswith("Verbatim")


@pytest.mark.parametrize("document", [None, GUIDE])
def test_a_quote_with_a_changed_number_is_rejected_and_the_number_is_named(
    agent: HttpAgent, document: str | None
) -> None:
    quote = SENTENCE.replace("85", "90")
    result = agent.call("verify_quote", collection="samples", quote=quote, document=document)
    told = answered(result)
    assert not told["verbatim"]
    assert told["places"] == []
    assert " ".join(told["nearest"]["text"].split()) == SENTENCE
    assert told["differences"] == [{"kind": "other words", "quote": "90", "document": "85"}]
    assert text_of(result).startswith("Not verbatim")


def test_a_quote_is_searched_only_in_the_named_document(agent: HttpAgent) -> None:
    told = answered(agent.call("verify_quote", collection="samples", quote=SENTENCE, document="handbook.pdf"))
    assert not told["verbatim"]
    assert told["nearest"]["source"] == "handbook.pdf"


def test_for_an_unrelated_quote_no_similar_text_is_returned(agent: HttpAgent) -> None:
    told = answered(agent.call("verify_quote", collection="samples", quote="Zyx qwv", document=GUIDE))
    assert (told["verbatim"], told["nearest"], told["shared"]) == (False, None, 0.0)
    assert "The quote is empty" in refused(agent.call("verify_quote", collection="samples", quote="  \n "))


def test_the_explain_tool_returns_the_trace_of_an_answer(agent: HttpAgent) -> None:
    result = agent.call("explain", question=QUESTION)
    names = [stage["name"] for stage in answered(result)["stages"]]
    assert {"understand", "retrieve", "fuse", "rerank", "shape", "explain", "answer"} <= set(names)
    assert "By words" in text_of(result)
    assert "\x1b" not in text_of(result)


def test_collections_are_listed_and_described(agent: HttpAgent) -> None:
    [listed] = answered(agent.call("list_collections"))["collections"]
    status = answered(agent.call("collection_status", collection="samples"))
    assert (listed["collection"], listed["documents"], listed["health"]) == ("samples", 5, "ok")
    assert listed.items() <= status.items()
    assert status["embedding"] == "fake fake"


def test_profiles_are_compared_on_labelled_queries(agent: HttpAgent) -> None:
    queries = [QUESTION, "Can a club appeal against a grade?"]
    result = agent.call(
        "optimize_search", queries=queries, profiles=["default", "fast"], labels={QUESTION: [GUIDE]}, top_k=5
    )
    default, fast = answered(result)["profiles"]
    assert (default["profile"], fast["profile"]) == ("default", "fast")
    assert default["figures"]["mrr@10"] == pytest.approx(1.0)
    assert set(default["figures"]) == {"ndcg@10", "recall@10", "mrr@10"}
    assert [one["query"] for one in default["queries"]] == queries
    assert default["queries"][1]["figures"] == {}
    assert 0 < default["latency_p50_ms"] <= default["latency_p95_ms"]
    assert 0 <= default["reranking"]["overlap"] <= 1
    assert (default["agreement"], default["relevance"]) == (1.0, None)
    assert 0 < fast["agreement"] <= 1
    assert text_of(result).startswith("default: shares 100% of the first chunks with the first profile, cosine ")
    assert "reranking" in text_of(result)


def test_mean_scores_are_compared_only_between_profiles_that_compute_them_in_the_same_way(agent: HttpAgent) -> None:
    def scores(*profiles: str) -> list[float | None]:
        compared = answered(agent.call("optimize_search", queries=[QUESTION], profiles=profiles))
        return [one["relevance"] for one in compared["profiles"]]

    alone, again = scores("default", "default")
    assert alone == again
    assert alone is not None
    assert scores("default", "classic") == [None, None]


def test_profiles_that_search_different_collections_are_not_compared(sample_folder: Path, tmp_path: Path) -> None:
    folder = copied_project(sample_folder, tmp_path / "project")
    (folder / "note.md").write_text("# Loans\n\nA loan costs 40 euros.\n", encoding="utf-8")
    assert run(["ingest", str(folder / "note.md"), "-c", "notes", "--json"], FAKE, folder) == 0
    (folder / "config" / "profiles").mkdir(parents=True)
    (folder / "config" / "profiles" / "notes.yaml").write_text("collections: [notes]\n", encoding="utf-8")
    with served(folder, environment=EXTRACTIVE) as server:
        agent = HttpAgent(server.address)
        asked = {"queries": ["loan"], "profiles": ["default", "notes"]}
        assert "search different collections" in refused(agent.call("optimize_search", **asked))
        both = answered(agent.call("optimize_search", **asked, collections=["notes"]))["profiles"]
        assert [one["agreement"] for one in both] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"queries": []}, "at least 1"),
        ({"queries": ["a"] * 51}, "at most 50"),
        ({"queries": ["a"], "labels": {"b": [GUIDE]}}, "which is not among the queries"),
        ({"queries": ["a"], "labels": {"a": ["nope.txt"]}}, "no document 'nope.txt'"),
        (
            {"queries": ["a"], "profiles": ["nope"]},
            "There is no profile 'nope': config/profiles/nope.yaml does not exist. Known",
        ),
    ],
)
def test_an_invalid_comparison_is_refused(agent: HttpAgent, arguments: dict[str, Any], said: str) -> None:
    assert said in refused(agent.call("optimize_search", **arguments))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"question": "a", "colection": ["samples"]}, "colection"),
        ("search", {"question": "a", "top_k": 0}, "top_k"),
        ("search", {"question": "a", "collections": ["nope"]}, "There is no collection 'nope'"),
        ("search", {"question": "a", "where": ["shoe_size>40"]}, "shoe_size"),
        ("search", {"question": "\u200b"}, "The question is empty"),
        ("ask", {"question": "a", "profile": "../../etc/passwd"}, "profile"),
        ("model_neighbours", {"entity": "Club", "collection": "samples"}, "contains no enterprise model"),
        ("model_neighbours", {"entity": "Club"}, "Name either a collection or a job"),
        ("job_status", {"id": "0" * 32}, "There is no job"),
        ("run_job", {"job": "../glossary", "kind": "glossary"}, "pattern"),
        ("ingest_path", {"collection": "samples", "path": "/etc"}, "serve.agents_may_ingest"),
        ("reindex", {"collection": "samples"}, "serve.agents_may_ingest"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
def test_failed_tool_calls_have_readable_messages(
    agent: HttpAgent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in refused(agent.call(tool, **arguments))


@pytest.mark.parametrize(
    ("tool", "arguments", "sentences"),
    [
        ("ask", {}, "The argument 'question' is missing."),
        (
            "ask",
            {"question": "a", "colection": "x"},
            "There is no argument 'colection'. Nearest: collections, question.",
        ),
        ("ask", {"question": ""}, "The argument 'question' is invalid: string should have at least 1 character."),
        (
            "search",
            {"question": "a", "top_k": "many"},
            "The argument 'top_k' is invalid: input should be a valid integer, unable to parse string as an integer.",
        ),
        (
            "ask",
            {"question": "a", "collections": "samples"},
            "The argument 'collections' is invalid: input should be a valid list, not a string.",
        ),
        (
            "get_span",
            {"collection": "samples", "document": GUIDE, "start": -1},
            "The argument 'start' is invalid: input should be greater than or equal to 0."
            " The argument 'end' is missing.",
        ),
        (
            "optimize_search",
            {"queries": ["a", ""]},
            "The argument 'queries.1' is invalid: string should have at least 1 character.",
        ),
    ],
)
def test_invalid_arguments_are_reported_in_plain_sentences_without_library_jargon(
    agent: HttpAgent, tool: str, arguments: dict[str, Any], sentences: str
) -> None:
    assert refused(agent.call(tool, **arguments)) == sentences


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("job_rows", {"job": "none", "kind": "glossary"}, "List the jobs: the tool list_jobs"),
        ("job_status", {"id": "0" * 32}, "List the jobs: run_job, reindex and ingest_path return their ids"),
        ("search", {"question": "?"}, "Ask in words, such as: Who approves leave?"),
    ],
)
def test_the_hints_of_errors_name_tools_instead_of_routes_and_commands(
    agent: HttpAgent, tool: str, arguments: dict[str, Any], hint: str
) -> None:
    assert refused(agent.call(tool, **arguments)).endswith(hint)


def test_commands_in_hints_and_notes_are_for_the_operator_of_the_server() -> None:
    assert for_agents("Run: elt-llm verify") == "The operator of the server can run: elt-llm verify"
    assert for_agents("Make a key with: elt-llm keys add A").startswith("For the operator of the server: Make a key")
    assert for_agents("Name another collection.") == "Name another collection."


def test_the_status_of_a_collection_counts_skipped_files_and_files_in_trouble(
    sample_folder: Path, tmp_path: Path
) -> None:
    project = copied_project(sample_folder, tmp_path / "project")
    (project / "more").mkdir()
    (project / "more" / "plan.dwg").write_bytes(b"AC1015")
    for number in range(21):
        (project / "more" / f"{number}.txt").write_text("")
    assert run(["ingest", "more", "-c", "samples"], EXTRACTIVE, project) == 0
    with served(project, environment=EXTRACTIVE) as server:
        text = text_of(HttpAgent(server.address).call("collection_status", collection="samples"))
    assert "\nfiles skipped by the last ingest: 1\n" in text
    assert "\nFiles in trouble, 20 of 21:\n" in text


def test_after_a_rollback_an_agent_can_continue_with_the_argument_resume(sample_folder: Path, tmp_path: Path) -> None:
    project = copied_project(sample_folder, tmp_path / "project")
    settings = {"ELT_LLM_SERVE__AGENTS_MAY_INGEST": "true", "ELT_LLM_INGEST__ROOTS": "[more]"}
    (project / "more").mkdir()
    (project / "more" / "gate.md").write_text("# Gate\n\nA lantern hangs above the gate.\n", encoding="utf-8")
    for command in (["ingest", "more", "-c", "samples"], ["rollback", "-c", "samples"]):
        assert run(command, EXTRACTIVE, project) == 0
    with served(project, environment={**EXTRACTIVE, **settings}) as server:
        agent = HttpAgent(server.address)
        calls = {"reindex": {"collection": "samples"}, "ingest_path": {"collection": "samples", "path": "more"}}
        for tool, arguments in calls.items():
            assert "with resume=true: the tool reindex, or" in refused(agent.call(tool, **arguments))
        for tool, arguments in calls.items():
            assert answered(agent.call(tool, **arguments, resume=True))["arguments"]["resume"] is True


def test_a_document_is_readable_as_a_resource_completely_or_by_span(agent: HttpAgent) -> None:
    async def read(client: Client) -> list[str]:
        identity = (await client.call_tool("search", {"question": QUESTION, "top_k": 1})).structured_content
        assert identity is not None
        address = f"elt-llm://samples/{identity['chunks'][0]['document']}"
        contents = [await client.read_resource(address), await client.read_resource(f"{address}?span=697:721")]
        return [getattr(one.contents[0], "text", "") for one in contents]

    whole, part = agent.with_client(read)
    assert "\nA ground needs 85 points\n" in part
    assert "BRACKENSHIRE FOOTBALL ASSOCIATION" in whole
    assert len(part) < len(whole)

"""Every tool says what the documents say, where, and how it came about; what it cannot do, it refuses in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import HttpAgent, answered, refused, text_of
from answering import EXTRACTIVE
from mcp.client import Client
from mcp_types import Tool
from served import served

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
        *("search", "answer", "get_span", "verify_quote", "explain", "list_collections", "collection_status"),
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


def test_every_text_a_tool_takes_is_bounded(tools: dict[str, Tool]) -> None:
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


def test_every_tool_that_asks_takes_the_same_arguments(tools: dict[str, Tool]) -> None:
    answer, explain, search = (tools[name].input_schema["properties"] for name in ("answer", "explain", "search"))
    assert answer == explain
    assert search == {**answer, "top_k": search["top_k"]}


def test_only_what_changes_something_says_so(tools: dict[str, Tool]) -> None:
    hints = {name: tool.annotations for name, tool in tools.items()}
    changing = {name for name, hint in hints.items() if hint is None or not hint.read_only_hint}
    assert changing == {"ingest_path", "reindex", "run_job"}
    assert all(hint is not None and hint.open_world_hint is False for hint in hints.values())


def test_a_question_is_answered_with_the_documents_own_words(agent: HttpAgent) -> None:
    result = agent.call("answer", question=QUESTION, collections=["samples"])
    told = answered(result)
    assert told["answered"]
    assert told["answer"].startswith("A ground needs 85 points")
    [citation] = told["citations"]
    assert citation["source"] == GUIDE
    assert "85 points" in text_of(result)
    assert told["asked"] == {"model": "extractive", "generations": {"samples": 1}}


def test_what_the_documents_do_not_hold_is_not_answered(agent: HttpAgent) -> None:
    result = agent.call("answer", question="Who won the chess olympiad of 1972?")
    assert not answered(result)["answered"]
    assert text_of(result).startswith("Not answered")


def test_a_passage_found_can_be_read_again_at_its_place_and_around_it(agent: HttpAgent) -> None:
    passage = answered(agent.call("search", question=QUESTION, top_k=1))["passages"][0]
    place = {name: passage[name] for name in ("collection", "document", "start", "end")}
    span = answered(agent.call("get_span", **place))
    assert (span["text"], span["page"], span["section"]) == (passage["text"], passage["page"], passage["section"])
    wider = answered(agent.call("get_span", **{**place, "start": 0, "end": span["length"]}))
    assert wider["text"][passage["start"] : passage["end"]] == passage["text"]


def test_a_page_is_told_where_files_have_pages(agent: HttpAgent) -> None:
    span = answered(agent.call("get_span", collection="samples", document="handbook.pdf", start=5000, end=5200))
    assert (span["page"], len(span["text"])) == (5, 200)


@pytest.mark.parametrize(
    ("document", "start", "end", "said"),
    [
        (GUIDE, 9, 9, "no span"),
        (GUIDE, 0, 10_000_000, "no span"),
        ("handbook.pdf", 0, 60_000, "too many"),
        ("handbok.pdf", 0, 5, "Nearest: handbook.pdf"),
        (GUIDE, -1, 5, "greater than or equal to 0"),
    ],
)
def test_a_place_that_is_not_there_is_refused_in_words(
    agent: HttpAgent, document: str, start: int, end: int, said: str
) -> None:
    assert said in refused(agent.call("get_span", collection="samples", document=document, start=start, end=end))


def test_a_quote_is_verified_whatever_its_white_space(agent: HttpAgent) -> None:
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
def test_a_quote_with_one_other_number_is_none_and_the_number_is_named(agent: HttpAgent, document: str | None) -> None:
    quote = SENTENCE.replace("85", "90")
    result = agent.call("verify_quote", collection="samples", quote=quote, document=document)
    told = answered(result)
    assert not told["verbatim"]
    assert told["places"] == []
    assert " ".join(told["nearest"]["text"].split()) == SENTENCE
    assert told["differences"] == [{"kind": "other words", "quote": "90", "document": "85"}]
    assert text_of(result).startswith("Not verbatim")


def test_a_quote_is_looked_for_in_the_document_that_is_named_alone(agent: HttpAgent) -> None:
    told = answered(agent.call("verify_quote", collection="samples", quote=SENTENCE, document="handbook.pdf"))
    assert not told["verbatim"]
    assert told["nearest"]["source"] == "handbook.pdf"


def test_a_quote_without_a_word_of_the_documents_has_nothing_near(agent: HttpAgent) -> None:
    told = answered(agent.call("verify_quote", collection="samples", quote="Zyx qwv", document=GUIDE))
    assert (told["verbatim"], told["nearest"], told["shared"]) == (False, None, 0.0)
    assert "The quote is empty" in refused(agent.call("verify_quote", collection="samples", quote="  \n "))


def test_an_answer_is_explained_by_its_trace(agent: HttpAgent) -> None:
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


def test_profiles_are_compared_on_queries_with_labels(agent: HttpAgent) -> None:
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
    assert "reranking" in text_of(result)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"queries": []}, "at least 1"),
        ({"queries": ["a"] * 51}, "at most 50"),
        ({"queries": ["a"], "labels": {"b": [GUIDE]}}, "a query that is not asked"),
        ({"queries": ["a"], "labels": {"a": ["nope.txt"]}}, "no document 'nope.txt'"),
        ({"queries": ["a"], "profiles": ["nope"]}, "no profile 'nope'"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(agent: HttpAgent, arguments: dict[str, Any], said: str) -> None:
    assert said in refused(agent.call("optimize_search", **arguments))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"question": "a", "colection": ["samples"]}, "colection"),
        ("search", {"question": "a", "top_k": 0}, "top_k"),
        ("search", {"question": "a", "collections": ["nope"]}, "There is no collection 'nope'"),
        ("search", {"question": "a", "where": ["shoe_size>40"]}, "shoe_size"),
        ("search", {"question": "\u200b"}, "The question is empty"),
        ("answer", {"question": "a", "profile": "../../etc/passwd"}, "profile"),
        ("model_neighbours", {"entity": "Club", "collection": "samples"}, "holds no enterprise model"),
        ("model_neighbours", {"entity": "Club"}, "Name either a collection or a job"),
        ("job_status", {"id": "0" * 32}, "There is no job"),
        ("run_job", {"job": "../glossary", "kind": "glossary"}, "pattern"),
        ("ingest_path", {"collection": "samples", "path": "/etc"}, "serve.agents_may_ingest"),
        ("reindex", {"collection": "samples"}, "serve.agents_may_ingest"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    agent: HttpAgent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in refused(agent.call(tool, **arguments))


def test_a_document_is_a_resource_whole_or_in_part(agent: HttpAgent) -> None:
    async def read(client: Client) -> list[str]:
        identity = (await client.call_tool("search", {"question": QUESTION, "top_k": 1})).structured_content
        assert identity is not None
        address = f"elt-llm://samples/{identity['passages'][0]['document']}"
        contents = [await client.read_resource(address), await client.read_resource(f"{address}?span=697:721")]
        return [getattr(one.contents[0], "text", "") for one in contents]

    whole, part = agent.with_client(read)
    assert "\nA ground needs 85 points\n" in part
    assert "BRACKENSHIRE FOOTBALL ASSOCIATION" in whole
    assert len(part) < len(whole)

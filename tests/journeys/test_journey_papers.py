"""Research papers split into small chunks to match and larger ones to read, for an agent over MCP."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from corpora.papers import Paper, write_papers
from served.mcp_clients import HttpAgent, ProcessAgent, answered
from served.project import Asker, Project

pytestmark = [pytest.mark.network, pytest.mark.halved]
TWO_STAGES = {"strategy": "parent_child", "chunk_size": 32, "chunk_overlap": 0, "parent_size": 200}


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Project:
    return new_project(tmp_path_factory.mktemp("papers"), {"chunking": TWO_STAGES, "llm": {"provider": "extractive"}})


@pytest.fixture(scope="module")
def papers(project: Project) -> list[Paper]:
    written = write_papers(project.folder / "papers")
    project.run("ingest", project.folder / "papers", "-c", "papers", "--json")
    return written


@pytest.fixture(scope="module")
def asker(project: Project, papers: list[Paper]) -> Iterator[Asker]:
    with project.served() as asker:
        yield asker


@pytest.fixture(scope="module")
def agent(asker: Asker) -> HttpAgent:
    return HttpAgent(asker.server.address)


def about(paper: Paper) -> str:
    return f"By how many percent did the loss fall with {paper.subject}?"


def test_small_chunks_are_matched_and_their_parent_sections_are_read(asker: Asker, papers: list[Paper]) -> None:
    for paper in papers:
        best = asker.search(about(paper))[0]
        assert best["source"] == paper.name
        matched = [
            best["text"][begin - best["span"][0] : end - best["span"][0]]
            for begin, end in (match["span"] for match in best["metadata"]["matches"])
        ]
        assert any(paper.finding in text for text in matched)
        assert max(map(len, matched)) < 250 < len(best["text"])
        assert f"{paper.samples} samples" in best["text"], "the methods are read with the results"


def test_an_agent_can_search_read_the_surrounding_text_and_verify_its_quote(
    agent: HttpAgent, papers: list[Paper]
) -> None:
    for paper in papers[:3]:
        told = answered(agent.call("ask", question=about(paper), collections=["papers"]))
        citation = told["citations"][0]
        assert citation["excerpt"] == paper.finding
        begin, end = citation["span"]
        place = {"collection": "papers", "document": citation["source_id"]}
        assert answered(agent.call("get_span", **place, start=begin, end=end))["text"] == paper.finding
        wider = answered(agent.call("get_span", **place, start=0, end=end))
        assert f"{paper.months} months" in wider["text"]
        assert answered(agent.call("verify_quote", **place, quote=paper.finding))["verbatim"]
        wrong = answered(agent.call("verify_quote", **place, quote=paper.finding.replace("fell", "rose")))
        assert not wrong["verbatim"]
        assert [(it["quote"], it["document"]) for it in wrong["differences"]] == [("rose", "fell")]


def test_an_agent_that_starts_the_mcp_command_gets_the_same_results_as_over_http(
    project: Project, agent: HttpAgent, papers: list[Paper]
) -> None:
    question = about(papers[-1])
    asked = ProcessAgent(project.folder).with_client(lambda it: it.call_tool("search", {"question": question}))
    local = answered(asked)
    served = answered(agent.call("search", question=question))
    assert [it["start"] for it in local["chunks"]] == [it["start"] for it in served["chunks"]]
    assert local["chunks"][0]["source"] == papers[-1].name


def test_an_agent_can_compare_search_settings_on_labelled_queries(agent: HttpAgent, papers: list[Paper]) -> None:
    labels = {about(paper): [paper.name] for paper in papers}
    told = answered(agent.call("optimize_search", queries=list(labels), labels=labels, collections=["papers"]))
    [figures] = [it for it in told["profiles"] if it["profile"] == "default"]
    assert figures["figures"]["mrr@10"] == 1.0


@contextmanager
def served_abstracts(
    new_project: Callable[..., Project], folder: Path, evaluation: Path, queries: int, others: int
) -> Iterator[tuple[Asker, dict[str, set[str]]]]:
    """Abstracts of real papers, with some queries and the relevant abstracts of each."""
    with (evaluation / "qrels.tsv").open(encoding="utf-8") as file:
        labels = list(csv.DictReader(file, delimiter="\t"))
    texts = {it["_id"]: it["text"] for it in _lines(evaluation / "queries.jsonl")}
    wanted: dict[str, set[str]] = {}
    for label in labels:
        if label["query-id"] in wanted or len(wanted) < queries:
            wanted.setdefault(label["query-id"], set()).add(label["corpus-id"])
    needed = set().union(*wanted.values())
    corpus = list(_lines(evaluation / "corpus.jsonl"))
    chosen = [it for it in corpus if it["_id"] in needed]
    chosen += islice((it for it in corpus if it["_id"] not in needed), others)
    project = new_project(folder, {"chunking": TWO_STAGES, "llm": {"provider": "extractive"}})
    project.write({f"abstracts/{it['_id']}.md": f"# {it['title']}\n\n{it['text']}\n" for it in chosen})
    project.run("ingest", folder / "abstracts", "-c", "papers", "--json")
    with project.served() as asker:
        yield asker, {texts[query]: {f"{name}.md" for name in names} for query, names in wanted.items()}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def test_an_agent_finds_the_abstracts_that_support_real_claims(
    new_project: Callable[..., Project], datasets: Path, tmp_path: Path
) -> None:
    with served_abstracts(new_project, tmp_path, datasets / "eval" / "scifact", queries=25, others=100) as (
        asker,
        wanted,
    ):
        agent, found = HttpAgent(asker.server.address), 0
        for claim, names in wanted.items():
            passages = answered(agent.call("search", question=claim))["chunks"]
            found += bool(names & {it["source"] for it in passages})
        assert found >= 21, f"{found} of {len(wanted)}"

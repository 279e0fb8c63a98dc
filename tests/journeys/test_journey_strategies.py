"""Every retrieval and answer strategy over HTTP, all with citations of the same form."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_servers.backends import PromptedBackend
from model_servers.http_server import running_model_server
from served.project import Asker, Project
from served.scripted_answers import INVENTED, LONG_TEXT, QUESTION, TRUE

pytestmark = pytest.mark.network
RETRIEVING = {
    "dense": {"dense_rank"},
    "sparse": {"keyword_rank"},
    "hybrid": {"dense_rank", "keyword_rank"},
    "multi_query": {"dense_rank", "keyword_rank"},
    "hyde": {"dense_rank", "keyword_rank"},
    "multi_hop": {"dense_rank", "keyword_rank"},
    "auto": {"dense_rank", "keyword_rank"},
}
STEPS = f"1. The question is about loans.\n2. A source tells how long they last.\nAnswer: {TRUE}"
WRITING = {
    "simple": [TRUE],
    "cot": [STEPS],
    "tot": [STEPS, STEPS, STEPS, "1: 9\n2: 5\n3: 2"],
    "reflect": [INVENTED, TRUE],
}
"""The replies of the model in turn, repeated for every question."""
LOAN = "Books may be borrowed for four weeks."
CITATION = {
    *("reference", "collection", "source_id", "source_title", "source", "document_hash"),
    *("excerpt", "span", "page", "section", "relevance_score"),
}


@pytest.fixture(scope="module")
def model() -> PromptedBackend:
    return PromptedBackend()


@pytest.fixture(scope="module")
def asker(
    new_project: Callable[..., Project], model: PromptedBackend, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asker]:
    with running_model_server(model) as http:
        server = {"base_url": http.address, "context_window": 4096, "num_predict": 200}
        settings = {"llm": {"provider": "ollama", "model": model.name, "temperature": 0.0}, "ollama": server}
        project = new_project(tmp_path_factory.mktemp("strategies"), {**settings, "answer": {"further_steps": 0}})
        profiles = {f"config/profiles/{name}.yaml": f"answer: {{strategy: {name}}}\n" for name in WRITING}
        project.write({**profiles, "papers/rules.md": LONG_TEXT})
        project.run("ingest", project.folder / "papers", "-c", "library", "--json")
        with project.served() as asker:
            yield asker


def by_number(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the citations of an answer, grouped by their number."""
    found: dict[str, list[dict[str, Any]]] = {}
    for citation in result["citations"]:
        found.setdefault(citation["reference"], []).append(citation)
    return found


@pytest.mark.parametrize("strategy", RETRIEVING)
def test_each_retrieval_strategy_finds_the_rule_with_its_own_retrievers(
    strategy: str, asker: Asker, model: PromptedBackend
) -> None:
    model.say(LOAN)
    found = asker.search("For how long may books be borrowed, and how often is a loan renewed?", strategy=strategy)
    assert found
    legs = {leg for chunk in found for leg in ("dense_rank", "keyword_rank") if chunk[leg] is not None}
    assert legs == RETRIEVING[strategy]
    if strategy != "dense":  # the fake embedding of the tests does not represent meaning
        assert any("borrowed for four weeks" in chunk["text"] for chunk in found[:3])


@pytest.mark.parametrize("strategy", WRITING)
def test_each_answer_strategy_gives_citations_of_the_same_form(
    strategy: str, asker: Asker, model: PromptedBackend
) -> None:
    model.say(*WRITING[strategy])
    with asker.server.client.stream(
        "POST",
        "/v1/query",
        json={"question": QUESTION, "profile": strategy},
        headers={"accept": "text/event-stream"},
    ) as told:
        assert "event: piece" in told.read().decode()
    result = asker.ask(QUESTION, profile=strategy)  # the answer comes from the cache and is the same
    assert result["metadata"]["cached"]
    numbers = re.findall(r"\[\d{1,3}\]", result["answer"])
    cited = by_number(result)
    assert set(numbers) == set(cited)
    assert result["answer"] == f"{LOAN} {numbers[0]}", "the number stands after the sentence, and is the source's"
    [citation] = cited[numbers[0]]
    assert citation.keys() == CITATION
    assert (citation["excerpt"], citation["source"], citation["section"]) == (LOAN, "rules.md", "Loans")
    assert bool(result["reasoning_steps"]) == (strategy != "simple")
    assert model.calls == len(WRITING[strategy])


def test_unsupported_sentences_are_flagged_for_every_client(asker: Asker, model: PromptedBackend) -> None:
    model.say(f"{TRUE} {INVENTED}")
    result = asker.ask("How long may a book be borrowed, and who founded the library?")
    verdicts = {sentence["text"]: sentence["verdict"] for sentence in result["checked"]}
    assert verdicts[INVENTED] == "unsupported"
    assert verdicts[LOAN] == "supported"


def test_an_openai_client_gets_the_same_citations_as_the_command(asker: Asker, model: PromptedBackend) -> None:
    model.say(TRUE)
    body = {"model": "library", "messages": [{"role": "user", "content": "For how long may I borrow books?"}]}
    message = asker.post("/v1/chat/completions", body)["choices"][0]["message"]
    assert LOAN in message["content"]
    assert "\n\nSources:\n[" in message["content"], "whoever shows text alone has the footnotes"
    assert message["annotations"]

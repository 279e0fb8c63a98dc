"""One collection of three tenants, with vectors in Qdrant's local mode, asked with every strategy.

Every chunk contains the name of its tenant, so a foreign chunk is noticed in any response and any model prompt.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.store.conditions import DocumentCondition
from model_servers.backends import PromptedBackend
from model_servers.http_server import ModelHttpServer, running_model_server
from optional import needs
from served.project import Project
from served.server import served

pytestmark = [pytest.mark.network, pytest.mark.halved]
needs("qdrant_client")

TENANTS = {"Acme": (41, "Dana Reed"), "Globex": (52, "Omar Fahy"), "Initech": (63, "Ines Kohl")}
COLLECTION = "shared"
KEYS = {
    **{name: {"tenant_id": name} for name in TENANTS},
    "Acme-it": {"tenant_id": "Acme", "knowledge_base_id": "it"},
}
JOB = f"""collection: {COLLECTION}
paths: [share]
path_fields: "{{tenant_id}}/{{knowledge_base_id}}/{{doc_type}}/**"
"""
TOPICS = (
    "parking",
    "bicycles",
    "keys",
    "badges",
    "post",
    "printers",
    "lockers",
    "heating",
    "windows",
    "waste",
    "lifts",
)
RETRIEVING = ("dense", "sparse", "hybrid", "multi_query", "hyde", "multi_hop", "auto")
QUESTION = "How many euros a day are repaid for meals on a journey, and who books it?"
INVENTED = "Emperor Otto repaid 77 golden coins for a meal in 1350."


def files_of(name: str) -> dict[str, str]:
    """Return fifteen documents of a tenant in two knowledge bases, as policies and guides."""
    euros, person = TENANTS[name]
    travel = f"## Meals\n\n{name} repays up to {euros} euros a day for meals on a journey.\n\n## Booking\n\n"
    travel += f"{person} of {name} books every journey, at least {euros // 4} days before it begins.\n"
    first_day = f"## First day\n\n{person} of {name} meets new staff at the gate and shows where meals are served.\n"
    passwords = f"## Length\n\nA password at {name} has at least {euros // 3} characters.\n"
    laptops = f"## Loss\n\nA laptop of {name} that is lost on a journey is reported to {person} within a day.\n"
    texts = {
        "hr/policy/travel": travel,
        "hr/guide/onboarding": first_day,
        "it/policy/passwords": passwords,
        "it/guide/laptops": laptops,
    }
    for number, topic in enumerate(TOPICS):
        text = f"Questions on {topic} at {name} are answered in room {number + euros} before meals, also on a journey."
        texts[f"{'hr' if number % 2 else 'it'}/{'policy' if number % 3 else 'guide'}/{topic}"] = text
    return {f"share/{name}/{path}.md": f"# {path} of {name}\n\n{text}" for path, text in texts.items()}


def writing(name: str, strategy: str) -> list[str]:
    """Return the replies that the fake model gives, in order, when an answer strategy calls it."""
    true = f"{name} repays up to {TENANTS[name][0]} euros a day for meals on a journey [1]."
    steps = f"1. The question is about meals.\n2. A source tells the amount.\nAnswer: {true}"
    replies = {"simple": [true], "cot": [steps], "tot": [steps, steps, steps, "1: 9\n2: 5\n3: 2"]}
    return replies.get(strategy, [INVENTED, true])


@dataclass(frozen=True)
class KnowledgeBase:
    """A server of the collection, with a client for each key, and the model that writes its answers."""

    clients: Mapping[str, httpx.Client]
    model: ModelHttpServer
    backend: PromptedBackend

    def ask(self, key: str, route: str, *replies: str, **body: Any) -> dict[str, Any]:
        """Return a response, after checking that no other tenant is named in it or in a prompt of the model."""
        self.backend.say(*replies)
        before = len(self.model.requests)
        answer = self.clients[key].post(f"/v1/{route}", json={"question": QUESTION, **body})
        assert answer.status_code == 200, answer.text
        seen = answer.text + json.dumps(self.model.requests[before:])
        tenant = key.split("-", maxsplit=1)[0]
        assert not [name for name in TENANTS if name != tenant and name in seen]
        return dict(answer.json())


@contextmanager
def knowledge_base(folder: Path, index: Mapping[str, Any]) -> Iterator[KnowledgeBase]:
    """Ingest and serve the collection with the vectors in a database."""
    backend = PromptedBackend()
    with ExitStack() as opened:
        model = opened.enter_context(running_model_server(backend))
        server = {"base_url": model.address, "context_window": 4096, "num_predict": 200}
        settings = {"llm": {"provider": "ollama", "model": backend.name, "temperature": 0.0}, "ollama": server}
        settings |= {"embedding": {"provider": "embedded"}, "answer": {"further_steps": 0}, "index": dict(index)}
        project = Project(folder, settings)
        for name in TENANTS:
            project.write(files_of(name))
        profiles = {f"config/profiles/{it}.yaml": f"answer: {{strategy: {it}}}\n" for it in ("cot", "tot", "reflect")}
        project.write({"config/ingest/shared.yaml": JOB, **profiles})
        project.run("ingest", "--job", "shared")
        running = opened.enter_context(served(folder, token="t" * 40, environment={}))
        keys = KeyTable(opened.enter_context(closing(open_state(running.data_dir))))
        clients = {}
        for name, fields in KEYS.items():
            conditions = tuple(DocumentCondition(field, (value,)) for field, value in fields.items())
            secret = keys.create(name, [COLLECTION], [], conditions=conditions)
            headers = {"authorization": f"Bearer {secret}"}
            client = httpx.Client(base_url=running.address, headers=headers, timeout=60)
            clients[name] = opened.enter_context(client)
        yield KnowledgeBase(clients, model, backend)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with knowledge_base(tmp_path_factory.mktemp("local"), {}) as opened:
        yield opened


@pytest.fixture(scope="module")
def in_qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with knowledge_base(tmp_path_factory.mktemp("qdrant"), {"backend": "qdrant", "url": "qdrant"}) as opened:
        yield opened


def chunks_of(found: Mapping[str, Any]) -> list[tuple[str, float, int | None, int | None]]:
    """Return text, score and ranks of each chunk, in order."""
    return [(it["text"], it["score"], it["dense_rank"], it["keyword_rank"]) for it in found["chunks"]]


@pytest.mark.parametrize("strategy", RETRIEVING)
def test_each_retrieval_strategy_finds_only_chunks_of_the_tenant_and_finds_the_same_with_the_local_index(
    strategy: str, in_qdrant: KnowledgeBase, local: KnowledgeBase
) -> None:
    for name in TENANTS:
        here, there = (it.ask(name, "search", "Meals cost money.", strategy=strategy) for it in (local, in_qdrant))
        assert chunks_of(there) == chunks_of(here)
        assert there["notes"] == here["notes"]
        assert {it["metadata"]["tenant_id"] for it in there["chunks"]} == {name}
        assert any(f"up to {TENANTS[name][0]} euros" in it["text"] for it in there["chunks"][:2])
        assert any(it["dense_rank"] for it in there["chunks"]) == (strategy != "sparse")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strategy", RETRIEVING)
def test_every_retrieval_strategy_can_be_limited_to_a_knowledge_base_and_a_document_type(
    strategy: str, in_qdrant: KnowledgeBase, local: KnowledgeBase
) -> None:
    body = {"strategy": strategy, "where": ["doc_type=guide"]}
    for key, bases in {"Acme": {"hr", "it"}, "Acme-it": {"it"}}.items():
        here, there = (it.ask(key, "search", "Meals cost money.", **body) for it in (local, in_qdrant))
        assert chunks_of(there) == chunks_of(here)
        assert {it["metadata"]["knowledge_base_id"] for it in there["chunks"]} == bases
        assert {it["metadata"]["doc_type"] for it in there["chunks"]} == {"guide"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("strategy", "name"),
    [("simple", name) for name in TENANTS] + [("cot", "Acme"), ("tot", "Globex"), ("reflect", "Initech")],
)
def test_each_answer_strategy_gives_the_same_answers_and_citations_as_with_the_local_index(
    strategy: str, name: str, in_qdrant: KnowledgeBase, local: KnowledgeBase
) -> None:
    profile, replies = "default" if strategy == "simple" else strategy, writing(name, strategy)
    here, there = (it.ask(name, "ask", *replies, profile=profile) for it in (local, in_qdrant))
    for part in ("answer", "outcome", "confidence", "checked", "reasoning_steps", "notes"):
        assert there[part] == here[part], part
    excerpts = [[it["excerpt"] for it in result["citations"]] for result in (here, there)]
    assert excerpts[0] == excerpts[1]
    assert f"up to {TENANTS[name][0]} euros a day" in there["answer"]
    assert f"up to {TENANTS[name][0]} euros a day" in excerpts[1][0]
    assert in_qdrant.backend.calls == len(replies)

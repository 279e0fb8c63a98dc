"""Searches with our filters in Qdrant's own engine in this process, and in a server if QDRANT_URL names one."""

import os
import uuid
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.lifecycle import collect_garbage, drop, open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.index.points import ALIVE, PointsFilter
from elt_llm_core.index.searchable import ValueFilter
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.store.store import open_store
from hypothesis import given, settings
from hypothesis import strategies as st
from optional import needs
from sampling import FULL
from stored.shelf import COLLECTION, put, some_documents, writing

needs("qdrant_client", "qdrant_edge")

import qdrant_edge as edge  # noqa: E402

SIZE, DIMENSION, LINEAGE = 4000, 32, uuid.uuid4().hex
TENANTS = {1: 4, 2: 80, 3: 2000}  # code of a tenant -> its nodes, of 4,000: .1 %, 2 % and 50 %


class Shard:
    """4,000 points with the fields that we store, in Qdrant's engine with an HNSW graph; the same vectors as arrays."""

    def __init__(self, folder: Path) -> None:
        chance = np.random.default_rng(11)
        vectors = chance.normal(size=(SIZE, DIMENSION)).astype(np.float32)
        self.vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        tenant = np.repeat([*TENANTS, 4], [*TENANTS.values(), SIZE - sum(TENANTS.values())])
        self.codes = np.stack([tenant, chance.integers(2**62, 2**62 + 12, SIZE)], axis=1)
        self.born, self.died = chance.integers(1, 4, SIZE), np.where(chance.random(SIZE) < 0.2, 4, ALIVE)
        settings = edge.EdgeVectorParams(size=DIMENSION, distance=edge.Distance.Cosine)
        self.engine = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=settings))
        for field in ("born", "died", "codes"):
            self.engine.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Integer))
        for start in range(0, SIZE, 500):
            self.engine.update(
                edge.UpdateOperation.upsert_points([self._point(it) for it in range(start, start + 500)])
            )
        self.engine.optimize()

    def _point(self, place: int) -> edge.Point:
        payload = {
            "lineage": LINEAGE,
            "node": place,
            "born": int(self.born[place]),
            "died": int(self.died[place]),
            "codes": self.codes[place].tolist(),
        }
        return edge.Point(str(uuid.UUID(int=place)), self.vectors[place].tolist(), payload)

    def found(
        self, view: int, vector: np.ndarray, count: int, filters: list[PointsFilter], *, exact: bool
    ) -> list[int]:
        """Search the engine with the filter that `elt_llm_core.index.qdrant` sends to a server."""
        alive = [
            edge.FieldCondition(key="lineage", match=edge.MatchValue(LINEAGE)),
            edge.FieldCondition(key="born", range=edge.RangeFloat(lt=view + 1)),
            edge.FieldCondition(key="died", range=edge.RangeFloat(gt=view)),
        ]
        codes = [(edge.FieldCondition(key="codes", match=edge.MatchAny(list(it.codes))), it.denies) for it in filters]
        request = edge.QueryRequest(
            limit=count,
            query=edge.Query.Nearest(vector.tolist()),
            filter=edge.Filter(
                must=[*alive, *(it for it, denies in codes if not denies)],
                must_not=[it for it, denies in codes if denies] or None,
            ),
            params=edge.SearchParams(exact=exact, hnsw_ef=128),
            with_payload=True,
        )
        return [int((hit.payload or {})["node"]) for hit in self.engine.query(request)]

    def best(self, view: int, vector: np.ndarray, count: int, filters: list[PointsFilter]) -> list[int]:
        """Return the expected result, computed from the arrays."""
        mask = (self.born <= view) & (self.died > view)
        for it in filters:
            mask &= np.isin(self.codes, it.codes).any(axis=1) != it.denies
        places = np.flatnonzero(mask)
        best = np.argsort(-(self.vectors[places] @ vector), kind="stable")[:count]
        return [int(place) for place in places[best]]


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Shard:
    return Shard(tmp_path_factory.mktemp("edge"))


def question(number: int) -> np.ndarray:
    vector = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


CODES = st.lists(st.sampled_from([*TENANTS, 4, *range(2**62, 2**62 + 12)]), min_size=1, max_size=6, unique=True)


@settings(max_examples=300 if FULL else 20, deadline=None)
@given(
    filters=st.lists(st.builds(PointsFilter, CODES, st.booleans()), min_size=1, max_size=3),
    view=st.integers(1, 4),
    number=st.integers(0, 99),
)
def test_filtered_search_results_of_the_qdrant_engine_are_exact_in_every_generation(
    shard: Shard, filters: list[PointsFilter], view: int, number: int
) -> None:
    vector = question(number)
    assert shard.found(view, vector, 20, filters, exact=True) == shard.best(view, vector, 20, filters)


def test_the_recall_of_the_qdrant_engine_within_one_generation_is_at_least_98_percent(shard: Shard) -> None:
    hits = 0
    for number in range(100):
        vector = question(1000 + number)
        found = shard.found(3, vector, 50, [], exact=False)
        hits += len(set(found) & set(shard.best(3, vector, 50, [])))
    assert hits / 5000 >= 0.98


@pytest.fixture
def server() -> IndexSettings:
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("needs a Qdrant server: QDRANT_URL=http://localhost:6333")
    return IndexSettings(backend="qdrant", url=url)


@pytest.mark.qdrant_server
@pytest.mark.network
def test_a_qdrant_server_supports_generations_and_filters_and_keeps_no_points_of_a_dropped_collection(
    tmp_path: Path, server: IndexSettings
) -> None:
    model = FakeEmbedding(32)
    vector = model.embed_question("vessel")
    with writing(tmp_path) as store:
        for count in (40, 38, 39):
            put(store, some_documents(count), model, index=server)
        collect_garbage(store, 2)
        assert verify_collection(store, COLLECTION).damage == ()
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        found = generation.nearest(vector, 500)
        assert [node for node, _ in found] == [node for node, _ in sorted(found, key=lambda hit: (-hit[1], hit[0]))]
        assert len(found) == generation.size == 156
        field = generation.field("source")
        assert field is not None
        allowed = generation.allow([ValueFilter(field.codes[:3])])
        assert len(generation.nearest(vector, 500, allowed)) == allowed.count == 12
        assert generation.notes == ()
    with writing(tmp_path) as store:
        drop(store, COLLECTION)
    assert list((tmp_path / "points").iterdir()) == []

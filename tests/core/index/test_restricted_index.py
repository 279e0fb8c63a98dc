"""A restricted index gives the same results as an index of only the documents that fulfil the conditions."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import CorruptIndex, UsageError
from elt_llm_core.index.restricted import restrict
from elt_llm_core.index.searchable import KeywordQuery, Searchable
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.store.conditions import DocumentCondition
from elt_llm_core.store.store import open_store
from served.tenants import FOREIGN, OWN, SAME, document
from stored.job_project import JobProject

JOB = "collection: shared\npaths: [share]\npath_fields: '{tenant_id}/**'\n"
CONDITIONS = (DocumentCondition("tenant_id", (OWN,)),)
MODEL = FakeEmbedding()


def _index(folder: Path, opened: ExitStack, *tenants: str) -> Searchable:
    project = JobProject(folder)
    project.job("shared", JOB)
    for tenant in tenants:
        files = {f"share/{tenant}/file{number}.md": document(tenant, number) for number in range(3)}
        project.write({**files, f"share/{tenant}/calendar.md": SAME})
    project.run("shared")
    store = opened.enter_context(open_store(project.loaded.data_dir))
    return opened.enter_context(open_generation(store, "shared"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Searchable, Searchable]]:
    """Yield the restricted index of a collection of two tenants, and the index of a collection of one of them."""
    folder = tmp_path_factory.mktemp("restricted")
    with ExitStack() as opened:
        whole = _index(folder / "both", opened, OWN, FOREIGN)
        yield restrict(whole, CONDITIONS), _index(folder / "one", opened, OWN)


def test_a_restricted_index_has_the_size_ids_and_fields_of_its_own_documents(
    both: tuple[Searchable, Searchable],
) -> None:
    restricted, alone = both
    assert restricted.size == alone.size == 4
    assert list(restricted.every_id()) == list(alone.every_id())
    assert [one.source for one in restricted.documents()] == [one.source for one in alone.documents()]
    assert list(restricted.field_names) == [name for name in alone.field_names if len(alone.field(name).values)]  # type: ignore[union-attr]
    for name in restricted.field_names:
        own, expected = restricted.field(name), alone.field(name)
        assert own is not None
        assert expected is not None
        if name != "modified_at":
            assert list(own.values) == list(expected.values), name


def test_a_restricted_index_knows_only_the_words_of_its_own_documents(both: tuple[Searchable, Searchable]) -> None:
    restricted, alone = both
    stems = ["zbetatravel", "zacmetravel", "calendar", "euro"]
    assert restricted.frequencies(stems) == alone.frequencies(stems)
    for prefix in ("z", "zbeta", "zacme", "c", ""):
        assert list(restricted.stems_beginning(prefix)) == list(alone.stems_beginning(prefix))
    assert restricted.having(["euro"], 10) == alone.having(["euro"], 10)
    assert restricted.having(["zbetatravel"], 10) == []


def test_a_search_in_a_restricted_index_finds_only_its_own_chunks(both: tuple[Searchable, Searchable]) -> None:
    restricted, alone = both
    vector = MODEL.embed_question("Who approves zbetatravel?")
    assert dict(restricted.nearest(vector, 10)) == pytest.approx(dict(alone.nearest(vector, 10)))
    words = KeywordQuery(("zbetatravel", "euro", "zacmetravel"))
    assert {node for node, _ in restricted.matching(words, 10)} == {node for node, _ in alone.matching(words, 10)}


def test_a_chunk_or_document_of_another_tenant_cannot_be_read_by_its_id(tmp_path: Path) -> None:
    with ExitStack() as opened:
        whole = _index(tmp_path, opened, OWN, FOREIGN)
        restricted = restrict(whole, CONDITIONS)
        foreign = next(node for node in whole.nodes(list(whole.every_id())) if FOREIGN in node.source)
        vector = MODEL.embed_question("x")
        for read in (restricted.nodes, restricted.vectors, restricted.stems):
            with pytest.raises(CorruptIndex):
                read([foreign.node_id])
        with pytest.raises(CorruptIndex):
            restricted.completed([foreign.node_id], vector, None)
        assert not restricted.texts([foreign.document_id])
        assert not restricted.outlines([foreign.document_id])
        assert not restricted.outdated([foreign.document_id])
        for reference in (foreign.document_id, foreign.source, foreign.title):
            with pytest.raises(UsageError) as refused:
                restricted.document(reference)
            assert FOREIGN not in str(refused.value.hint)


def test_a_condition_on_a_field_that_no_document_has_allows_no_document(both: tuple[Searchable, Searchable]) -> None:
    _, alone = both
    nothing = restrict(alone, (DocumentCondition("doc_type", ("policy",)),))
    assert (nothing.size, nothing.documents(), list(nothing.every_id())) == (0, [], [])
    assert nothing.nearest(MODEL.embed_question("x"), 5) == []


def test_indexes_with_different_conditions_have_different_identities_for_caches(
    both: tuple[Searchable, Searchable],
) -> None:
    _, alone = both
    other = restrict(alone, (DocumentCondition("tenant_id", (FOREIGN,)),))
    assert len({alone.identity, other.identity, restrict(alone, CONDITIONS).identity}) == 3
    odd = [("a; doc_type=b",), ("a", "b"), ('"a",b',), ('"a"', "b"), ('a"', 'b"'), ('a",b"',), ("a,b",), ('"a,b"',)]
    identities = {restrict(alone, (DocumentCondition("tenant_id", values),)).identity for values in odd}
    split = (DocumentCondition("tenant_id", ("a",)), DocumentCondition("doc_type", ("b",)))
    assert len({*identities, restrict(alone, split).identity}) == len(odd) + 1

"""What a row is known by, and whose words it may hold."""

from collections.abc import Iterator

import pytest
from elt_llm_consumer.context import JobContext, open_job
from elt_llm_consumer.rows import Row, found
from elt_llm_consumer.runner_key import RowKeys, Sources, settings_that_matter
from elt_llm_consumer.tasks import Material
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.rows import ANY_DOCUMENT
from fake_jobs import KIND, ToldLLM, job_file, load, project, some_terms
from hypothesis import given
from hypothesis import strategies as some

JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedSettings:
    documents = {"a/one.md": some_terms(2), "b/two.md": some_terms(2, first=2)}
    return project(tmp_path_factory.mktemp("keys"), documents)


@pytest.fixture(scope="module")
def context(loaded: LoadedSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobContext]:
    llm = ToldLLM(tmp_path_factory.mktemp("calls") / "calls.txt")
    with open_job(job_file(loaded), loaded, embedding=FakeEmbedding(), llm=llm) as opened:
        yield opened.context


@pytest.fixture(scope="module")
def keys(context: JobContext) -> RowKeys:
    return RowKeys(context, KIND, 1)


@given(first=some.dictionaries(some.text(max_size=3), JSON, max_size=3), second=some.lists(some.text(max_size=5)))
def test_keys_are_equal_for_equal_material_and_for_no_other(
    keys: RowKeys, first: dict[str, object], second: list[str]
) -> None:
    key = keys.of(Material(first, tuple(second)))
    assert key == keys.of(Material(dict(reversed(first.items())), tuple(second), gathered="beside"))
    assert key != keys.of(Material({**first, "more": 1}, tuple(second)))
    assert key != keys.of(Material(first, (*second, "more")))


def test_another_recipe_bears_on_rows_that_a_model_writes_alone(context: JobContext, keys: RowKeys) -> None:
    other = RowKeys(context, KIND, 2)
    assert keys.of(Material({}, ("Ask",))) != other.of(Material({}, ("Ask",)))
    assert keys.of(Material({})) == other.of(Material({}))


def test_settings_of_a_kind_bear_on_its_own_rows_alone(context: JobContext, loaded: LoadedSettings) -> None:
    assert set(settings_that_matter(context, "coverage")) == {"coverage", "llm", "embedding", "alias_columns"}
    colder = load(loaded.project).settings.llm.model_copy(update={"temperature": 1.5})
    assert settings_that_matter(context, KIND)["llm"]["temperature"] != colder.temperature


def test_a_row_holds_words_of_its_evidence_and_of_what_its_material_names(context: JobContext) -> None:
    one, two = context.corpus.documents
    row = Row(key="k", name="k", cells={"c": found("v", [one.evidence(0, 10, 1.0)])})
    sources, quoted = Sources(context), ("library", one.document_id, one.document_hash)
    assert sources.quoted(row, Material({}), by_model=False) == {quoted}
    named = Material({"passages": [{"document": two.document_id}]})
    assert sources.quoted(row, named, by_model=True) == {quoted, ("library", two.document_id, two.document_hash)}


def test_what_a_model_wrote_from_nobody_knows_what_may_hold_words_of_any_document(context: JobContext) -> None:
    row = Row(key="k", name="k", cells={})
    assert Sources(context).quoted(row, Material({}), by_model=True) == {("library", ANY_DOCUMENT, "")}

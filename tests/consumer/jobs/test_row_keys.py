"""Row keys change with their inputs, and each row lists the documents that it may quote."""

from collections.abc import Iterator

import pytest
from elt_llm_consumer.evidence import Row, found_cell
from elt_llm_consumer.jobs.context import JobContext, open_job
from elt_llm_consumer.jobs.row_keys import RowKeys, SourceDocuments, relevant_settings
from elt_llm_consumer.jobs.tasks import RowMaterial
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.jobs import ANY_DOCUMENT
from hypothesis import given
from hypothesis import strategies as some
from row_jobs.fake_jobs import KIND, FaultyLLM, job_file, load, project, some_terms

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
    llm = FaultyLLM(tmp_path_factory.mktemp("calls") / "calls.txt")
    with open_job(job_file(loaded), loaded, embedding=FakeEmbedding(), llm=llm) as opened:
        yield opened


@pytest.fixture(scope="module")
def keys(context: JobContext) -> RowKeys:
    return RowKeys(context, KIND, 1)


@given(first=some.dictionaries(some.text(max_size=3), JSON, max_size=3), second=some.lists(some.text(max_size=5)))
def test_row_keys_are_equal_only_if_the_row_inputs_are_equal(
    keys: RowKeys, first: dict[str, object], second: list[str]
) -> None:
    key = keys.of(RowMaterial(first, tuple(second)))
    assert key == keys.of(RowMaterial(dict(reversed(first.items())), tuple(second), gathered="beside"))
    assert key != keys.of(RowMaterial({**first, "more": 1}, tuple(second)))
    assert key != keys.of(RowMaterial(first, (*second, "more")))


def test_a_changed_version_of_the_prompts_changes_only_the_keys_of_rows_that_a_language_model_writes(
    context: JobContext, keys: RowKeys
) -> None:
    other = RowKeys(context, KIND, 2)
    assert keys.of(RowMaterial({}, ("Ask",))) != other.of(RowMaterial({}, ("Ask",)))
    assert keys.of(RowMaterial({})) == other.of(RowMaterial({}))


def test_settings_of_one_job_kind_change_only_the_row_keys_of_this_kind(
    context: JobContext, loaded: LoadedSettings
) -> None:
    assert set(relevant_settings(context, "coverage")) == {"coverage", "llm", "embedding", "alias_columns"}
    colder = load(loaded.project).settings.llm.model_copy(update={"temperature": 1.5})
    assert relevant_settings(context, KIND)["llm"]["temperature"] != colder.temperature


def test_a_row_quotes_the_documents_of_its_evidence_and_the_documents_of_its_inputs(context: JobContext) -> None:
    one, two = context.corpus.documents
    row = Row(key="k", name="k", cells={"c": found_cell("v", [one.evidence(0, 10, 1.0)])})
    sources, quoted = SourceDocuments(context), ("library", one.document_id, one.document_hash)
    assert sources.quoted(row, RowMaterial({}), by_model=False) == {quoted}
    named = RowMaterial({"passages": [{"document": two.document_id}]})
    assert sources.quoted(row, named, by_model=True) == {quoted, ("library", two.document_id, two.document_hash)}


def test_a_row_written_by_a_language_model_without_document_ids_may_quote_any_document(context: JobContext) -> None:
    row = Row(key="k", name="k", cells={})
    assert SourceDocuments(context).quoted(row, RowMaterial({}), by_model=True) == {("library", ANY_DOCUMENT, "")}

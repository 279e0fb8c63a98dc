"""Settings are read from files and the environment, and every mistake is reported."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from elt_llm_core.settings.profiles import built_in_profiles, load_profile, profile_names
from elt_llm_core.settings.tree import Settings
from hypothesis import given
from hypothesis import strategies as st


def project_with(folder: Path, text: str) -> Path:
    (folder / "config").mkdir(parents=True, exist_ok=True)
    path = folder / "config" / "rag_config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def mistakes_of(folder: Path, text: str, environment: dict[str, str] | None = None) -> list[str]:
    project_with(folder, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(None, environment or {}, folder)
    return str(caught.value).splitlines()


def test_the_defaults_are_used_without_a_settings_file(tmp_path: Path) -> None:
    loaded = load_settings(None, {}, tmp_path)
    assert loaded == LoadedSettings(Settings(), None, tmp_path / ".elt_llm", tmp_path)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "query:\nllm:\n", "---\n", "\ufeff"])
def test_an_empty_settings_file_gives_the_default_settings(tmp_path: Path, text: str) -> None:
    project_with(tmp_path, text)
    assert load_settings(None, {}, tmp_path).settings == Settings()


def test_the_settings_file_of_the_nearest_parent_folder_is_used(tmp_path: Path) -> None:
    project_with(tmp_path, "query: {similarity_top_k: 3}")
    nearer = project_with(tmp_path / "a", "query: {similarity_top_k: 4}")
    below = tmp_path / "a" / "b" / "c"
    below.mkdir(parents=True)
    loaded = load_settings(None, {}, below)
    assert loaded.source == nearer
    assert loaded.settings.query.similarity_top_k == 4
    assert loaded.data_dir == tmp_path / "a" / ".elt_llm"


def test_a_named_file_takes_precedence_over_a_discovered_file(tmp_path: Path) -> None:
    project_with(tmp_path, "query: {similarity_top_k: 3}")
    (tmp_path / "other.yaml").write_text("query: {similarity_top_k: 5}")
    loaded = load_settings(Path("other.yaml"), {}, tmp_path)
    assert loaded.settings.query.similarity_top_k == 5
    assert loaded.project == tmp_path


def test_a_missing_settings_file_is_an_error_if_the_caller_named_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^nowhere\.yaml: the file cannot be read: No such file"):
        load_settings(Path("nowhere.yaml"), {}, tmp_path)


def test_environment_variables_override_values_of_every_type(tmp_path: Path) -> None:
    project_with(tmp_path, "query: {similarity_top_k: 3, use_mmr: true}")
    environment = {
        "ELT_LLM_QUERY__SIMILARITY_TOP_K": "7",
        "ELT_LLM_LLM__TEMPERATURE": "1",
        "ELT_LLM_LLM__ANSWER_LANGUAGE": "no",
        "ELT_LLM_LLM__MODEL": "3",
        "ELT_LLM_QUERY__FUSION": "relative_score",
        "ELT_LLM_INGEST__ROOTS": "[documents, /srv]",
        "ELT_LLM_OLLAMA__SEED": "null",
        "ELT_LLM_DATASETS": "/somewhere",
        "PATH": "/bin",
    }
    settings = load_settings(None, environment, tmp_path).settings
    assert (settings.query.similarity_top_k, settings.query.use_mmr) == (7, True)
    assert settings.llm.temperature == 1.0
    assert (settings.llm.answer_language, settings.llm.model) == ("no", "3")
    assert settings.query.fusion == "relative_score"
    assert settings.ingest.roots == (Path("documents"), Path("/srv"))
    assert settings.ollama.seed is None


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("", {}, "project/.elt_llm"),
        ("storage: {data_dir: data}", {}, "project/data"),
        ("storage: {data_dir: /srv/data}", {}, "/srv/data"),
        ("storage: {data_dir: data}", {"ELT_LLM_STORAGE__DATA_DIR": "near"}, "project/below/near"),
        ("storage: {data_dir: data}", {"ELT_LLM_DATA_DIR": "near"}, "project/below/near"),
        ("", {"ELT_LLM_DATA_DIR": "/srv/data"}, "/srv/data"),
        ("", {"ELT_LLM_DATA_DIR": ""}, "project/.elt_llm"),
    ],
)
def test_a_relative_data_directory_is_resolved_against_the_project_or_the_working_directory(
    tmp_path: Path, text: str, environment: dict[str, str], expected: str
) -> None:
    project_with(tmp_path / "project", text)
    below = tmp_path / "project" / "below"
    below.mkdir()
    assert load_settings(None, environment, below).data_dir == tmp_path / expected


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("", {}, None),
        ("storage: {models_dir: weights}", {}, "project/weights"),
        ("storage: {models_dir: /srv/models}", {}, "/srv/models"),
        ("storage: {models_dir: weights}", {"ELT_LLM_STORAGE__MODELS_DIR": "near"}, "project/below/near"),
    ],
)
def test_a_relative_model_directory_is_resolved_against_the_project_or_the_working_directory(
    tmp_path: Path, text: str, environment: dict[str, str], expected: str | None
) -> None:
    project_with(tmp_path / "project", text)
    below = tmp_path / "project" / "below"
    below.mkdir()
    found = load_settings(None, environment, below).settings.storage.models_dir
    assert found == (None if expected is None else tmp_path / expected)


_NOT_HOSTS = ("https://rag.example", "rag.example:443", "rag.example/ask", "*.rag.example", "")
_NOT_ORIGINS = ("wiki.example", "https://wiki.example/page", "https://*.example", "*", "null", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "query:\n  similarity_topk: 8\n",
            ":2: query.similarity_topk = 8: unknown key; did you mean query.similarity_top_k?",
        ),
        ("query: {top_k: 8}\n", ":1: query.top_k = 8: unknown key; did you mean query.similarity_top_k?"),
        ("similarity_top_k: 8\n", ":1: similarity_top_k = 8: unknown key; did you mean query.similarity_top_k?"),
        (
            "chroma:\n  x: 1\n",
            ":2: chroma.x = 1: unknown key; known are space, ef_construction, ef_search, max_neighbors",
        ),
        ("qeury: {}\n", ":1: qeury = {}: unknown key; did you mean query?"),
        ("query: {retriever_top_k: 0}\n", ":1: query.retriever_top_k = 0: must be a whole number from 1 to 10000"),
        ('query: {retriever_top_k: "9"}\n', ':1: query.retriever_top_k = "9": must be a whole number from 1 to 10000'),
        (
            "query: {retriever_top_k: true}\n",
            ":1: query.retriever_top_k = true: must be a whole number from 1 to 10000",
        ),
        ("query: {use_mmr: 1}\n", ":1: query.use_mmr = 1: must be true or false"),
        ("\nollama: {connect_timeout: 0}\n", ":2: ollama.connect_timeout = 0: must be a number above 0"),
        ("llm: {top_p: 1.5}\n", ":1: llm.top_p = 1.5: must be a number above 0, at most 1"),
        ("ollama: {num_predict: 0}\n", ":1: ollama.num_predict = 0: must be a whole number, 1 or more"),
        ("ollama: {seed: x}\n", ':1: ollama.seed = "x": must be a whole number or null'),
        (
            "query:\n  fusion: reciprocal_rank\n",
            ':2: query.fusion = "reciprocal_rank": must be one of reciprocal_rerank, relative_score; '
            "did you mean reciprocal_rerank?",
        ),
        ("chroma: {space: l2}\n", ':1: chroma.space = "l2": must be cosine'),
        ("ingest:\n  roots:\n    - a\n    - 7\n", ":4: ingest.roots.1 = 7: must be a list, each item a path"),
        (
            "ingest: {roots: [docs, '']}\n",
            ':1: ingest.roots = ["docs", ""]: a path is empty; write it, or leave the key out',
        ),
        ('storage: {data_dir: ""}\n', ':1: storage.data_dir = "": a path is empty; write it, or leave the key out'),
        (
            "chunking:\n  chunk_overlap: 200\n",
            ':1: chunking = {"chunk_overlap": 200}: chunk_overlap (200) must be less than chunk_size (200)',
        ),
        (
            "query: {collection_budget_min: 9, collection_budget_max: 3}\n",
            ':1: query = {"collection_budget_min": 9, "collection_budget_max": 3}: collection_budget_min must not be'
            " greater than collection_budget_max",
        ),
        *(
            (
                f"serve: {{{name}: ['{entry}']}}\n",
                f":1: serve.{name} = [\"{entry}\"]: '{entry}' is not {form}; wildcards are not supported",
            )
            for name, form, entries in (
                ("allowed_hosts", "a host name without scheme, port and path, such as rag.example", _NOT_HOSTS),
                ("cors_origins", "an origin without path, such as https://wiki.example", _NOT_ORIGINS),
            )
            for entry in entries
        ),
        ("serve: {groups: {hr: {read: all}}}\n", ':1: serve.groups.hr.read = "all": must be a list, each item text'),
        (
            "serve: {groups: {hr: {raed: [all]}}}\n",
            ':1: serve.groups.hr.raed = ["all"]: unknown key; did you mean serve.groups.hr.read?',
        ),
        ("ingest: {topics: {cards: red}}\n", ':1: ingest.topics.cards = "red": must be a list'),
        (
            "ingest: {ocr_languages: e}\n",
            r':1: ingest.ocr_languages = "e": must be text of the form ^[a-z_]{3,20}(\+[a-z_]{3,20}){0,9}$',
        ),
        ("query: 8\n", ":1: query = 8: must be keys and values"),
        ("llm:\n  model:\n    name: x\n", ':2: llm.model = {"name": "x"}: must be text or null'),
        (
            "8: 9\n",
            ":1: 8 = 9: unknown key; "
            "known are storage, ingest, chroma, index, ollama, openai_like, llama_cpp, embedding, llm, chunking, query,"
            " answer, network, serve",
        ),
        ("query:\n  use_mmr: true\n  use_mmr: true\n", ":3: the key 'use_mmr' is given twice, first in line 2"),
        ("- a\n- b\n", ":1: the file must contain keys and values, such as `query:`"),
        ("just text\n", ":1: the file must contain keys and values, such as `query:`"),
        ("query: [1,\n", ":2: the file is not valid YAML: expected the node content, but found '<stream end>'"),
        ("a: 1\n---\nb: 2\n", ":2: the file is not valid YAML: but found another document"),
        (
            "query: !!python/object:os.system {}\n",
            ":1: the file is not valid YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'",
        ),
        ("\nllm: \x07\n", r":2: the character '\x07' is not allowed in YAML"),
        ("query: &a\n  x: *a\n", ": the file is nested too deeply, or a value refers to itself"),
        ("llm: {top_p: .nan}\n", ":1: llm.top_p = NaN: must be a number above 0, at most 1"),
        ("llm: {model: !!int x}\n", ": a value cannot be read: invalid literal for int() with base 10: 'x'"),
        ("llm: {top_p: 1e999}\n", ':1: llm.top_p = "1e999": must be a number above 0, at most 1'),
        ("llm: {model: 2020-13-45}\n", ": a value cannot be read: month must be in 1..12"),
    ],
)
def test_a_mistake_in_the_settings_is_reported_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert mistakes_of(tmp_path, text) == [f"config/rag_config.yaml{expected}"]


def test_hosts_and_origins_in_the_forms_that_browsers_send_are_accepted(tmp_path: Path) -> None:
    hosts = ["rag.example", "rag_1", "192.168.1.5", "[::1]", "fe80::1"]
    origins = ["https://wiki.example", "http://localhost:3000/", "http://[::1]:8080", "app://obsidian.md"]
    project_with(tmp_path, f"serve:\n  allowed_hosts: {hosts}\n  cors_origins: {origins}\n")
    serve = load_settings(None, {}, tmp_path).settings.serve
    assert ([*serve.allowed_hosts], [*serve.cors_origins]) == (hosts, origins)


def test_a_data_directory_in_the_home_of_an_unknown_user_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="home folder is unknown"):
        load_settings(None, {"ELT_LLM_DATA_DIR": "~nobody-of-this-name/x"}, tmp_path)


@pytest.mark.parametrize(("wrong", "meant"), [("TOP_K", "SIMILARITY_TOP_K"), ("LEG_TOPK", "RETRIEVER_TOP_K")])
def test_the_suggestion_for_an_environment_variable_is_never_a_former_name(
    wrong: str, meant: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=f"did you mean ELT_LLM_QUERY__{meant}"):
        load_settings(None, {f"ELT_LLM_QUERY__{wrong}": "3"}, tmp_path)


def test_one_error_lists_the_mistakes_in_the_settings_file_and_in_environment_variables(tmp_path: Path) -> None:
    environment = {"ELT_LLM_QUERY__RETRIEVER_TOPK": "9", "ELT_LLM_QUERY__RETRIEVER_TOP_K": "none", "ELT_LLM_X": "1"}
    found = mistakes_of(tmp_path, "query:\n  use_mmr: 3\nlmm: {}\n", environment)
    assert sorted(found) == [
        "config/rag_config.yaml:2: query.use_mmr = 3: must be true or false",
        "config/rag_config.yaml:3: lmm = {}: unknown key; did you mean llm?",
        "environment variable ELT_LLM_QUERY__RETRIEVER_TOPK does not match any setting; "
        "did you mean ELT_LLM_QUERY__RETRIEVER_TOP_K?",
        'environment variable ELT_LLM_QUERY__RETRIEVER_TOP_K: query.retriever_top_k = "none": '
        "must be a whole number from 1 to 10000",
        "environment variable ELT_LLM_X does not match any setting; the form is ELT_LLM_<SECTION>__<KEY>",
    ]


def test_an_environment_variable_that_is_not_yaml_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^environment variable ELT_LLM_INGEST__ROOTS = '\[a': must be a list"):
        load_settings(None, {"ELT_LLM_INGEST__ROOTS": "[a"}, tmp_path)


def test_a_settings_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    project_with(tmp_path, "").write_bytes(b"query:\n  system_prompt: Gr\xfc\xdfe\n")
    with pytest.raises(SettingsError, match=r"config/rag_config\.yaml:2: the file is not UTF-8"):
        load_settings(None, {}, tmp_path)


def test_a_folder_in_place_of_the_settings_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a regular file"):
        load_settings(tmp_path, {}, tmp_path)


def test_built_in_profiles_are_loaded_without_a_file(tmp_path: Path) -> None:
    loaded = load_settings(None, {}, tmp_path)
    assert profile_names(loaded) == ["classic", "default", "fast", "thorough"]
    assert load_profile("default", loaded).apply_to(loaded.settings) == loaded.settings
    assert load_profile("fast", loaded).apply_to(loaded.settings).query.use_reranker is False
    assert load_profile("classic", loaded).apply_to(loaded.settings).query.rerank_weight == 1.0
    assert load_profile("thorough", loaded) is built_in_profiles()["thorough"]


def test_a_profile_file_replaces_the_built_in_profile_and_changes_only_its_own_keys(tmp_path: Path) -> None:
    project_with(tmp_path, "query: {retriever_top_k: 30}")
    (tmp_path / "config" / "profiles").mkdir()
    (tmp_path / "config" / "profiles" / "fast.yaml").write_text("collections: [a]\nquery: {use_mmr: true}\nllm:\n")
    loaded = load_settings(None, {}, tmp_path)
    profile = load_profile("fast", loaded)
    asked = profile.apply_to(loaded.settings)
    assert profile.collections == ("a",)
    assert (asked.query.use_mmr, asked.query.retriever_top_k, asked.query.use_reranker) == (True, 30, True)
    assert asked.llm == loaded.settings.llm


def test_a_mistake_in_a_profile_is_reported_with_its_line(tmp_path: Path) -> None:
    project_with(tmp_path, "")
    (tmp_path / "config" / "profiles").mkdir()
    (tmp_path / "config" / "profiles" / "mine.yaml").write_text("query:\n  fusion: rrf\n")
    with pytest.raises(SettingsError, match=r'^config/profiles/mine\.yaml:2: query\.fusion = "rrf": must be one of'):
        load_profile("mine", load_settings(None, {}, tmp_path))


def test_a_profile_whose_values_contradict_those_of_the_settings_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "config" / "profiles").mkdir(parents=True)
    (tmp_path / "config" / "rag_config.yaml").write_text("query: {collection_budget_min: 5}\n")
    (tmp_path / "config" / "profiles" / "tight.yaml").write_text("query:\n  collection_budget_max: 4\n")
    with pytest.raises(
        SettingsError, match=r"^config/profiles/tight\.yaml:1, together with the settings: .*: collection"
    ):
        load_profile("tight", load_settings(None, {}, tmp_path))


@pytest.mark.parametrize(("name", "hint"), [("fsat", "Did you mean fast?"), ("zzz", "Known profiles: classic, ")])
def test_an_unknown_profile_is_reported_with_the_most_similar_name(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile(name, load_settings(None, {}, tmp_path))
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a.b"])
def test_a_profile_name_with_path_separators_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a profile's name"):
        load_profile(name, load_settings(None, {}, tmp_path))


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner), max_leaves=8
)
sections = st.sampled_from(sorted(Settings.model_fields)) | st.text(max_size=8)
keys = st.sampled_from(sorted({*Settings().query.__dict__, *Settings().llm.__dict__, "data_dir"})) | st.text(max_size=8)


@given(st.dictionaries(sections, anything | st.dictionaries(keys, anything, max_size=3), max_size=3))
def test_any_settings_file_is_loaded_or_refused_with_the_location_of_the_mistake(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("project")
    project_with(folder, yaml.safe_dump(value, allow_unicode=True))
    mistakes = ""
    try:
        load_settings(None, {}, folder)
    except SettingsError as error:
        mistakes = str(error)
    assert all(line.startswith("config/rag_config.yaml:") for line in mistakes.splitlines())


def test_former_names_of_settings_keys_are_accepted_in_files_and_environment_variables(tmp_path: Path) -> None:
    project_with(tmp_path, "query: {leg_top_k: 30, all_legs_top_k: 90}")
    query = load_settings(None, {}, tmp_path).settings.query
    assert (query.retriever_top_k, query.all_retrievers_top_k) == (30, 90)
    from_variable = load_settings(None, {"ELT_LLM_QUERY__LEG_TOP_K": "40"}, tmp_path).settings.query
    assert from_variable.retriever_top_k == 40

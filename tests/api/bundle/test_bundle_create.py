"""What a bundle contains: the models that the settings name, the configuration without secrets, locked packages."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from elt_llm_api.bundle.creation import (
    BundleParts,
    add_configuration,
    add_models,
    collect_wheels,
    needed_extras,
    working_folder,
    write_bundle,
)
from elt_llm_core.errors import ModelError, UsageError
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from elt_llm_core.settings.tree import Settings
from processes.command_line import PROJECT, CommandLine


def loaded_with(folder: Path, settings: str, **files: str) -> LoadedSettings:
    """Write `settings` and other files below `config` of the folder, and load the settings."""
    for name, text in {"rag_config.yaml": settings, **files}.items():
        path = folder / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_settings(None, {}, folder)


def write_model(folder: Path) -> Path:
    """Write files with the names of a cross-encoder's files and checksums, and return their folder."""
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_bytes(b"x")
    folder.with_name(f"{folder.name}.checksums.json").write_text("{}")
    return folder


def models_of(loaded: LoadedSettings) -> BundleParts:
    """Return the parts of a bundle that has only the models which the settings name."""
    parts = BundleParts()
    add_models(parts, loaded)
    return parts


def test_a_cross_encoder_is_packed_with_its_checksums(tmp_path: Path) -> None:
    write_model(tmp_path / ".elt_llm" / "models" / "ranker")
    settings = "query:\n  reranker_strategy: cross-encoder\n  reranker_model: owner/ranker\n"
    parts = models_of(loaded_with(tmp_path, settings))
    assert sorted(parts.files) == [
        "models/ranker.checksums.json",
        "models/ranker/model.onnx",
        "models/ranker/tokenizer.json",
    ]
    assert parts.environment == {}


def test_local_model_paths_are_replaced_by_paths_inside_the_bundle(tmp_path: Path) -> None:
    ranker = write_model(tmp_path / "elsewhere" / "ranker")
    (tmp_path / "writer.gguf").write_bytes(b"x")
    settings = (
        f"query:\n  reranker_strategy: cross-encoder\n  reranker_model: {ranker}\n"
        f"llm:\n  provider: llama_cpp\nllama_cpp:\n  model_path: {tmp_path}/writer.gguf\n"
    )
    loaded = loaded_with(tmp_path, settings)
    parts = models_of(loaded)
    assert {"models/ranker/model.onnx", "models/writer.gguf"} <= parts.files.keys()
    assert parts.environment == {
        "ELT_LLM_QUERY__RERANKER_MODEL": "ranker",
        "ELT_LLM_LLAMA_CPP__MODEL_PATH": "models/writer.gguf",
    }
    assert needed_extras(loaded.settings) == {"llama-cpp"}


def test_the_error_for_a_missing_model_names_the_model_and_the_command_that_pulls_it(tmp_path: Path) -> None:
    loaded = loaded_with(tmp_path, "query:\n  reranker_strategy: cross-encoder\n  reranker_model: ranker\n")
    with pytest.raises(ModelError, match="'ranker' is not on this machine") as raised:
        models_of(loaded)
    assert "elt-llm models pull ranker" in raised.value.hint


def test_a_profile_with_a_local_model_path_is_refused_but_one_with_a_missing_model_only_adds_a_note(
    tmp_path: Path,
) -> None:
    profile = "query:\n  reranker_strategy: cross-encoder\n  reranker_model: {}\n"
    missing = loaded_with(tmp_path, "", **{"profiles/slow.yaml": profile.format("ranker")})
    assert models_of(missing).notes[0].startswith("Profile slow: The cross-encoder 'ranker'")
    ranker = write_model(tmp_path / "elsewhere" / "ranker")
    named = loaded_with(tmp_path, "", **{"profiles/slow.yaml": profile.format(ranker)})
    with pytest.raises(UsageError, match=r"profile 'slow' sets query\.reranker_model to a path"):
        models_of(named)


def test_a_note_names_a_model_server_in_use_because_it_cannot_be_packed(tmp_path: Path) -> None:
    assert "(ollama)" in models_of(loaded_with(tmp_path, "llm:\n  provider: ollama\n")).notes[0]


@pytest.mark.parametrize(
    ("section", "key", "value", "extra"),
    [
        ("embedding", "model", "multilingual-e5-small", "multilingual"),
        ("llm", "provider", "llama_cpp", "llama-cpp"),
        ("llm", "provider", "openai_like", "openai-like"),
        ("storage", "backend", "postgres", "postgres"),
        ("index", "backend", "qdrant", "qdrant"),
        ("ingest", "compute", "ray", "ray"),
        ("serve", "otel_endpoint", "http://127.0.0.1:4318/v1/traces", "otel"),
    ],
)
def test_every_extra_that_a_setting_needs_is_packed(section: str, key: str, value: str, extra: str) -> None:
    assert needed_extras(Settings.model_validate({section: {key: value}})) == {extra}


@pytest.mark.parametrize("setting", ["storage:\n  backend: postgres\n", "index:\n  backend: qdrant\n"])
def test_collections_on_a_database_server_are_refused_because_a_bundle_cannot_fill_the_server(
    elt_llm: CommandLine, setting: str
) -> None:
    loaded_with(elt_llm.folder, setting)
    refused = elt_llm("bundle", "create", "b.pyz", "-c", "notes")
    assert refused.code == 2
    assert "which a bundle cannot fill" in refused.err


def test_the_configuration_is_packed_without_hidden_files_keys_or_passwords(tmp_path: Path) -> None:
    settings = "serve:\n  tls_key: config/key.pem\n  tls_certificate: config/chain.pem\n"
    settings += "storage:\n  dsn_file: config/dsn\n"
    files = {"key.pem": "secret", "dsn": "secret", "chain.pem": "public", ".env": "secret", "ingest/job.yaml": "a: 1"}
    parts = BundleParts()
    add_configuration(parts, loaded_with(tmp_path, settings, **files))
    assert sorted(parts.files) == ["config/chain.pem", "config/ingest/job.yaml", "config/rag_config.yaml"]


@pytest.mark.parametrize("has_file", [True, False])
def test_a_note_names_environment_variables_with_settings_because_they_are_not_packed(
    tmp_path: Path, has_file: bool
) -> None:
    if has_file:
        loaded_with(tmp_path, "")
    parts = BundleParts()
    add_configuration(parts, load_settings(None, {"ELT_LLM_LLM__PROVIDER": "extractive"}, tmp_path))
    assert "ELT_LLM_LLM__PROVIDER" in parts.notes[0]


def test_an_unknown_extra_is_refused_before_anything_is_downloaded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no extra 'uii'") as raised:
        collect_wheels({"uii"}, tmp_path, lambda _line: None)
    assert "ui" in raised.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wheels", "expected"),
    [
        (["a-1-py3-none-any.whl"], ""),
        (["a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "b-1-py3-none-any.whl"], "glibc 2.17"),
        (["a-1-cp311-cp311-manylinux2010_x86_64.whl", "b-1-cp311-abi3-manylinux_2_28_x86_64.whl"], "glibc 2.28"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_a_bundle_requires_the_newest_c_library_that_any_of_its_wheels_requires(
    tmp_path: Path, wheels: list[str], expected: str
) -> None:
    import zipfile

    for wheel in wheels:
        zipfile.ZipFile(tmp_path / wheel, "w").close()
    report = write_bundle(BundleParts(), sorted(tmp_path.glob("*.whl")), tmp_path / "b.pyz")
    assert report.machine["libc"] == expected


def test_a_failed_creation_of_a_bundle_leaves_no_file(tmp_path: Path) -> None:
    parts = BundleParts({"config/gone.yaml": tmp_path / "gone.yaml"})
    with pytest.raises(OSError, match="No such file"), working_folder(tmp_path / "b.pyz"):
        write_bundle(parts, [], tmp_path / "b.pyz")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_with_force(elt_llm: CommandLine) -> None:
    (elt_llm.folder / "b.pyz").write_text("mine")
    refused = elt_llm("bundle", "create", "b.pyz")
    assert (refused.code, (elt_llm.folder / "b.pyz").read_text()) == (2, "mine")
    assert "--force" in refused.err


def test_the_install_command_refuses_a_file_that_is_not_a_bundle_and_gives_a_hint(elt_llm: CommandLine) -> None:
    (elt_llm.folder / "b.pyz").write_text("mine")
    refused = elt_llm("bundle", "install", "b.pyz", "project", "--json")
    assert refused.code == 1
    assert "Copy it again" in refused.json["error"]["hint"]
    assert not (elt_llm.folder / "project").exists()


@pytest.mark.long
@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no network namespaces")
def test_a_created_bundle_can_be_installed_and_answers_questions_without_a_network_interface(
    tmp_path: Path, own_samples: CommandLine
) -> None:
    # `bundle create` downloads from the package index, so it runs outside the tests' network guard.
    home = pwd.getpwuid(os.getuid()).pw_dir
    environment = {"HOME": home, "PATH": os.environ["PATH"], "ELT_LLM_EMBEDDING__PROVIDER": "fake"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("UV_", "PIP_", "SSL_"))}
    bundle = tmp_path / "all.pyz"
    create = [sys.executable, "-m", "elt_llm_api.cli", "bundle", "create", str(bundle), "-c", "samples"]
    subprocess.run(create, cwd=own_samples.folder, env=environment, check=True, timeout=900)
    (tmp_path / "home").mkdir()
    python = getattr(sys, "_base_executable", sys.executable)
    script = f"set -e; test -z \"$(ls /sys/class/net | grep -v '^lo$' || :)\"; {python} {bundle} install project"
    script += "; project/elt-llm demo; ELT_LLM_EMBEDDING__PROVIDER=fake project/elt-llm search appeal -c samples"
    # A new mount of /sys shows the interfaces of the new namespace.
    isolated = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", f"mount -t sysfs none /sys; {script}"]
    clean = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    shown = subprocess.run(isolated, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False, timeout=900)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "within\nfourteen days" in shown.stdout
    assert "[1] handbook.pdf, page 30" in shown.stdout
    assert PROJECT.name not in shown.stdout

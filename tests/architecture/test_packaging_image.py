"""The Dockerfile and compose file, checked as text, because tests have no container engine."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

FROM = re.compile(r"^FROM (\S{1,200})(?: AS (\S{1,50}))?$", re.MULTILINE)
SECRET = re.compile(r"(?i)\b(token|password|secret|api_?key)\b[ =:]{1,3}['\"]?[A-Za-z0-9_-]{12,200}")
ELSEWHERE = re.compile(r"https?://(?!127\.0\.0\.1[:/]|ollama:|qdrant:)|--(default-|extra-)?index")


@pytest.fixture(scope="module")
def recipe(project: Path) -> str:
    text = (project / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return re.sub(r" *\\\n *", " ", lines)


@pytest.fixture(scope="module")
def final(recipe: str) -> list[tuple[str, str]]:
    """The instructions of the last build stage of the Dockerfile, as pairs of name and arguments."""
    lines = recipe[recipe.rindex("\nFROM ") :].strip().splitlines()
    split = [line.partition(" ") for line in lines if line]
    return [(name, rest) for name, _, rest in split]


@pytest.fixture(scope="module")
def composed(project: Path) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((project / "compose.yaml").read_text(encoding="utf-8"))
    return value


def test_every_base_image_is_an_earlier_build_stage_or_pinned_to_a_version(recipe: str) -> None:
    stages: set[str] = set()
    for base, name in FROM.findall(recipe):
        assert base in stages or re.fullmatch(r"python:3\.11\.\d{1,3}-slim-[a-z]{4,12}", base), base
        stages.add(name)


def test_the_image_build_downloads_only_fixed_versions_and_only_with_package_managers(recipe: str) -> None:
    assert not re.search(r"^ADD ", recipe, re.MULTILINE)
    assert not re.search(r"\b(curl|wget|git clone)\b|https?://(?!127\.0\.0\.1)|:latest\b", recipe)
    for installed in re.findall(r'"pip", "install", ([^\]]{1,500})\]', recipe):
        assert all("==" in it or it.startswith("--") for it in re.findall(r'"([^"]{1,100})"', installed))
    for synced in re.findall(r'\["uv", "sync"([^\]]{0,500})\]', recipe):
        assert "--locked" in synced
        assert "--no-dev" in synced


def test_apt_lists_are_removed_in_the_same_layer(recipe: str) -> None:
    layers = [line for line in recipe.splitlines() if "apt-get" in line]
    assert layers
    for layer in layers:
        assert "apt-get update &&" in layer
        assert "--no-install-recommends" in layer
        assert layer.endswith("rm -rf /var/lib/apt/lists/*")
        assert not re.search(r"apt-get (dist-)?upgrade|sudo", layer)


def test_the_image_runs_as_an_unprivileged_user_without_a_shell(final: list[tuple[str, str]]) -> None:
    users = [rest for name, rest in final if name == "USER"]
    assert users == ["10001:10001"]
    for name, rest in final:
        if name in {"CMD", "ENTRYPOINT", "VOLUME"}:
            assert isinstance(yaml.safe_load(rest), list), rest
    after = [name for name, _ in final[[name for name, _ in final].index("USER") :]]
    assert not {"RUN", "COPY"} & set(after), "what is made after USER would be changeable by it"


def test_the_health_check_uses_a_program_that_the_image_contains(final: list[tuple[str, str]]) -> None:
    [check] = [rest for name, rest in final if name == "HEALTHCHECK"]
    command = yaml.safe_load(check[check.index("CMD ") + 4 :])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "health", "exec")
    assert "/health" in command[2]
    assert "timeout=" in command[2]


def test_the_last_build_stage_contains_no_compiler_and_no_source_code(final: list[tuple[str, str]]) -> None:
    copied = [rest for name, rest in final if name == "COPY"]
    assert copied == [
        "--from=whole /opt/elt-llm /opt/elt-llm",
        "--chmod=755 docs/examples/container/start.sh /usr/local/bin/start",
    ]


def test_each_package_is_copied_into_the_image_and_listed_in_the_lock_file(recipe: str, project: Path) -> None:
    workspace = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["workspace"]
    for member in workspace["members"]:
        assert f"COPY {member}/pyproject.toml {member}/" in recipe
        assert f"COPY {member} {member}" in recipe
        assert f'source = {{ editable = "{member}" }}' in (project / "uv.lock").read_text(encoding="utf-8")


def test_every_file_that_the_image_copies_exists_and_is_not_excluded_from_the_build_context(
    recipe: str, project: Path
) -> None:
    let_through = {
        line[1:] for line in (project / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    for line in recipe.splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            *sources, _ = [word for word in line.split()[1:] if not word.startswith("--")]
            for source in sources:
                assert (project / source).exists(), source
                assert any(source == name or source.startswith(f"{name}/") for name in let_through), source


def test_the_image_has_the_extra_of_each_database_that_compose_starts(recipe: str, composed: dict[str, Any]) -> None:
    profiles = {name for service in composed["services"].values() for name in service.get("profiles", [])}
    for synced in re.findall(r'\["uv", "sync"([^\]]{0,500})\]', recipe):
        assert all(f'"--extra", "{name}"' in synced for name in profiles & {"postgres", "qdrant"})
    assert composed["x-environment"]["ELT_LLM_INDEX__URL"] == "${ELT_LLM_INDEX__URL:-http://qdrant:6333}"


def test_packaging_files_have_no_secrets_and_no_remote_addresses(project: Path) -> None:
    for name in ("Dockerfile", "compose.yaml", ".dockerignore", "docs/examples/container/start.sh"):
        text = (project / name).read_text(encoding="utf-8")
        assert not SECRET.search(text.replace("/run/secrets/token", "")), name
        assert not ELSEWHERE.search(text), name
    assert "/secrets/" in (project / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "*" in (project / ".dockerignore").read_text(encoding="utf-8").splitlines()


def test_compose_services_are_reachable_only_from_this_machine(composed: dict[str, Any]) -> None:
    published = [port for service in composed["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert not any(service.get("privileged") or "network_mode" in service for service in composed["services"].values())


def test_compose_images_are_pinned_to_a_version(composed: dict[str, Any]) -> None:
    for service in composed["services"].values():
        if image := service.get("image"):
            assert re.fullmatch(r"[a-z/-]{1,50}:v?\d{1,4}(\.\d{1,4}){1,2}(-pg\d{2})?", image), image


def test_the_server_and_worker_containers_are_hardened(composed: dict[str, Any]) -> None:
    for name in ("app", "worker"):
        service = composed["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        writable = [one for one in service["volumes"] if not one.endswith(":ro")]
        assert writable == ["data:/data"]


def test_compose_services_have_the_expected_profiles_volumes_and_secrets(composed: dict[str, Any]) -> None:
    services = composed["services"]
    assert {name: service.get("profiles", []) for name, service in services.items()} == {
        "app": [],
        "ollama": [],
        "pull": ["setup"],
        "worker": ["worker"],
        "database": ["postgres"],
        "qdrant": ["qdrant"],
        "dev": ["dev"],
    }
    named = {one.partition(":")[0] for it in services.values() for one in it.get("volumes", []) if one[0] not in "./"}
    assert named == set(composed["volumes"])
    assert {one for it in services.values() for one in it.get("secrets", [])} == set(composed["secrets"])
    assert all(set(it.get("depends_on", {})) <= set(services) for it in services.values())

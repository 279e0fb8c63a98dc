"""Words, calls and addresses that must not appear in this repository."""

import ast
import re
from pathlib import Path

import pytest
from elt_llm_core.settings.loader import section_model
from elt_llm_core.settings.tree import Profile, Settings

HERE = Path(__file__).parent
REGISTRIES = ("pypi" + ".org", "pythonhosted" + ".org", "registry.npm" + "js", "debian" + ".org", "crates" + ".io")
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".cfg", ".sh", ".html", ".csv", ".json", ""}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "print", "input"}
FORBIDDEN_METHODS = {("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load"), ("os", "system")}
FORBIDDEN_ARGUMENTS = {"trust_remote_code", "shell", "allow_pickle"}


def domain_words() -> re.Pattern[str]:
    lines = (HERE / "domain_words.txt").read_text(encoding="utf-8").splitlines()
    words = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(rf"(?<![A-Za-z])({'|'.join(map(re.escape, words))})(?![A-Za-z])", re.IGNORECASE)


def without_format_names(line: str) -> str:
    """Return the line without `leanix` where it names a file format, such as "leanix_model", not the product."""
    return re.sub(r"elt_llm_ingest\.leanix\b|\"leanix_(model|inventory)\"", "", line)


def calls_of(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_no_source_file_uses_words_that_are_specific_to_one_business_domain(sources: list[Path]) -> None:
    words = domain_words()
    found = {
        f"{path.name}:{number}": match.group()
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (match := words.search(without_format_names(line)))
        and not ("leanix" in path.parts and match.group().lower() == "leanix")
    }
    assert found == {}


def test_no_package_registry_is_named_outside_the_lock_file(written_files: list[Path], project: Path) -> None:
    texts = [path for path in written_files if path.suffix in TEXT and path.name != "uv.lock"]
    found = {
        str(path.relative_to(project)): name
        for path in texts
        for name in REGISTRIES
        if name in path.read_text(encoding="utf-8", errors="replace")
    }
    assert found == {}


def test_no_source_file_evaluates_data_as_code(sources: list[Path]) -> None:
    found = [
        f"{path.name}:{call.lineno}"
        for path in sources
        for call in calls_of(path)
        if (isinstance(call.func, ast.Name) and call.func.id in FORBIDDEN_CALLS)
        or (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and (call.func.value.id, call.func.attr) in FORBIDDEN_METHODS
        )
        or any(
            keyword.arg in FORBIDDEN_ARGUMENTS
            and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
            for keyword in call.keywords
        )
    ]
    assert found == []


def test_no_source_file_catches_every_exception(sources: list[Path]) -> None:
    broad = {"Exception", "BaseException"}
    found: list[str] = []
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                names = {item.id for item in ast.walk(node.type) if isinstance(item, ast.Name)} if node.type else broad
                raises_on = any(isinstance(item, ast.Raise) and item.exc is None for item in ast.walk(node))
                if names & broad and not raises_on:
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_no_test_patches_the_code_it_tests(test_files: list[Path]) -> None:
    patched = re.compile(
        r"monkey" + r"patch\.set(attr|item\((?!sys\.modules, spec\.name))|mock" + r"er\b|unittest\.mo" + r"ck"
    )
    assert [path.name for path in test_files if patched.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("model", [Settings, Profile])
def test_every_setting_has_a_description(model: type) -> None:
    for name, field in model.model_fields.items():  # type: ignore[attr-defined]
        assert field.description, name
        section = section_model(field.annotation)
        for key, inner in section.model_fields.items() if section else ():
            assert (inner.description or "").endswith("."), f"{name}.{key}"

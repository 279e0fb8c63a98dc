"""The disk usage of an installation with the server and its user interface."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import cache_from_source
from pathlib import Path

from optional import needs
from packaging.requirements import Requirement

MOST = 900_000_000  # bytes


def needed(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> None:
    """Add the distribution `name` and all its installed dependencies to `found`."""
    try:
        found[name] = one = distribution(name)
    except PackageNotFoundError:
        return
    for text in one.requires or ():
        requirement = Requirement(text)
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        inner = requirement.name.lower().replace("_", "-")
        if applies and (inner not in found or requirement.extras):
            needed(inner, frozenset(requirement.extras), found)


def size_on_disk(one: Distribution) -> int:
    """The disk usage in bytes of a distribution's files, including compiled bytecode."""
    files = [Path(str(one.locate_file(file))) for file in one.files or ()]
    compiled = [Path(cache_from_source(str(file))) for file in files if file.suffix == ".py"]
    return sum(path.stat().st_blocks * 512 for path in {*files, *compiled} if path.is_file())


def test_the_user_interface_and_its_dependencies_take_less_than_900_mb() -> None:
    needs("gradio", "mcp")
    found: dict[str, Distribution] = {}
    needed("elt-llm-api", frozenset({"ui", "mcp"}), found)
    assert {"gradio", "mcp", "chromadb", "llama-index-core"} <= set(found)
    sizes = {name: size_on_disk(one) for name, one in found.items()}
    assert sum(sizes.values()) < MOST, sorted(sizes.items(), key=lambda item: -item[1])[:10]

"""Malformed files: any number of them, and the same ones for the same seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from random import Random

from malformed.damage import OUTSIDE, damage_drawio, damage_html, damage_package, damage_pdf
from malformed.seeds import good_files, packages_by_suffix
from malformed.traps import traps

# Of every 25 files, 19 have one of the six main formats and six another format.
_KINDS = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".drawio")
_OTHERS = (".csv", ".md", ".txt", ".odt", ".epub", ".xml")
_NOTHING_INSIDE = (".csv", ".md", ".txt")


@dataclass(frozen=True)
class MalformedFile:
    """A file whose name describes its damage. `inside` is true if the container, such as a zip, is still valid."""

    name: str
    data: bytes
    inside: bool


def malformed_files(count: int, seed: int) -> Iterator[MalformedFile]:
    """Yield `count` different files: damaged files, and as every sixth file a trap until all traps are used."""
    random = Random(seed)  # noqa: S311 - repeatable, not secret
    traps_left = sorted(traps().items())
    random.shuffle(traps_left)
    packages = packages_by_suffix()
    wholes = good_files()
    kinds = cycle((*_KINDS, *_KINDS, ".pdf", *_KINDS, *_OTHERS))
    made: set[bytes] = set()
    while len(made) < count:
        if len(made) % 6 == 5 and traps_left:
            name, data = traps_left.pop()
            inside = False
        else:
            suffix = next(kinds)
            inside = suffix not in _NOTHING_INSIDE and random.random() < 0.75
            way, data = _inside(random, suffix, packages) if inside else _outside(random, suffix, wholes)
            name = f"{way}{suffix}"
        if data not in made:
            yield MalformedFile(f"{len(made):04}-{name}", data, inside)
            made.add(data)


def _inside(random: Random, suffix: str, packages: dict[str, dict[str, bytes]]) -> tuple[str, bytes]:
    if suffix in packages:
        return damage_package(random, packages[suffix])
    if suffix == ".pdf":
        return damage_pdf(random)
    return damage_html(random) if suffix == ".html" else damage_drawio(random)


def _outside(random: Random, suffix: str, wholes: dict[str, bytes]) -> tuple[str, bytes]:
    if random.random() < 0.1:
        other = random.choice([held for held in wholes if held != suffix])
        return f"really{other.replace('.', '-')}", wholes[other]
    way = random.choice(OUTSIDE)
    return way.__name__, way(random, wholes[suffix])

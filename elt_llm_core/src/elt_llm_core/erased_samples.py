"""A check by sample that erased words are gone: taken before, searched for in every file after."""

import json
import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.store.store import Store

_MOST_SAMPLES = 60
_VERSIONS_SAMPLED = 20
_LONGEST = 80
_SHORTEST_TEXT, _SHORTEST_STEM = 12, 10  # shorter ones stand in other files by chance


@dataclass(frozen=True)
class SearchResult:
    """How many samples were searched for in how many files and bytes, and which files still have one."""

    samples: int
    files: int
    bytes: int
    found_in: tuple[str, ...]


def take_samples(store: Store, versions: Sequence[int]) -> list[str]:
    """Paths, titles, headings, metadata, beginnings of texts and long stems of some of these versions."""
    step = max(1, len(versions) // _VERSIONS_SAMPLED)
    found: list[str] = []
    for version in versions[::step]:
        found += _of_version(store, version)
    return list(dict.fromkeys(found))[:_MOST_SAMPLES]


def search_files(store: Store, samples: Sequence[str]) -> SearchResult:
    """Look for the samples in every file of the data directory; what published documents say too does not count."""
    files = [path for path in sorted(store.data_dir.rglob("*")) if path.is_file() and not path.is_symlink()]
    found: dict[str, set[Path]] = {}
    for path in files:
        for sample in _samples_in(path, samples):
            found.setdefault(sample, set()).add(path)
    left = {path for sample, paths in found.items() if not is_published(store, sample) for path in paths}
    total = sum(path.stat().st_size for path in files if path.exists())
    names = tuple(sorted(path.relative_to(store.data_dir).as_posix() for path in left))
    return SearchResult(len(samples), len(files), total, names)


def _of_version(store: Store, version: int) -> Iterable[str]:
    [(path, title, sections, metadata)] = store.database.rows(
        "SELECT path, title, sections, metadata FROM document_versions WHERE id = ?", (version,)
    )
    values = json.loads(metadata).values()
    told = [path, title, *(section[2] for section in json.loads(sections)[:2])]
    told += [value for value in values if isinstance(value, str)]
    nodes = store.database.rows("SELECT text, stems FROM nodes WHERE version = ? ORDER BY ordinal LIMIT 2", (version,))
    told += [line[:_LONGEST] for text, _ in nodes for line in str(text).splitlines()[:1]]
    stems = sorted({stem for _, stems in nodes for stem in str(stems).split()}, key=lambda stem: (-len(stem), stem))
    return [it for it in told if len(it) >= _SHORTEST_TEXT] + [it for it in stems[:1] if len(it) >= _SHORTEST_STEM]


def _samples_in(path: Path, samples: Sequence[str]) -> list[str]:
    if not samples or not path.stat().st_size:
        return []
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return [sample for sample in samples if any(content.find(form) >= 0 for form in _forms(sample))]


def _forms(sample: str) -> set[bytes]:
    """How a text may stand in a file: as it is, and as JSON writes it."""
    return {sample.encode("utf-8", "surrogatepass"), json.dumps(sample)[1:-1].encode()}


def is_published(store: Store, sample: str) -> bool:
    """Whether a row that stays says the same."""
    row = store.database.row(
        "SELECT 1 FROM document_versions v JOIN texts t ON t.id = v.text WHERE instr(t.text, ?1) OR instr(v.path, ?1)"
        " OR instr(v.title, ?1) OR instr(v.sections, ?1) OR instr(v.metadata, ?1)"
        " UNION ALL SELECT 1 FROM nodes WHERE instr(stems, ?1) OR instr(context, ?1) OR instr(metadata, ?1)"
        " UNION ALL SELECT 1 FROM files WHERE instr(path, ?1) UNION ALL SELECT 1 FROM roots WHERE instr(path, ?1)"
        " UNION ALL SELECT 1 FROM sqlite_schema WHERE instr(sql, ?1) LIMIT 1",
        (sample,),
    )
    return row is not None

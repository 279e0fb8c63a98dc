"""An ingest of malformed and good files reports each malformed file and reads all good files.

A sample of the malformed files is tested. MALFORMED=1000 tests all of them.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import SUPPORTED_SUFFIXES
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool
from malformed.files import malformed_files
from malformed.seeds import good_files
from stored.folders import run_ingest

pytestmark = pytest.mark.halved


SEED = 20
LIMITS = ParseLimits(seconds=20, computing_share=0.2, memory_mb=768)
FEWEST_OF_A_KIND = 100
KINDS = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".drawio")
GOOD = "0000-good"


def written(folder: Path, count: int) -> list[Path]:
    """Write the malformed files to a folder, with good files of each format before the first and after every tenth."""
    good = sorted((suffix, data) for suffix, data in good_files().items() if suffix in SUPPORTED_SUFFIXES)
    files = [(f"{GOOD}{suffix}", data) for suffix, data in good]
    for number, file in enumerate(malformed_files(count, SEED)):
        files.append((file.name, file.data))
        if number % 10 == 9:
            suffix, data = good[number // 10 % len(good)]
            files.append((f"{number:04}-good{suffix}", data))
    for name, data in files:
        (folder / name).write_bytes(data)
    return [folder / name for name, _ in files]


def outcome(answer: ParsedDocument | UnreadableDocument) -> str:
    """Return why a file could not be read, as in a report, or the length of its text."""
    return str(answer) if isinstance(answer, UnreadableDocument) else f"{len(answer.text)} characters"


@pytest.mark.faults
def test_every_malformed_file_is_reported_and_every_good_file_is_read(tmp_path: Path) -> None:
    paths = written(tmp_path, int(os.environ.get("MALFORMED", "50")))
    outcomes, slowest, before = {}, 0.0, time.monotonic()
    with ParsePool(LIMITS, 2) as pool:
        requests = [ParseRequest(path) for path in paths]
        for path, answer in zip(paths, pool.read_all(requests), strict=True):
            outcomes[path.name] = outcome(answer)
            slowest = max(slowest, time.monotonic() - before)
            before = time.monotonic()
            if "good" in path.name:
                assert isinstance(answer, ParsedDocument), f"{path.name}: {answer}"
                assert "ship" in answer.text.lower(), path.name
    assert set(outcomes) == {path.name for path in paths}
    assert not [reason for reason in outcomes.values() if not reason.strip() or not reason.isprintable()]
    assert not [name for name, reason in outcomes.items() if "no document" in reason]
    assert slowest < 3 * LIMITS.seconds


@pytest.mark.faults
def test_the_malformed_test_files_have_every_format_and_half_of_them_are_damaged_internally() -> None:
    files = list(malformed_files(1000, SEED))
    kinds = Counter(Path(file.name).suffix for file in files)
    assert min(kinds[kind] for kind in KINDS) >= FEWEST_OF_A_KIND
    assert sum(file.inside for file in files) >= 500
    assert len({file.name for file in files}) == len({file.data for file in files}) == 1000
    assert list(malformed_files(50, SEED)) == files[:50]


@pytest.mark.faults
def test_an_ingest_stores_good_files_and_reports_malformed_files(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    paths = written(folder, int(os.environ.get("MALFORMED", "30")))
    with ParsePool(LIMITS, 2) as pool:
        report = run_ingest(tmp_path / "data", folder, parser=pool)
    results = {Path(file.path).name: file for file in report.files}
    assert set(results) == {path.name for path in paths}
    assert {file.status for file in results.values()} <= {"ok", "empty", "skipped", "failed", "duplicate"}
    assert all(file.reason for file in results.values() if file.status != "ok")
    assert {file.status for name, file in results.items() if "good" in name} <= {"ok", "duplicate"}
    assert [file.status for name, file in results.items() if name.startswith(GOOD)].count("ok") >= len(KINDS)


@pytest.mark.faults
def test_an_ingest_gives_the_same_collection_with_any_number_of_workers(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    written(folder, 12)
    hashes = set()
    for workers in (1, 3):
        with ParsePool(LIMITS, workers) as pool:
            hashes.add(run_ingest(tmp_path / str(workers), folder, parser=pool).collection_hash)
    assert len(hashes) == 1


def test_a_malformed_file_gives_the_same_result_with_any_number_of_workers(tmp_path: Path) -> None:
    paths = written(tmp_path, 24)

    def outcomes(workers: int, chosen: list[Path]) -> dict[Path, str]:
        with ParsePool(LIMITS, workers) as pool:
            answers = pool.read_all(ParseRequest(path) for path in chosen)
            return {path: outcome(answer) for path, answer in zip(chosen, answers, strict=True)}

    assert outcomes(1, paths) == outcomes(3, paths[::-1])

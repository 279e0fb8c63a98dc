"""Worker processes return the same documents in order, and no file can prevent other files from being parsed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from elt_llm_core.errors import IngestError, UnreadableDocument
from elt_llm_ingest.readers import create_reader
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool
from file_formats.samples import SAMPLES
from malformed.seeds import one_page, pdf, stream
from processes.sandbox_workers import ENDLESS_PDF, in_the_middle_of, reason_for, workers_of

pytestmark = pytest.mark.halved


LIMITS = ParseLimits(memory_mb=768, seconds=30)
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file and return its path."""

    def at(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return at


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    with ParsePool(LIMITS, 1) as opened:
        yield opened


@pytest.mark.sampled(5)
@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_a_worker_returns_the_same_document_as_the_reader(suffix: str, pool: ParsePool, write: Write) -> None:
    path = write(f"sample{suffix}", SAMPLES[suffix])
    reader = create_reader(path)
    assert reader is not None
    assert pool.read(ParseRequest(path)) == reader.read(path)


@pytest.mark.parametrize("workers", [1, 3])
def test_parse_results_are_returned_in_the_order_of_the_requests(workers: int, write: Write) -> None:
    paths = [write(f"{n}.txt", b"word " * (1 + 7919 * n % 20_000)) for n in range(25)]
    paths.insert(7, write("x.pdf", b"no PDF"))
    with ParsePool(LIMITS, workers) as pool:
        answers = list(pool.read_all(ParseRequest(path) for path in paths))
    assert isinstance(answers.pop(7), UnreadableDocument)
    texts = [answer.text for answer in answers if not isinstance(answer, UnreadableDocument)]
    assert [len(text) for text in texts] == [5 * (1 + 7919 * n % 20_000) for n in range(25)]


def test_the_parse_pool_takes_at_most_two_requests_per_worker_in_advance(write: Write) -> None:
    path, taken = write("a.txt", b"word"), []

    def requests() -> Iterator[ParseRequest]:
        for number in range(50):
            taken.append(number)
            yield ParseRequest(path)

    with ParsePool(LIMITS, 2) as pool:
        answers = pool.read_all(requests())
        next(answers)
        assert len(taken) <= 4
        assert len(list(answers)) == 49


def test_no_worker_process_is_started_before_the_first_file(pool: ParsePool, write: Write) -> None:
    assert list(pool.read_all(())) == []
    assert workers_of(pool) == set()
    assert reason_for(pool, write("a.txt", b"word")) == ""
    assert len(workers_of(pool)) == 1


def test_a_worker_process_is_replaced_after_it_has_read_its_maximum_number_of_files(write: Write) -> None:
    path, seen = write("a.txt", b"word"), []
    with ParsePool(ParseLimits(files_per_worker=3), 1) as pool:
        for _ in range(7):
            pool.read(ParseRequest(path))
            seen.append(frozenset(workers_of(pool)))
    assert seen[0] == seen[1] != seen[3] == seen[4]
    assert seen[2] == seen[5] == frozenset()


def test_a_worker_process_that_uses_too_much_memory_is_replaced(write: Write) -> None:
    with ParsePool(ParseLimits(worker_megabytes=1), 1) as pool:
        assert reason_for(pool, write("a.txt", b"word")) == ""
        assert workers_of(pool) == set()


def test_a_file_that_takes_too_long_is_reported_and_the_next_file_is_read(write: Write) -> None:
    endless, good = write("endless.pdf", ENDLESS_PDF), write("a.txt", b"word")
    with ParsePool(ParseLimits(seconds=1), 1) as pool:
        assert reason_for(pool, endless) == "took more than 1 s to read"
        assert workers_of(pool) == set()
        assert reason_for(pool, good) == ""


def test_a_file_that_takes_too_much_processor_time_is_reported(write: Write) -> None:
    with ParsePool(ParseLimits(seconds=60, computing_share=0.01), 1) as pool:
        assert reason_for(pool, write("endless.pdf", ENDLESS_PDF)) == "took more than 1 s of processor time to read"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("first", [True, False])
def test_a_file_that_takes_too_much_memory_is_reported(first: bool, write: Write) -> None:
    large, good = write("large.txt", b"word " * 40_000_000), write("a.txt", b"word")
    with ParsePool(ParseLimits(memory_mb=512), 1) as pool:
        if not first:
            assert reason_for(pool, good) == ""
        assert reason_for(pool, large) == "needed more than 512 MB of memory"
        assert reason_for(pool, good) == ""


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (signal.SIGSEGV, "the reader crashed (signal 11)"),
        (signal.SIGKILL, "the system ended the reader, most likely because memory ran out"),
    ],
)
def test_the_unexpected_end_of_a_worker_is_reported_with_its_cause(
    end: signal.Signals, reason: str, pool: ParsePool, write: Write
) -> None:
    reasons: list[str] = []
    with in_the_middle_of(pool, write("endless.pdf", ENDLESS_PDF), reasons):
        os.kill(workers_of(pool).pop(), end)
    assert reasons == [reason]
    assert reason_for(pool, write("a.txt", b"word")) == ""


def test_a_worker_process_that_dies_between_two_files_affects_neither_file(pool: ParsePool, write: Write) -> None:
    path = write("a.txt", b"word")
    assert reason_for(pool, path) == ""
    os.kill(workers_of(pool).pop(), signal.SIGKILL)
    assert reason_for(pool, path) == ""


@contextmanager
def killing_starts(pool: ParsePool, count: int) -> Iterator[list[int]]:
    """Kill the first `count` workers of a pool before they are ready, and yield the list of their ids."""
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while len(killed) < count and not ended.is_set():
            for process in workers_of(pool) - set(killed):
                killed.append(process)
                os.kill(process, signal.SIGKILL)
            time.sleep(0.001)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def test_a_worker_process_that_is_killed_while_it_starts_is_replaced(pool: ParsePool, write: Write) -> None:
    with killing_starts(pool, 2) as killed:
        assert reason_for(pool, write("a.txt", b"word")) == ""
    assert len(killed) == 2


def test_an_error_with_a_hint_is_raised_if_workers_never_start(pool: ParsePool, write: Write) -> None:
    with killing_starts(pool, 100) as killed, pytest.raises(IngestError, match="does not start") as refused:
        pool.read(ParseRequest(write("a.txt", b"word")))
    assert not isinstance(refused.value, UnreadableDocument)
    assert "elt-llm doctor" in refused.value.hint
    assert len(killed) == 3


def test_closing_the_parse_pool_ends_all_parsing_at_once(write: Write) -> None:
    reasons: list[str] = []
    pool = ParsePool(LIMITS, 1)
    with in_the_middle_of(pool, write("endless.pdf", ENDLESS_PDF), reasons):
        pool.close()
    assert len(reasons) == 1
    assert workers_of(pool) == set()
    with pytest.raises(IngestError):
        pool.read(ParseRequest(write("a.txt", b"word")))


def test_a_text_beyond_the_character_limit_is_reported_with_its_length(write: Write) -> None:
    with ParsePool(ParseLimits(characters=1000), 1) as pool:
        reason = "has 1,001 characters of text, more than the limit of 1,000"
        assert reason_for(pool, write("a.txt", b"x" * 1001)) == reason
        assert reason_for(pool, write("b.txt", b"x" * 1000)) == ""


def test_an_exception_raised_by_a_parsing_library_is_reported_as_the_reason(pool: ParsePool, write: Write) -> None:
    assert reason_for(pool, write("a.xyz", b"word")) == "no reader for .xyz"
    assert reason_for(pool, write("a.pdf", b"%PDF-1.4 and no more")) == "is not a PDF, or too damaged to open"


def test_a_reader_can_be_chosen_by_name(pool: ParsePool, write: Write) -> None:
    path = write("notes.dat", b"# Ships\n\nWords.")
    assert pool.read(ParseRequest(path, reader="markdown")).sections[0].title == "Ships"
    assert pool.read(ParseRequest(path, reader="plain")).sections == ()


def test_a_lone_surrogate_is_replaced_by_one_character(pool: ParsePool, write: Write) -> None:
    page = "<p>a&#xD800;b</p><p>ships</p>"
    read = pool.read(ParseRequest(write("a.html", page.encode())))
    assert read.text.encode().decode() == read.text
    assert [read.text[block.start : block.end] for block in read.blocks][-1] == "ships"


def test_a_pdf_text_longer_than_one_pdfium_buffer_is_complete(pool: ParsePool, write: Write) -> None:
    words = b"".join(b"(word%05d ) Tj " % number for number in range(9_000))
    text = pool.read(ParseRequest(write("a.pdf", pdf(one_page(stream(b"BT /F 1 Tf " + words + b"ET")))))).text
    assert text.split() == [f"word{number:05}" for number in range(9_000)]


def test_files_in_a_folder_with_an_undecodable_name_are_read(pool: ParsePool, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/not \xff utf-8"))
    folder.mkdir()
    (folder / "a.txt").write_text("word")
    assert pool.read(ParseRequest(folder / "a.txt", within=folder)).text == "word"

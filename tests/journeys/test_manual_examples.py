"""The complete examples of the manual run as they are printed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from optional import needs
from processes.command_line import run_here, run_process
from processes.demonstration import Demo

DOCS = Path(__file__).parents[2] / "docs"
_EXAMPLE = re.compile(r'^```\w+ title="(?P<name>[^"]+)"\n(?P<text>.*?)^```', re.MULTILINE | re.DOTALL)
TICKETS = (
    {"key": "HELP-1", "state": "open", "title": "Reset a password", "text": "The help desk resets a password."},
    {"key": "HELP-2", "state": "closed", "title": "New laptop", "text": "The store room hands out laptops."},
)


@pytest.fixture(scope="session")
def langchain() -> None:
    """Skip without LangChain, before the demo runs."""
    needs("langchain_core")


def write_examples(page: str, folder: Path) -> None:
    """Write each example of a manual page that has a file name into a file of this name."""
    for name, text in _EXAMPLE.findall((DOCS / page).read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run_example(path: Path, folder: Path) -> str:
    """Run a file in Python in a working directory, and return what it prints."""
    command, environment = [sys.executable, str(path)], {**os.environ, "PYTHONWARNINGS": "ignore"}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.sampled(3, "examples of the manual")
def test_the_manual_example_for_citations_prints_their_location_and_their_words(demo: Demo, tmp_path: Path) -> None:
    write_examples("cite-in-a-program.md", tmp_path)
    printed = run_example(tmp_path / "cite.py", demo.folder)
    assert re.search(r"^\[\d\] handbook\.pdf, page 30: “J2\.1 In Senior football an appeal", printed, re.MULTILINE)
    printed = run_example(tmp_path / "cite_many.py", demo.folder)
    assert printed.count("('handbook.pdf', ") >= 2


@pytest.mark.sampled(3, "examples of the manual")
def test_the_reader_example_of_the_manual_can_be_ingested_by_a_job(tmp_path: Path) -> None:
    write_examples("extend/reader.md", tmp_path)
    lines = "".join(json.dumps(ticket) + "\n" for ticket in TICKETS)
    (tmp_path / "tickets.jsonl").write_text(lines, encoding="utf-8")
    ingested = run_process("ingest", "--job", "tickets", "--json", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert ingested.code == 0, ingested
    answer = run_here("ask", "Who may reset a password?", "-c", "tickets", "--json", folder=tmp_path).json
    assert "The help desk resets a password." in answer["answer"]
    assert {chunk["source"] for chunk in answer["chunks"]} == {answer["citations"][0]["source"]}, "closed tickets"


@pytest.mark.sampled(3, "examples of the manual")
def test_the_file_reader_example_of_the_manual_reads_subtitles(tmp_path: Path) -> None:
    write_examples("extend/reader.md", tmp_path)
    spoken = (
        "1\n00:00:01,000 --> 00:00:03,000\nThe tide turns\nat noon.\n\n2\n00:00:04,000 --> 00:00:05,000\nCome back.\n"
    )
    (tmp_path / "talk.srt").write_text(spoken, encoding="utf-8")
    (tmp_path / "read.py").write_text(
        "from pathlib import Path\nfrom subtitles import SubtitlesReader\n"
        "read = SubtitlesReader().read(Path('talk.srt'))\n"
        "print(read.title, [read.text[block.start : block.end] for block in read.blocks])\n",
        encoding="utf-8",
    )
    assert run_example(tmp_path / "read.py", tmp_path) == "talk ['The tide turns at noon.', 'Come back.']\n"


@pytest.mark.sampled(3, "examples of the manual")
def test_the_chunker_example_of_the_manual_ends_a_chunk_at_each_article(tmp_path: Path) -> None:
    write_examples("extend/chunker.md", tmp_path)
    printed = run_example(tmp_path / "article_chunker.py", tmp_path)
    assert [chunk.strip()[:9] for chunk in printed.split("---")] == ["The parti", "Article 1", "Article 2"]


@pytest.mark.sampled(3, "examples of the manual")
def test_the_reranker_example_of_the_manual_ranks_the_chunks_of_an_answer(demo: Demo, tmp_path: Path) -> None:
    write_examples("extend/reranker.md", tmp_path)
    answer, scores = run_example(tmp_path / "newest_first.py", demo.folder).strip().splitlines()[-2:]
    assert "fee" in answer
    assert scores.startswith("[('handbook.pdf', ")


@pytest.mark.sampled(3, "examples of the manual")
def test_the_vector_index_example_of_the_manual_returns_the_nearest_ids_first(tmp_path: Path) -> None:
    write_examples("extend/vector-index.md", tmp_path)
    checks = "\nprint(HalfPrecisionStore().query(VectorStoreQuery(query_embedding=[1.0], similarity_top_k=3)).ids)"
    checks += "\nprint(store.query(VectorStoreQuery(query_embedding=[0.6, 0.0, 0.0, 0.8], similarity_top_k=9)).ids)"
    (tmp_path / "checks.py").write_text((tmp_path / "half_precision.py").read_text(encoding="utf-8") + checks)
    printed, empty, tied = run_example(tmp_path / "checks.py", tmp_path).splitlines()
    assert printed.startswith("['chunk-1', 'chunk-2'] [0.8")
    assert (empty, tied) == ("[]", "['chunk-0', 'chunk-1', 'chunk-2']")


@pytest.mark.sampled(3, "examples of the manual")
def test_the_llama_index_example_of_the_manual_answers_and_retrieves_with_citations(demo: Demo, tmp_path: Path) -> None:
    write_examples("extend/llama-index-and-langchain.md", tmp_path)
    answer, *places = run_example(tmp_path / "with_llama_index.py", demo.folder).strip().rsplit("\n", 3)
    assert answer.startswith("A ground needs 85 points for Grade A")
    assert " answered A ground needs 85 points for\nGrade A" in answer
    assert re.fullmatch(r"[01]\.\d{1,2} ground-grading-guide\.txt, 1\. HOW GRADING WORKS", places[0])
    assert len(places) == 3


@pytest.mark.sampled(3, "examples of the manual")
@pytest.mark.usefixtures("langchain")
def test_the_langchain_example_of_the_manual_retrieves_documents_with_scores(demo: Demo, tmp_path: Path) -> None:
    write_examples("extend/llama-index-and-langchain.md", tmp_path)
    places = run_example(tmp_path / "with_langchain.py", demo.folder).strip().splitlines()
    assert len(places) == 3
    assert all(re.match(r"[01]\.\d{1,2} ground-grading-guide\.txt, ", place) for place in places)


def test_every_page_on_extensions_has_a_complete_example() -> None:
    pages = {path.stem for path in (DOCS / "extend").glob("*.md") if _EXAMPLE.search(path.read_text(encoding="utf-8"))}
    assert pages == {"reader", "chunker", "reranker", "vector-index", "llama-index-and-langchain"}

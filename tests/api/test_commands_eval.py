"""`elt-llm eval` on a set made here, and on labelled questions."""

import json
from pathlib import Path

import pytest
from command_line import QUESTIONS, CommandLine

PROFILES = ["keyword", "dense", "fusion", "default", "classic"]
FIGURES = {"dataset", "profile", "queries", "ndcg@10", "recall@10", "recall@100", "mrr@10", "latency_ms"}
TEXTS = {
    "mast": "The mast of a sloop is twelve metres tall.",
    "keel": "A keel of oak keeps the hull upright.",
    "ferry": "The ferry crosses the estuary every hour.",
    "quay": "Cargo is landed at the northern quay.",
}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Four documents, each the only right one for a question that uses its words."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    corpus = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    queries = [{"_id": f"q-{name}", "text": " ".join(text.split()[1:4])} for name, text in TEXTS.items()]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *(f"q-{name}\t{name}\t1" for name in TEXTS)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_comparison_measures_every_way_of_asking(dataset: Path, elt_llm: CommandLine) -> None:
    reports = elt_llm.done("eval", dataset, "--json").json
    assert len(reports) >= 4
    for report in reports:
        assert set(report) >= FIGURES
        assert report["dataset"] == "tiny"
        assert report["queries"] == 4
        assert set(report["latency_ms"]) == {"p50", "p95"}
        assert 0 <= report["ndcg@10"] <= 1
    default = next(report for report in reports if report["profile"] == "default")
    assert default["ndcg@10"] == default["mrr@10"] == 1.0


def test_a_second_measurement_embeds_nothing_and_gives_the_same_figures(dataset: Path, elt_llm: CommandLine) -> None:
    first, second = (elt_llm.done("eval", dataset, "--profile", "default", "--json") for _ in range(2))
    assert [report["ndcg@10"] for report in first.json] == [report["ndcg@10"] for report in second.json]
    assert "Embedding" not in elt_llm.done("eval", dataset, "--profile", "default").err
    assert not (elt_llm.folder / ".elt_llm" / "store.sqlite3").exists()


def test_people_get_a_table(dataset: Path, elt_llm: CommandLine) -> None:
    shown = elt_llm.done("eval", dataset, "--profile", "fast", "--profile", "default").out.splitlines()
    assert shown[0] == "tiny: 4 questions"
    assert shown[1].split() == ["profile", "nDCG@10", "recall@10", "recall@100", "MRR@10", "p50", "ms", "p95", "ms"]
    assert [line.split()[0] for line in shown[2:4]] == ["fast", "default"]


@pytest.mark.parametrize(
    ("file", "line"), [("corpus.jsonl", "not json"), ("queries.jsonl", '{"_id": 1}'), ("qrels.tsv", "one\ttwo")]
)
def test_a_broken_line_is_named(file: str, line: str, dataset: Path, elt_llm: CommandLine) -> None:
    with (dataset / file).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    refused = elt_llm("eval", dataset)
    assert refused.code == 2
    assert file in refused.err
    assert "Traceback" not in refused.err


def test_labelled_questions_are_asked_and_their_figures_printed(samples: CommandLine, tmp_path: Path) -> None:
    some = QUESTIONS.read_text(encoding="utf-8").splitlines()[::12]
    (tmp_path / "some.jsonl").write_text("\n".join(some), encoding="utf-8")
    report = samples.done("eval", "--answers", tmp_path / "some.jsonl", "-c", "samples", "--json").json
    assert report["questions"] == len(some) == len(report["results"])
    assert 0 <= report["median_overlap"] <= 1
    shown = samples.done("eval", "--answers", tmp_path / "some.jsonl", "-c", "samples").out
    for words in ("a right page is cited", "wrongly refused", "refused: ", "question words in the gold"):
        assert words in shown

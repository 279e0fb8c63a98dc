"""`elt-llm eval` on a small labelled set, and on labelled questions."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from processes.command_line import QUESTIONS, CommandLine

PROFILES = ["keyword", "dense", "fusion", "default", "classic"]
MEASURES = {"ndcg@10", "recall@10", "recall@100", "precision@1", "precision@5", "mrr@10", "hit@10", "all@10"}
FIGURES = {"dataset", "profile", "queries", "latency_ms", *MEASURES}
TEXTS = {
    "mast": "The mast of a sloop is twelve metres tall.",
    "keel": "A keel of oak keeps the hull upright.",
    "ferry": "The ferry crosses the estuary every hour.",
    "quay": "Cargo is landed at the northern quay.",
}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A labelled set of four documents. Each is the only relevant one for a question made from its own words."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    corpus = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    queries = [{"_id": f"q-{name}", "text": " ".join(text.split()[1:4])} for name, text in TEXTS.items()]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *(f"q-{name}\t{name}\t1" for name in TEXTS)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_eval_command_measures_every_retriever_and_profile_by_default(dataset: Path, elt_llm: CommandLine) -> None:
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


def test_a_second_evaluation_embeds_nothing_and_returns_the_same_metrics(dataset: Path, elt_llm: CommandLine) -> None:
    first, second = (elt_llm.done("eval", dataset, "--profile", "default", "--json") for _ in range(2))
    assert [report["ndcg@10"] for report in first.json] == [report["ndcg@10"] for report in second.json]
    assert "Embedding" not in elt_llm.done("eval", dataset, "--profile", "default").err
    assert not (elt_llm.folder / ".elt_llm" / "store.sqlite3").exists()


def test_a_strategy_is_measured_with_the_current_settings(dataset: Path, elt_llm: CommandLine) -> None:
    reports = elt_llm.done("eval", dataset, "--strategy", "sparse", "--strategy", "multi_hop", "--json").json
    assert [report["profile"] for report in reports] == ["sparse", "multi_hop"]
    shown = elt_llm.done("eval", dataset, "--compare", "hybrid", "multi_hop").out
    assert "multi_hop minus hybrid, on the same" in shown


def test_the_eval_command_prints_a_table(dataset: Path, elt_llm: CommandLine) -> None:
    shown = elt_llm.done("eval", dataset, "--profile", "fast", "--profile", "default").out.splitlines()
    assert shown[0] == "tiny: 4 questions"
    heads = [
        "profile",
        "nDCG@10",
        "recall@10",
        "recall@100",
        "P@1",
        "P@5",
        "MRR@10",
        "hit@10",
        "all@10",
        "p50",
        "ms",
        "p95",
        "ms",
    ]
    assert shown[1].split() == heads
    assert [line.split()[0] for line in shown[2:4]] == ["fast", "default"]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("corpus.jsonl", "not json"),
        ("queries.jsonl", '{"_id": 1}'),
        ("queries.jsonl", '{"_id": "q", "text": " "}'),
        ("qrels.tsv", "one\ttwo"),
    ],
)
def test_an_invalid_line_of_a_question_set_is_reported(
    file: str, line: str, dataset: Path, elt_llm: CommandLine
) -> None:
    with (dataset / file).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    refused = elt_llm("eval", dataset)
    assert refused.code == 2
    assert file in refused.err
    assert "Traceback" not in refused.err


def test_the_answers_option_measures_labelled_questions_and_prints_the_results(
    samples: CommandLine, tmp_path: Path
) -> None:
    some = QUESTIONS.read_text(encoding="utf-8").splitlines()[::12]
    (tmp_path / "some.jsonl").write_text("\n".join(some), encoding="utf-8")
    report = samples.done("eval", "--answers", tmp_path / "some.jsonl", "-c", "samples", "--json").json
    assert report["questions"] == len(some) == len(report["results"])
    assert 0 <= report["median_overlap"] <= 1
    shown = samples.done("eval", "--answers", tmp_path / "some.jsonl", "-c", "samples").out
    for words in ("right page cited", "wrongly refused", "refused: ", "question words in the gold"):
        assert words in shown


def test_the_per_query_option_writes_one_json_line_per_question(dataset: Path, elt_llm: CommandLine) -> None:
    elt_llm.done("eval", dataset, "--profile", "default", "--profile", "fast", "--per-query", "each.jsonl")
    lines = [json.loads(line) for line in (elt_llm.folder / "each.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["profile"], line["id"]) for line in lines] == [
        (profile, f"q-{name}") for profile in ("default", "fast") for name in TEXTS
    ]
    assert all(set(line) >= MEASURES and line["ranks"].keys() == {line["id"][2:]} for line in lines)
    assert lines[0]["question"] == "mast of a"


def test_two_profiles_are_compared_on_the_same_questions(dataset: Path, elt_llm: CommandLine) -> None:
    found = elt_llm.done("eval", dataset, "--compare", "classic", "default", "--json").json
    assert [report["profile"] for report in found["reports"]] == ["classic", "default"]
    compared = found["comparison"]
    assert (compared["first"], compared["second"], compared["queries"]) == ("classic", "default", 4)
    assert compared["differences"].keys() == MEASURES
    ndcg = compared["differences"]["ndcg@10"]
    assert ndcg["difference"] == pytest.approx(
        found["reports"][1]["ndcg@10"] - found["reports"][0]["ndcg@10"], abs=0.0002
    )
    assert ndcg["interval"][0] <= ndcg["difference"] <= ndcg["interval"][1]
    assert 0 < ndcg["p_value"] <= 1
    shown = elt_llm.done("eval", dataset, "--compare", "classic", "default").out
    assert "default minus classic, on the same 4 questions:" in shown


def test_the_eval_command_fails_if_a_metric_is_below_its_threshold(dataset: Path, elt_llm: CommandLine) -> None:
    (dataset / "qrels.tsv").write_text("q-mast\tquay\t1\nq-keel\tferry\t1\n", encoding="utf-8")
    failed = elt_llm("eval", dataset, "--fail-under", "ndcg@10=0.99", "--fail-under", "hit@10=0")
    assert failed.code == 1
    assert failed.err.strip().splitlines()[-1].startswith("default: ndcg@10 is 0.")
    assert "hit@10 is" not in failed.err
    printed = elt_llm("eval", dataset, "--fail-under", "ndcg@10=0.99", "--json")
    assert printed.code == 1
    assert len(printed.json["failed"]) == 1


def test_the_eval_command_succeeds_if_every_metric_is_above_its_threshold(dataset: Path, elt_llm: CommandLine) -> None:
    passed = elt_llm.done("eval", dataset, "--profile", "default", "--fail-under", "ndcg@10=0.70", "--json").json
    assert (passed["failed"], passed["comparison"]) == ([], None)


class Page(HTMLParser):
    """Collects the elements of a page and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag != "meta":
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag


def test_the_evaluation_report_is_one_html_page_with_plots_and_no_external_resources(
    dataset: Path, elt_llm: CommandLine
) -> None:
    queries = dataset / "queries.jsonl"
    queries.write_text(queries.read_text(encoding="utf-8").replace("mast of", "<script>mast</script> of"))
    (dataset / "qrels.tsv").write_text("q-mast\tquay\t1\nq-keel\tferry\t1\n", encoding="utf-8")
    elt_llm("eval", dataset, "--compare", "fast", "default", "--fail-under", "ndcg@10=1", "--html", "report.html")
    text = (elt_llm.folder / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.opened == []
    assert page.addresses == []
    assert page.tags.count("svg") == 7
    assert "script" not in page.tags
    assert "&lt;script&gt;mast" in text
    assert "default minus fast" in text
    assert "below the threshold of 1" in text
    assert "prefers-color-scheme:dark" in text


def test_questions_are_generated_from_the_documents_of_a_collection(samples: CommandLine) -> None:
    arguments = ("eval", "--from-documents", "-c", "samples", "--questions", "30", "--profile", "default")
    first, second = (samples.done(*arguments, "--json").json[0] for _ in range(2))
    assert first["queries"] == 30
    assert {name: first[name] for name in MEASURES} == {name: second[name] for name in MEASURES}
    assert first["recall@100"] > 0.9
    shown = samples.done(*arguments).out.splitlines()[0]
    assert shown.startswith("samples: 30 questions (")
    assert "from a table row" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name a DIR"),
        (("--from-documents",), "Name a DIR"),
        (("DIR", "--from-documents", "-c", "samples"), "Name a DIR"),
        (("DIR", "-c", "samples"), "Name a DIR"),
        (("DIR", "--questions", "3"), "needs --from-documents"),
        (("DIR", "--compare", "fast", "fast"), "compared with itself"),
        (("DIR", "--compare", "fast", "faster"), "faster"),
        (("DIR", "--fail-under", "speed=1"), "no metric"),
        (("DIR", "--html", "no/such/folder.html"), "cannot be written"),
        (("DIR", "--html", "same", "--per-query", "same"), "the same file"),
        (("--from-documents", "-c", "absent"), "absent"),
        (("--from-documents", "-c", "samples", "--questions", "0"), "--questions"),
        (("--answers", "x.jsonl", "-c", "samples", "--html", "x.html"), "--answers cannot be combined with"),
    ],
)
def test_invalid_options_are_refused_before_any_question_is_asked(
    arguments: tuple[str, ...], message: str, dataset: Path, samples: CommandLine
) -> None:
    refused = samples("eval", *(str(dataset) if word == "DIR" else word for word in arguments))
    assert refused.code == 2
    assert message in refused.err
    assert "Traceback" not in refused.err

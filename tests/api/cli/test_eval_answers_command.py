"""`elt-llm eval` with --calibrate, --refusals and --gold-answers."""

import json
from pathlib import Path

import pytest
from processes.command_line import CommandLine

pytestmark = pytest.mark.halved


KEPT = "state.sqlite3"
TEXTS = {
    "mast": "The mast of the sloop Harrier is twelve metres tall. It was made of spruce in the year 1911.",
    "keel": "A keel of oak keeps the hull of the Harrier upright. Nobody has tarred it since the spring.",
    "ferry": "The ferry crosses the estuary every hour. Its captain lives at the northern quay.",
    "quay": "Cargo is landed at the northern quay. The crane there lifts nine tons.",
}
ASKED = {
    "mast": ("How tall is the mast of the sloop Harrier?", ["twelve metres"]),
    "keel": ("What keeps the hull of the Harrier upright?", ["keel of oak", "A keel"]),
    "ferry": ("How often does the ferry cross the estuary?", ["every hour"]),
    "quay": ("Where is cargo landed?", ["northern quay"]),
}
QUESTION = "How many days does a club have to lodge an appeal?"


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Four documents, a question with answers for each, and two unanswerable questions."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    lines(folder / "corpus.jsonl", [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()])
    queries = [{"_id": f"q-{it}", "text": text, "metadata": {"answers": gold}} for it, (text, gold) in ASKED.items()]
    lines(folder / "queries.jsonl", queries)  # type: ignore[arg-type]
    unanswerable = ["How tall is the mast of the ferry?", "Who tarred the crane in 1911?"]
    lines(folder / "queries_unanswerable.jsonl", [{"_id": f"u-{it}", "text": it} for it in unanswerable])
    judged = ["query-id\tcorpus-id\tscore", *(f"q-{name}\t{name}\t1" for name in TEXTS)]
    (folder / "qrels.tsv").write_text("\n".join(judged) + "\n", encoding="utf-8")
    return folder


def ask(elt_llm: CommandLine, *more: str) -> dict[str, object]:
    """Ask a question with the command. Return the metadata of the answer, with its notes as one text in `notes`."""
    result = elt_llm.done("ask", QUESTION, "-c", "samples", *more, "--json").json
    return {**result["metadata"], "notes": " ".join(result["notes"])}


def test_gold_answers_are_looked_up_in_the_first_and_in_the_first_three_sentences_of_an_answer(
    dataset: Path, elt_llm: CommandLine
) -> None:
    found = elt_llm.done("eval", dataset, "--gold-answers", "--json").json
    assert found["questions"] == 4
    assert found["in_chunks"] == 1.0
    one, three = found["sentences"]["1"], found["sentences"]["3"]
    assert 0.0 <= one["held_and_answered"] <= one["held"] <= 1.0
    assert 0.0 <= three["held_and_answered"] <= three["held"] <= 1.0
    assert {result["id"] for result in found["results"]} == {f"q-{name}" for name in ASKED}
    shown = elt_llm.done("eval", dataset, "--gold-answers", "--questions", "2").out
    assert shown.startswith("harbour: 2 questions with answers\nin the chunks read: 100.0%")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["--gold-answers", "--refusals", "--profile=fast"])
def test_progress_goes_to_stderr_only(dataset: Path, elt_llm: CommandLine, mode: str) -> None:
    printed = elt_llm("eval", dataset, mode)
    assert "Asking questions: " in printed.err
    assert "Asking questions" not in printed.out
    assert not elt_llm("eval", dataset, mode, "--json").err


def test_generating_questions_shows_progress(own_samples: CommandLine) -> None:
    labelled = own_samples.folder / "asked.jsonl"
    lines(labelled, [{"id": "q", "question": QUESTION, "kind": "absent-entity", "gold": []}])
    for mode in (("--calibrate",), ("--from-documents", "--profile", "fast"), ("--answers", labelled)):
        more = () if "--answers" in mode else ("--questions", "4")
        assert "Asking questions: " in own_samples("eval", *mode, "-c", "samples", *more).err


def test_the_gold_answers_option_needs_a_question_set_with_answers(dataset: Path, elt_llm: CommandLine) -> None:
    lines(dataset / "queries.jsonl", [{"_id": f"q-{name}", "text": text} for name, (text, _) in ASKED.items()])
    refused = elt_llm("eval", dataset, "--gold-answers")
    assert "No question of the dataset 'harbour' has an expected answer." in refused.err
    lines(dataset / "queries.jsonl", [{"_id": "q-mast", "text": "How tall?", "metadata": {"answers": [7]}}])
    (dataset / "qrels.tsv").write_text("q-mast\tmast\t1\n", encoding="utf-8")
    assert "queries.jsonl:1: 'answers' is not a list of texts." in elt_llm("eval", dataset, "--gold-answers").err


def test_refusals_are_measured_for_questions_about_foreign_subjects_and_for_unanswerable_questions(
    dataset: Path, elt_llm: CommandLine
) -> None:
    found = elt_llm.done("eval", dataset, "--refusals", "--html", "report.html", "--json").json
    assert found["weights"] == "shipped"
    assert found["answerable"] == 4
    assert found["kinds"].keys() == {"unanswerable", "foreign"}
    for kind in found["kinds"].values():
        assert 0.0 <= kind["auroc"] <= 1.0
        assert kind["curve"][-1]["coverage"] == 1.0
    assert found["kinds"]["unanswerable"]["questions"] == 2
    page = (elt_llm.folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<polyline") == 2
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_questions_about_foreign_subjects_can_come_from_another_question_set(
    dataset: Path, elt_llm: CommandLine
) -> None:
    other = elt_llm.folder / "other"
    other.mkdir()
    lines(other / "queries.jsonl", [{"_id": "f", "text": "Which gland produces insulin?"}])
    shown = elt_llm.done("eval", dataset, "--refusals", "--foreign", other).out
    assert shown.startswith("harbour: 4 answerable questions, confidence as shipped")
    assert "Risk and coverage, answerable and foreign questions together:" in shown
    assert ["foreign", "1"] in [line.split()[:2] for line in shown.splitlines()]


@pytest.mark.sampled(1, "calibrated profile")
def test_a_calibration_is_not_applied_to_a_profile_other_than_the_calibrated_one(own_samples: CommandLine) -> None:
    assert ask(own_samples)["calibration"] == "shipped"
    fitted = own_samples.done("eval", "--calibrate", "-c", "samples", "--questions", "60", "--json").json
    assert set(fitted["questions"]) == {"answerable", "document removed", "foreign"}
    assert fitted["before"].keys() == fitted["after"].keys() == {"auroc", "loss", "wrongly_refused", "refused"}
    assert ask(own_samples)["calibration"] == ("calibrated" if fitted["calibrated"] else "shipped")
    assert ask(own_samples, "--profile", "classic")["calibration"] == "shipped"
    measured = own_samples.done("eval", "--refusals", "-c", "samples", "--questions", "5", "--json").json
    assert measured["weights"] == ("calibrated" if fitted["calibrated"] else "shipped")
    assert measured["kinds"].keys() == {"document removed", "foreign"}


@pytest.mark.sampled(1, "calibrated profile")
def test_the_status_command_shows_the_calibrated_profile_until_the_collection_changes(
    own_samples: CommandLine,
) -> None:
    assert "calibrated  no: shipped defaults" in own_samples.done("status").out
    assert own_samples.done("status", "--json").json["calibrations"] == {"samples": []}
    fitted = own_samples.done("eval", "--calibrate", "-c", "samples", "--questions", "60", "--json").json
    (printed,) = own_samples.done("status", "-c", "samples", "--json").json["calibrations"]["samples"]
    assert (printed["profile"], printed["state"]) == ("default", "calibrated" if fitted["calibrated"] else "shipped")
    assert " for profile default" in own_samples.done("status").out
    note = own_samples.folder / "note.md"
    note.write_text("# Note\n\nThe mast is twelve metres tall.\n", encoding="utf-8")
    own_samples.done("ingest", note, "-c", "samples")
    assert own_samples.done("status", "--json").json["calibrations"]["samples"] == [{**printed, "state": "stale"}]
    assert "to renew: elt-llm eval --calibrate -c samples" in own_samples.done("status").out


def test_the_shipped_weights_are_kept_if_there_are_too_few_questions(own_samples: CommandLine) -> None:
    shown = own_samples.done("eval", "--calibrate", "-c", "samples", "--questions", "4").out
    assert "The shipped weights are kept:" in shown
    assert "too few for a calibration" in shown
    assert ask(own_samples)["calibration"] == "shipped"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--calibrate",), "--calibrate needs -c NAME"),
        (("--calibrate", "-c", "samples", "--refusals"), "cannot be combined"),
        (("--gold-answers", "-c", "samples"), "--gold-answers needs a DIR"),
        (("--refusals",), "--refusals needs a DIR, or -c NAME."),
        (("--refusals", "-c", "samples", "--foreign", "x"), "--foreign needs a DIR."),
        (("--foreign", "x", "--from-documents", "-c", "samples"), "--foreign needs --refusals."),
        (("--refusals", "-c", "samples", "--fail-under", "ndcg@10=0.7"), "cannot be combined with --fail-under."),
        (("--calibrate", "-c", "samples", "--html", "x.html"), "cannot be combined with --html."),
        (("--calibrate", "-c", "samples", "--profile", "default", "--profile", "fast"), "a second --profile"),
        (("--calibrate", "-c", "nowhere"), "nowhere"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(
    samples: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert message in samples("eval", *arguments).err

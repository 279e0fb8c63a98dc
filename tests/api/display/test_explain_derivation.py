"""`--explain --json` has enough details to compute the ranking again: scores, order, and the returned chunks."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.cli import run
from processes.command_line import FAKE, QUESTIONS, SAMPLES, CommandLine
from retrieval.derivation import Scores, best_first, fused_scores, reranked_scores, selected_chunks, stage

pytestmark = pytest.mark.halved


ASKED = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()][::25]
WAYS: dict[str, dict[str, str]] = {
    "default": {},
    "by vectors first": {"ELT_LLM_QUERY__RERANK_WEIGHT": "0.8"},
    "only the relevant": {"ELT_LLM_QUERY__MIN_RELEVANCE_SCORE": "0.5"},
    "by words": {"ELT_LLM_QUERY__STRATEGY": "sparse"},
    "by vectors": {"ELT_LLM_QUERY__STRATEGY": "dense"},
}
Explain = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def three_collections(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three collections: the samples, two of the samples again, and notes with few words in common."""
    folder = tmp_path_factory.mktemp("explained") / "data"
    shutil.copytree(sample_folder, folder)
    (folder / "notes.md").write_text("# Mast\n\nThe mast is tall.\n\n# Fee\n\nA fee is due.\n", encoding="utf-8")
    some = [str(SAMPLES / name) for name in ("ground-grading-guide.txt", "data-protection-policy.md")]
    assert run(["ingest", *some, "-c", "guides", "--json"], FAKE, folder) == 0
    assert run(["ingest", "notes.md", "-c", "notes", "--json"], FAKE, folder) == 0
    return folder


@pytest.fixture
def explain(three_collections: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Return a function that runs `search --explain --json` and returns its output."""

    def ask(question: str, *options: str, several: bool, way: Mapping[str, str] = FAKE) -> dict[str, Any]:
        collections = ("samples", "guides", "notes") if several else ("samples",)
        named = [argument for name in collections for argument in ("-c", name)]
        command = CommandLine(three_collections, capsys, {**FAKE, **way})
        printed: dict[str, Any] = command.done("search", question, *named, "--explain", "--json", *options).json
        return printed

    return ask


def check(printed: dict[str, Any], scores: Scores) -> None:
    """Check that the printed scores, their order and the returned chunks agree with the computed `scores`."""
    rerank = stage(printed, "rerank")
    keys = [(parts["collection"], node_id) for node_id, parts in rerank["parts"]]
    assert [scores[key] for key in keys] == pytest.approx([score for _, score in rerank["ranking"]], abs=1e-6)
    assert best_first(scores) == keys
    read = [(chunk["collection"], chunk["node_id"]) for chunk in printed["chunks"]]
    assert selected_chunks(printed, scores) == read
    assert stage(printed, "explain")["outcomes"].get("not recorded", 0) == 0
    assert sum(stage(printed, "explain")["outcomes"].values()) == len(scores)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("several", [False, True], ids=["one collection", "several collections"])
def test_the_final_order_of_chunks_can_be_computed_from_the_explain_output(
    explain: Explain, several: bool, way: str
) -> None:
    for question in ASKED:
        printed = explain(question, several=several, way=WAYS[way])
        check(printed, reranked_scores(printed))


def test_with_filters_the_final_order_of_chunks_can_be_computed_from_the_explain_output(explain: Explain) -> None:
    printed = explain(ASKED[0], "--where", "collection in samples,notes", several=True)
    check(printed, reranked_scores(printed))


@pytest.mark.parametrize("several", [False, True], ids=["one collection", "several collections"])
def test_the_fused_order_can_be_computed_from_the_ranks_in_the_explain_output(explain: Explain, several: bool) -> None:
    for question in ASKED:
        printed = explain(question, "--profile", "fast", several=several)
        fused, shares = fused_scores(printed)
        rankings = stage(printed, "fuse")["collections"]
        for name, ranking in rankings.items():
            expected = [fused[name, node_id] for node_id, _ in ranking]
            assert expected == pytest.approx([score for _, score in ranking], abs=1e-12)
        check(printed, shares)


def test_a_text_in_two_collections_is_reported_as_a_duplicate(explain: Explain) -> None:
    explained = stage(explain("ground grading", several=True), "explain")
    assert explained["outcomes"]["same text as another"] > 0
    doubles = [one for chunks in explained["chunks"].values() for one in chunks.values() if one["instead"]]
    assert {one["outcome"] for one in doubles} == {"same text as another"}

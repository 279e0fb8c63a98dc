import pytest
from elt_llm_core.errors import UsageError
from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import ProfileReport
from elt_llm_query.evaluate.thresholds import Threshold, read_threshold, shortfalls


def report(profile: str, ndcg: float) -> ProfileReport:
    return ProfileReport("set", profile, {**dict.fromkeys(MEASURES, 0.5), "ndcg@10": ndcg}, 1.0, 1.0)


def test_a_threshold_is_a_figure_and_its_least_value() -> None:
    assert read_threshold("ndcg@10=0.70") == Threshold("ndcg@10", 0.7)
    assert read_threshold("Recall@100=1") == Threshold("recall@100", 1.0)


@pytest.mark.parametrize(
    "text",
    ["ndcg@10", "ndcg=0.5", "=0.5", "", "ndcg@10=", "ndcg@10=high", "ndcg@10=70", "mrr@10=-1", "mrr@10=nan"],
)
def test_what_is_no_threshold_is_refused_with_the_figures_there_are(text: str) -> None:
    with pytest.raises(UsageError, match="is no threshold") as refused:
        read_threshold(text)
    assert "precision@5" in str(refused.value.hint)


def test_only_what_is_lower_falls_short_and_says_by_how_much() -> None:
    reports = [report("a", 0.7), report("b", 0.6999)]
    said = shortfalls(reports, [Threshold("ndcg@10", 0.7), Threshold("mrr@10", 0.1)])
    assert said == ["b: ndcg@10 is 0.6999, under the 0.7 it must have."]

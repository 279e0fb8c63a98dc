import pytest
from elt_llm_core.errors import UsageError
from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import FigureThreshold, ProfileReport, read_threshold, shortfalls


def report(profile: str, ndcg: float) -> ProfileReport:
    return ProfileReport("set", profile, {**dict.fromkeys(MEASURES, 0.5), "ndcg@10": ndcg}, 1.0, 1.0)


def test_a_threshold_is_parsed_as_a_metric_and_its_lowest_accepted_value() -> None:
    assert read_threshold("ndcg@10=0.70") == FigureThreshold("ndcg@10", 0.7)
    assert read_threshold("Recall@100=1") == FigureThreshold("recall@100", 1.0)


@pytest.mark.parametrize(
    "text",
    ["ndcg@10", "ndcg=0.5", "=0.5", "", "ndcg@10=", "ndcg@10=high", "ndcg@10=70", "mrr@10=-1", "mrr@10=nan"],
)
def test_the_error_for_an_invalid_threshold_lists_the_known_metrics(text: str) -> None:
    with pytest.raises(UsageError, match="is not a threshold") as refused:
        read_threshold(text)
    assert "precision@5" in str(refused.value.hint)


def test_only_metrics_below_the_threshold_are_reported() -> None:
    reports = [report("a", 0.7), report("b", 0.6999)]
    sentences = shortfalls(reports, [FigureThreshold("ndcg@10", 0.7), FigureThreshold("mrr@10", 0.1)])
    assert sentences == ["b: ndcg@10 is 0.6999, below the threshold of 0.7."]

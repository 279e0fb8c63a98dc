"""The share of altered sentences that grounding marks, and of paraphrases that it marks wrongly."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

import pytest
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import GroundedSentence, ground_answer
from grounding_data.cases import GroundingCase, foreign_sentences, grounding_cases, sample
from sampling import FULL

SEED = 2026


@pytest.fixture(scope="module")
def embedding() -> EmbeddingModel:
    """The shipped embedding model."""
    return create_embedding(Settings())


def _marked(cases: Iterable[GroundingCase], embedding: EmbeddingModel, language: str) -> float:
    tokeniser = KeywordTokeniser(language)
    found = [ground_answer(case.text, case.sources, embedding, tokeniser).sentences for case in cases]
    return sum(any(_is_marked(sentence) for sentence in sentences) for sentences in found) / len(found)


def _is_marked(sentence: GroundedSentence) -> bool:
    return sentence.verdict in {"partly", "unsupported"}


def _measure(folder: Path, count: int, embedding: EmbeddingModel, language: str = "en") -> tuple[float, float]:
    """Return the shares of altered and of unaltered or paraphrased sentences that grounding marks."""
    random = Random(SEED)  # noqa: S311 - the same sample every time
    cases = grounding_cases(folder, random)
    altered = sample(cases, count, honest=False, random=random)
    honest = sample(cases, count, honest=True, random=random)
    return _marked(altered, embedding, language), _marked(honest, embedding, language)


@pytest.mark.sampled(4, "measured quality")
def test_in_a_sample_altered_sentences_are_marked_as_unsupported_and_reworded_sentences_are_not(
    datasets: Path, embedding: EmbeddingModel
) -> None:
    recall, false_alarms = _measure(datasets / "eval" / "squad2", 24 if FULL else 12, embedding)
    assert recall >= 0.8
    assert false_alarms <= 0.2


@pytest.mark.bench
@pytest.mark.parametrize(("name", "language"), [("squad2", "en"), ("xquad-en", "en"), ("xquad-de", "de")])
def test_nine_of_ten_altered_sentences_are_marked_but_at_most_one_of_ten_unaltered_sentences_is(
    datasets: Path, embedding: EmbeddingModel, name: str, language: str, record_property: Callable[[str, object], None]
) -> None:
    recall, false_alarms = _measure(datasets / "eval" / name, 300, embedding, language)
    record_property("recall", recall)
    record_property("false alarms", false_alarms)
    assert (recall, 1 - false_alarms) >= (0.9, 0.9), f"recall {recall:.3f}, false alarms {false_alarms:.3f}"
    assert false_alarms <= 0.1, f"recall {recall:.3f}, false alarms {false_alarms:.3f}"


@pytest.mark.bench
def test_an_answer_that_mixes_true_with_invented_sentences_keeps_the_true_ones(
    datasets: Path, embedding: EmbeddingModel
) -> None:
    random = Random(SEED)  # noqa: S311 - the same sample every time
    folder = datasets / "eval" / "squad2"
    cases = [case for case in grounding_cases(folder, random) if case.honest]
    kept: list[bool] = []
    invented: list[bool] = []
    for case in random.sample(cases, 60):
        foreign = random.sample(foreign_sentences(folder, case.sources[0].source_title), 2)
        written = f"Here is what I found: {case.text} {' '.join(foreign)}"
        found = ground_answer(written, case.sources, embedding, KeywordTokeniser(), strict=True).sentences
        false = [sentence for sentence in found if _appears_in(sentence.text, foreign)]
        invented.extend(_is_marked(sentence) for sentence in false)
        kept.extend(sentence not in false for sentence in found if sentence.verdict in {"supported", "partly"})
    assert sum(invented) / len(invented) >= 0.95
    assert sum(kept) / len(kept) >= 0.95


def _appears_in(sentence: str, others: Sequence[str]) -> bool:
    return any(" ".join(sentence.split()) in " ".join(other.split()) for other in others)

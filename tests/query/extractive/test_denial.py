"""Evidence against answering, even if a sentence contains the words of the question."""

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.evidence import AnswerEvidence, denial_score, gather_evidence
from elt_llm_query.extractive.sentence_scores import ScoringContext, score_sentences
from elt_llm_query.grounding.claims import ContradictionFinder
from elt_llm_query.grounding.sentences import local_term_weights, sentence_candidates
from elt_llm_query.understanding.question import parse_question
from retrieval.chunks import make_chunk

EMBEDDING = FakeEmbedding(128)


def _asking(question: str, text: str) -> ScoringContext:
    tokeniser = KeywordTokeniser()
    weights = local_term_weights([tokeniser.stems(text), tokeniser.stems("Something else.")])
    vectors = np.stack([EMBEDDING.embed_question(question)])
    return ScoringContext(
        parse_question(question), vectors, EMBEDDING, tokeniser, weights, ContradictionFinder(tokeniser)
    )


def _denial(question: str, text: str) -> float:
    asking, chunks = _asking(question, text), [make_chunk(text)]
    return denial_score(asking, score_sentences(asking, chunks, sentence_candidates(chunks)))


def _evidence(question: str, text: str) -> AnswerEvidence:
    asking, chunks = _asking(question, text), [make_chunk(text)]
    scored = score_sentences(asking, chunks, sentence_candidates(chunks))
    return gather_evidence(asking, chunks, scored, scored[:1])


@pytest.mark.parametrize(
    ("question", "text", "denied"),
    [
        ("Why are atlases lent to children?", "Atlases are never lent to children.", True),
        ("Why are atlases lent to children?", "Atlases are lent to children on Mondays.", False),
        ("Are atlases lent to children?", "Atlases are never lent to children.", False),
        ("Why are atlases not lent to children?", "Atlases are lent to children and to adults.", True),
        ("Why are atlases not lent to children?", "Atlases are not lent to children, who tear them.", False),
        ("Why is it forbidden to lend atlases?", "Nobody may lend atlases, for they are old.", False),
        ("How many atlases may a child borrow?", "A child may borrow no more than three atlases.", False),
        ("When may a child borrow an atlas?", "A child may not borrow an atlas before the tenth birthday.", False),
        (
            "How long must a wet book stay away from the shelf?",
            "A wet book must not stay near it for nine days.",
            False,
        ),
        ("What prize is given to readers?", "No prize is given to readers.", True),
    ],
)
def test_a_negated_sentence_counts_as_denying_the_question(question: str, text: str, denied: bool) -> None:
    assert (_denial(question, text) > 0.3) is denied


def test_a_sentence_that_has_only_the_date_of_another_event_is_evidence_against_answering() -> None:
    asked = "In which year was the library founded?"
    other = _evidence(asked, "The library closes on 1 May 2027.")
    right = _evidence(asked, "The library was founded in 1874.")
    assert other.event_missing > right.event_missing == 0.0


def test_a_number_in_the_question_that_no_sentence_contains_is_evidence_against_answering() -> None:
    asked = "Why was the loan cut from 30 to 28 days?"
    assert _evidence(asked, "The loan is 30 days because shelves are full.").numbers_apart == 0.5
    of_another_sentence = "We are 28 people. For how many days is the loan?"
    assert _evidence(of_another_sentence, "The loan is 30 days.").numbers_apart == 0.0
    assert _evidence("Who gave 150,000 dollars?", "The mayor gave $150,000.00.").numbers_apart == 0.0


def test_names_in_the_question_that_no_sentence_contains_together_are_evidence_against_answering() -> None:
    asked = "Does the Harbour Library own the Blue Atlas?"
    apart = "The Harbour Library opens at nine. The Blue Atlas was sold to a museum."
    together = "The Harbour Library owns the Blue Atlas."
    assert _evidence(asked, apart).names_parted == 1.0
    assert _evidence(asked, together).names_parted == 0.0


def test_a_missing_reason_is_evidence_against_answering_a_why_question() -> None:
    assert _evidence("Why is the hall cold?", "The hall is cold.").unreasoned == 1.0
    assert _evidence("Why is the hall cold?", "The hall is cold because the stove is broken.").unreasoned == 0.0


def test_sentences_without_a_figure_are_evidence_against_answering_a_how_many_question() -> None:
    assert _evidence("How many maps are in the hall?", "The maps are in the hall.").valueless == 1.0
    assert _evidence("How many maps are in the hall?", "Sixty maps are in the hall.").valueless == 0.0
    assert _evidence("Who keeps the maps in the hall?", "The maps are in the hall.").valueless == 0.0

"""What each word of a question weighs in one collection."""

import math

from elt_llm_query.retrieve.searchable import Searchable


def term_weights(question_stems: list[str], generation: Searchable) -> dict[str, float]:
    """Lucene's ln(1 + (n - df + 0.5) / (df + 0.5)) of each different stem, above 0, in the order of the question.

    It is an upper limit of what one word can add to a BM25 score. A word the collection lacks weighs as its rarest
    would.
    """
    size = len(generation.ids)
    weights = {}
    for stem in dict.fromkeys(question_stems):
        frequency = generation.keyword.document_frequency(stem)
        weights[stem] = math.log1p((size - frequency + 0.5) / (frequency + 0.5))
    return weights

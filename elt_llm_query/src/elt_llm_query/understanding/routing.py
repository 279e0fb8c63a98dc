"""Route a question to the best of many collections.

The score of a collection is the BM25 score of its best chunk. The weight of a word depends on its rarity in all
collections together, so that the scores of two collections can be compared. Source: Callan,
SIGIR 1994 (evidence from the best part of a document). Alternatives are measured in docs/decisions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.index.searchable import AllowedChunks, KeywordQuery, Searchable, ValueFilter
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.retrieve.pools import OpenCollection
from elt_llm_query.retrieve.query_variant import QueryVariant, stem_weight
from elt_llm_query.understanding.question import asks_for_relations, parse_question

_NEARLY_ALL = 0.9  # share of the chunks
READ = 20  # chunks of a collection that are searched for a name
BEST, UNSCORED = "its words match best", "it has no keyword index to choose by"
OTHERS, NO_WORD, NOTHING = "others match better", "it has no word of the question", "it has no chunk to find"


@dataclass(frozen=True)
class CollectionRoute:
    """The positions of the collections to search (`searched`), and the score of each collection with the reason."""

    searched: tuple[int, ...]
    details: Mapping[str, Mapping[str, Any]]
    common_names: tuple[str, ...]

    @property
    def note(self) -> str:
        """A note that not all collections are searched, or an empty text."""
        if len(self.searched) == len(self.details):
            return ""
        return (
            f"{len(self.searched)} of {len(self.details)} collections were searched, those that match the question's"
            " words best (query.route_above, query.route_to)."
        )


def concerns_models(question: str, models: Sequence[str]) -> bool:
    """Return whether a question is about enterprise models or inventories of a company's applications and data.

    It is if it contains the name of such a collection, listed in `models`, or asks how entities are related.
    """
    folded = fold(question)
    names = {name for one in models for name in (fold(one), fold(re.sub(r"[-_.]+", " ", one)))}
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) for name in names)
    return named or asks_for_relations(question)


def has_only_fact_sheets(generation: Searchable) -> bool:
    """Whether nearly all chunks come from fact sheets, as in an enterprise model or an inventory."""
    field = generation.field("fact_sheet_type")
    with_one = generation.allow([ValueFilter(field.codes)]).count if field else 0
    return with_one / max(1, generation.size) >= _NEARLY_ALL


class CollectionRouter:
    """Chooses the collections to search. Many threads may share one router.

    If there are at most `above` collections, or `above` is 0, all are searched. Otherwise the best `to` collections are
    searched. Collections that contain a name from the question (a proper name such as "Mercury") are searched too,
    unless more than `to` collections contain it.
    """

    def __init__(self, collections: Sequence[OpenCollection], above: int, to: int) -> None:
        self._collections = tuple(collections)
        self._tokeniser = KeywordTokeniser()  # the detection of names hardly depends on the language
        self._to = to
        self._above = above or len(self._collections)
        self._nodes = sum(one.generation.size for one in self._collections)

    def route(self, variant: QueryVariant, allowed: Sequence[AllowedChunks] | None = None) -> CollectionRoute | None:
        """Choose the collections for a query variant. Return None if all are to be searched."""
        sizes = [one.count for one in allowed] if allowed else [one.generation.size for one in self._collections]
        findable = [index for index, size in enumerate(sizes) if size]
        if len(findable) <= self._above:
            return None
        scores = self._scores(variant, allowed)
        unscored = [index for index in findable if self._collections[index].keywords_missing]
        ranked = sorted((index for index in findable if scores[index] > 0), key=lambda index: -scores[index])
        if not ranked:
            return None
        named, common = self._collections_with_names(variant, findable)
        reasons = dict.fromkeys(ranked[: self._to], BEST) | dict.fromkeys(unscored, UNSCORED)
        for index, name in named.items():
            reasons.setdefault(index, f"it has '{name}'")
        details = {}
        for index, one in enumerate(self._collections):
            left_out = NOTHING if index not in findable else OTHERS if scores[index] > 0 else NO_WORD
            details[one.name] = {
                "score": round(scores[index], 4),
                "asked": index in reasons,
                "why": reasons.get(index, left_out),
            }
        return CollectionRoute(tuple(sorted(reasons)), details, common)

    def _scores(self, variant: QueryVariant, allowed: Sequence[AllowedChunks] | None) -> list[float]:
        """Return the best BM25 score in each collection, with word weights from all collections together."""
        words = " ".join((variant.keywords, *(other for one in variant.names for other in one.others)))
        generations = [one.generation for one in self._collections]
        stems = [tuple(dict.fromkeys(one.tokeniser.stems(words))) for one in generations]
        asked = tuple(dict.fromkeys(stem for own in stems for stem in own))
        frequencies = [one.frequencies(asked) for one in generations]
        weights = {stem: stem_weight(self._nodes, sum(one[stem] for one in frequencies)) for stem in asked}
        scores = []
        for index, one in enumerate(generations):
            factors = {
                stem: weights[stem] / stem_weight(one.size, frequency)
                for stem in stems[index]
                if (frequency := frequencies[index][stem])
            }
            best = one.matching(KeywordQuery(stems[index], factors), 1, allowed[index] if allowed else None)
            scores.append(best[0][1] if best else 0.0)
        return scores

    def _collections_with_names(
        self, variant: QueryVariant, findable: Sequence[int]
    ) -> tuple[dict[int, str], tuple[str, ...]]:
        """Map the position of each collection that contains a name from the question to this name.

        Also return the names that are left out because too many collections contain them.
        """
        named: dict[int, str] = {}
        common = []
        others = [other for one in variant.names for other in one.others]
        for name in dict.fromkeys((*parse_question(variant.text, self._tokeniser).names, *others, *variant.also)):
            generations = ((index, self._collections[index].generation) for index in findable)
            having = [index for index, one in generations if one.having(one.tokeniser.stems(name), 1)]
            if len(having) <= 3 * self._to:  # to save time, longer lists are not checked
                having = [index for index in having if self._has_name(index, name)]
            if len(having) > self._to:
                common.append(name)
                continue
            for index in having:
                named.setdefault(index, name)
        return named, tuple(common)

    def _has_name(self, index: int, name: str) -> bool:
        """Return whether the words of a name follow each other in one of the first chunks that contain them all."""
        generation = self._collections[index].generation
        stems = generation.tokeniser.stems(name)
        if len(stems) == 1:
            return True
        return any(
            list(own[start : start + len(stems)]) == stems
            for own in generation.stems(generation.having(stems, READ))
            for start in range(len(own) - len(stems) + 1)
        )

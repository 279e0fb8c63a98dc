"""Which of many collections a question is put to: those whose best passage has most of its words, and named ones.

The score of a collection is the BM25 score of its best passage, every word weighted by how rare it is in all of them
together: so it can be compared, which scores with each collection's own weights cannot. Source of the idea that a
collection is as good as its best passage: Callan, "Passage-Level Evidence in Document Retrieval", SIGIR 1994.
Measured against other ways in docs/decisions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.retrieve.collections import OpenCollection
from elt_llm_query.retrieve.masks import Mask
from elt_llm_query.retrieve.wording import Wording
from elt_llm_query.understand import understand

READ = 20  # passages of a collection that are looked through for a name
BEST, UNSCORED = "its words match best", "it has no keyword index to choose by"
OTHERS, NO_WORD, NOTHING = "others match better", "it has no word of the question", "it has no passage to find"


@dataclass(frozen=True)
class Route:
    """`asked`: places of the collections to ask, ascending; `told`: of each collection its score, and why."""

    asked: tuple[int, ...]
    told: Mapping[str, Mapping[str, Any]]
    common_names: tuple[str, ...]

    @property
    def note(self) -> str:
        """What a reader of the result should know; empty if all are asked."""
        if len(self.asked) == len(self.told):
            return ""
        return (
            f"{len(self.asked)} of {len(self.told)} collections were asked, those that match the question's words"
            " best (query.route_above, query.route_to)."
        )


class Router:
    """Chooses among collections opened once; it keeps nothing of a question and serves many threads.

    `above` collections or fewer are all asked, and so are any number if it is 0; of more, the best `to`, and those in
    which a name of the question, or another word for one of it, stands as it is written, unless more than `to` have it.
    """

    def __init__(self, collections: Sequence[OpenCollection], above: int, to: int) -> None:
        self._collections = tuple(collections)
        self._tokeniser = KeywordTokeniser()  # what is a name hardly depends on the language
        self._to = to
        self._above = above or len(self._collections)
        self._nodes = sum(len(one.generation.ids) for one in self._collections)

    def route(self, wording: Wording, masks: Sequence[Mask] | None = None) -> Route | None:
        """The choice for one way to put a question, among what `masks` leave; None if there is nothing to choose."""
        findable = [place for place, _ in enumerate(self._collections) if self._has_any(place, masks)]
        if len(findable) <= self._above:
            return None
        scores = self._scores(wording, masks)
        unscored = [place for place in findable if self._collections[place].keywords_missing]
        ranked = sorted((place for place in findable if scores[place] > 0), key=lambda place: -scores[place])
        if not ranked:
            return None
        named, common = self._named(wording, findable)
        reasons = dict.fromkeys(ranked[: self._to], BEST) | dict.fromkeys(unscored, UNSCORED)
        for place, name in named.items():
            reasons.setdefault(place, f"it has '{name}'")
        told = {}
        for place, one in enumerate(self._collections):
            left = NOTHING if place not in findable else OTHERS if scores[place] > 0 else NO_WORD
            told[one.name] = {
                "score": round(scores[place], 4),
                "asked": place in reasons,
                "why": reasons.get(place, left),
            }
        return Route(tuple(sorted(reasons)), told, common)

    def _has_any(self, place: int, masks: Sequence[Mask] | None) -> bool:
        return bool(masks[place].any()) if masks else len(self._collections[place].generation.ids) > 0

    def _scores(self, wording: Wording, masks: Sequence[Mask] | None) -> list[float]:
        """The best passage's score of each collection, 0 or more."""
        words = " ".join((wording.keywords, *(other for one in wording.names for other in one.others)))
        stems = [dict.fromkeys(one.generation.keyword.tokeniser.stems(words)) for one in self._collections]
        weights = self._weights({stem for found in stems for stem in found})
        scores = []
        for place, one in enumerate(self._collections):
            of_nodes = one.generation.keyword.scores_weighing({stem: weights[stem] for stem in stems[place]})
            if masks:
                of_nodes = of_nodes[masks[place]]
            scores.append(float(of_nodes.max(initial=0.0)))
        return scores

    def _weights(self, stems: set[str]) -> dict[str, float]:
        """Inverse document frequency of each stem over the passages of all collections together, as BM25 has it."""
        weights = {}
        for stem in stems:
            frequency = sum(one.generation.keyword.document_frequency(stem) for one in self._collections)
            weights[stem] = math.log1p((self._nodes - frequency + 0.5) / (frequency + 0.5))
        return weights

    def _named(self, wording: Wording, findable: Sequence[int]) -> tuple[dict[int, str], tuple[str, ...]]:
        """The collections that have a name, with the name; and the names that too many have to tell them apart."""
        named: dict[int, str] = {}
        common = []
        others = [other for one in wording.names for other in one.others]
        for name in dict.fromkeys((*understand(wording.text, self._tokeniser).names, *others, *wording.also)):
            having = [place for place in findable if self._may_have(place, name)]
            if len(having) <= 3 * self._to:
                having = [place for place in having if self._has(place, name)]
            if len(having) > self._to:
                common.append(name)
                continue
            for place in having:
                named.setdefault(place, name)
        return named, tuple(common)

    def _may_have(self, place: int, name: str) -> bool:
        keyword = self._collections[place].generation.keyword
        return len(keyword.having(keyword.tokeniser.stems(name))) > 0

    def _has(self, place: int, name: str) -> bool:
        """Whether the words of a name follow each other in one of the first passages that have them all."""
        generation = self._collections[place].generation
        stems = generation.keyword.tokeniser.stems(name)
        if len(stems) == 1:
            return True
        ids = [generation.ids[position] for position in generation.keyword.having(stems)[:READ].tolist()]
        return any(_follow(stems, passage) for passage in generation.stems(ids))


def _follow(wanted: Sequence[str], stems: Sequence[str]) -> bool:
    run = list(wanted)
    starts = range(len(stems) - len(run) + 1)
    return any(list(stems[start : start + len(run)]) == run for start in starts)

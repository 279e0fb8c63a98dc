"""Multi-hop search: search again for names that the best chunks mention but the question does not.

Source: iterative retrieval as in Qi, Lin, Mehr, Wang and Manning, "Answering Complex Open-domain Questions Through
Iterative Query Generation", EMNLP 2019. Here, a language model or rules write the queries.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.store.records import StoredNode
from elt_llm_core.text.stems import KeywordTokeniser
from llama_index.core.llms import LLM

from elt_llm_query.rerank.reranker import RerankResult
from elt_llm_query.retrieve.fusion import NodeKey, SearchCandidate, best_first
from elt_llm_query.retrieve.pools import stored_nodes
from elt_llm_query.retrieve.query_variant import QueryVariant, RetrieverChoice
from elt_llm_query.understanding.strategies.strategy import (
    PassRunner,
    ask_helper_model,
    combined_result,
    deduplicate,
    reply_lines,
)

_PROMPT = (Path(__file__).parent / "prompts" / "follow_up.txt").read_text(encoding="utf-8")
MOST_CHARACTERS = 3000  # only so many, at the start of a chunk, are searched for names
_PROMPT_CHARACTERS = 1200  # only so many, at the start of a chunk, are in the prompt for a follow-up
_LONGEST_FOLLOW_UP = 300  # characters
SHORTEST_TITLE = 4  # characters; shorter titles occur in many chunks by chance
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_INNER = r"(?:[\w'\u2019-]|\.(?=\w))"
_NAME = re.compile(
    rf"\b{_CAPITAL}{_INNER}{{0,40}}(?:\s{{1,3}}(?:(?:of|the|and|de|la|von|der)\s{{1,3}})?"
    rf"(?:{_CAPITAL}|\d){_INNER}{{0,40}}){{0,6}}"
)
_ASIDE = re.compile(r"\s{0,3}\([^()]{0,80}\)\s{0,3}$")
_WORD = re.compile(r"\w{1,60}")

FOLLOW_UP_SHARE = 0.5  # weight of a chunk's score for a follow-up, relative to its score for the question
LINK_SHARE = 0.3  # weight of a link: one of two chunks mentions the title of the other's document
READ = 40  # only so many of the best chunks for a follow-up are searched for links
BELOW_FIRST = 0.999  # the best chunk stays first: all others get at most this share of its score


def bridge_names(text: str, question: str, tokeniser: KeywordTokeniser) -> list[str]:
    """Return up to 8 names in a chunk, in text order, that contain a word which the question does not."""
    known = set(tokeniser.stems(question))
    names: dict[str, str] = {}
    for match in _NAME.finditer(text[:MOST_CHARACTERS]):
        name = _trimmed(match.group(), tokeniser)
        if name and not set(tokeniser.stems(name)) <= known:
            names.setdefault(name.casefold(), name)
        if len(names) == 8:
            break
    return list(names.values())


def missing_words(question: str, chunk: str, tokeniser: KeywordTokeniser) -> list[str]:
    """Return the question's words, except stopwords, that a chunk lacks."""
    present = set(tokeniser.stems(chunk))
    words = _WORD.findall(question)
    return [word for word in words if (stems := tokeniser.stems(word)) and not present & set(stems)]


def link_strength(source: StoredNode, other: StoredNode, question: str) -> float:
    """Return 1 if the text of `source` mentions the document title of `other`, 0.5 in the opposite case, else 0.

    Titles are compared word by word, without additions in parentheses. Chunks with the same title have no link. A title
    in the question does not count as a link to its document.
    """
    title, own = _title(other), _title(source)
    if title == own:
        return 0.0
    if _mentions(source.text, title) and not _mentions(question, title):
        return 1.0
    return 0.5 if _mentions(other.text, own) else 0.0


def _trimmed(name: str, tokeniser: KeywordTokeniser) -> str:
    words = name.split()
    while words and not (words[0][0].isupper() and tokeniser.stems(words[0])):
        words = words[1:]
    while words and not tokeniser.stems(words[-1]):
        words = words[:-1]
    return " ".join(words).rstrip(".'-")


def _title(node: StoredNode) -> str:
    return _spaced(_ASIDE.sub("", node.title or ""))


def _mentions(text: str, title: str) -> bool:
    return len(title) - 2 >= SHORTEST_TITLE and title in _spaced(text)


def _spaced(text: str) -> str:
    """Return the words in lower case with a space around each word, so that only whole words match."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


@dataclass
class _Hops:
    """The state of one multi-hop search: the candidates and follow-up questions from its passes so far."""

    first: list[SearchCandidate]
    later: list[Sequence[SearchCandidate]]
    gained: dict[NodeKey, float]
    followed: dict[NodeKey, str]

    def combined(self) -> list[SearchCandidate]:
        """Return all chunks found so far: the question's best chunk, then all others, best first.

        A chunk's score is its score for the question, plus the most that one follow-up adds: a share of its score for
        the follow-up, and a bonus if it has a link (see `link_strength`) to the chunk from which the follow-up was
        made.
        """
        if not self.first:
            return []
        head, own = self.first[0], {one.key: one.score for one in self.first}
        others = {key: one for key, one in deduplicate([self.first, *self.later]).items() if key != head.key}
        sums = {key: own.get(key, 0.0) + self.gained.get(key, 0.0) for key in others}
        # One common factor keeps these scores below the score of the best chunk.
        most, limit = max(sums.values(), default=0.0), head.score * BELOW_FIRST
        factor = limit / most if most > limit else 1.0
        return [head, *best_first([replace(one, score=factor * sums[key]) for key, one in others.items()])]


@dataclass(frozen=True)
class MultiHopStrategy:
    """Searches again for names that the best chunks mention but the question does not.

    There are at most `max_hops` follow-up questions. Each is made from one chunk: the best one that was not used yet. A
    language model writes the follow-ups; without a model, or if the model fails, rules make them from new names and
    those words of the question that no chunk has. The chunks that a follow-up finds get a higher score. With
    `needs_link`, which the strategy `auto` sets, only one of them does: the best one with a link (see `link_strength`)
    to the chunk from which the follow-up was made.
    """

    retrievers: RetrieverChoice
    max_hops: int
    llm: LLM | None = field(default=None, repr=False)  # may show its key
    needs_link: bool = False
    name: str = "multi_hop"
    notes: tuple[str, ...] = ()

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Return the candidates for the question and its follow-up questions."""
        first = passes.run(question, self.retrievers)
        generations = {one.name: one.generation for one in passes.collections}
        hops = _Hops(first.candidates, [], {}, {})
        for _ in range(self.max_hops):
            if not self._hop(question, hops, generations, passes):
                break
        if not hops.followed:
            return first
        follow_ups = [{"from": node_id, "question": text} for (_, node_id), text in hops.followed.items()]
        return combined_result(passes, first, hops.combined(), follow_ups=follow_ups)

    def _hop(self, question: QueryVariant, hops: _Hops, generations: dict[str, Searchable], passes: PassRunner) -> bool:
        """Make a follow-up question from the best chunk not used yet, search for it, and add the results to `hops`.

        Return False, without a search, if there is no such chunk or no follow-up question that was not asked before.
        """
        combined = hops.combined()
        source = next((one for one in combined if one.key not in hops.followed), None)
        if source is None:
            return False
        generation = generations[source.collection]
        node = generation.nodes([source.node_id])[0]
        text = self._follow_up(question.text, node, generation, passes)
        if not text or text in hops.followed.values():
            return False
        hops.followed[source.key] = text
        ranked = passes.run(QueryVariant(text), self.retrievers).candidates
        hops.later.append(ranked)
        weight = source.score / combined[0].score if combined[0].score else 1.0
        read = stored_nodes(ranked[:READ], generations)
        links = {key: link_strength(node, other, question.text) for key, other in read.items()}
        gains = [
            (weight * (FOLLOW_UP_SHARE * one.score + LINK_SHARE * links.get(one.key, 0.0)), one)
            for one in ranked
            if one.key != source.key and (links.get(one.key) or not self.needs_link)
        ]
        if self.needs_link:
            gains = sorted(gains, key=lambda gain: (-gain[0], gain[1].node_id))[:1]
        for amount, one in gains:
            hops.gained[one.key] = max(hops.gained.get(one.key, 0.0), amount)
        return True

    def _follow_up(self, question: str, node: StoredNode, generation: Searchable, passes: PassRunner) -> str:
        if self.llm is not None and not passes.failures:
            prompt = _PROMPT.format(question=question, passage=node.text[:_PROMPT_CHARACTERS])
            written = reply_lines(ask_helper_model(self.llm, prompt, passes, "follow-up questions were made by rules"))
            if written:
                return "" if written[0].casefold().rstrip(".") == "none" else written[0][:_LONGEST_FOLLOW_UP]
        tokeniser = generation.tokeniser
        names = bridge_names(node.text, question, tokeniser)
        return " ".join([*names, *missing_words(question, f"{node.title} {node.text}", tokeniser)]) if names else ""

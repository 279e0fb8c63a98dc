"""Topics by their words, as the settings name them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from elt_llm_core.text.stems import LANGUAGES, KeywordTokeniser

TOPICS_VERSION = 1
_Phrase = tuple[str, ...]


class TopicFinder:
    """Finds the topics of texts in one language; words are compared by their stems, without case and diacritics."""

    def __init__(self, topics: Mapping[str, Sequence[str]], language: str) -> None:
        self._tokeniser = KeywordTokeniser(language if language in LANGUAGES else "en")
        self._by_first: dict[str, list[tuple[_Phrase, str]]] = defaultdict(list)
        for topic, phrases in topics.items():
            for phrase in phrases:
                if stems := tuple(self._tokeniser.stems(phrase)):
                    self._by_first[stems[0]].append((stems, topic))

    def topics_of(self, text: str) -> list[str]:
        """The topics of which a word or phrase occurs, sorted."""
        if not self._by_first:
            return []
        stems = self._tokeniser.stems(text)
        found: set[str] = set()
        for place, stem in enumerate(stems):
            for phrase, topic in self._by_first.get(stem, ()):
                if topic not in found and tuple(stems[place : place + len(phrase)]) == phrase:
                    found.add(topic)
        return sorted(found)

"""What every chunk carries besides its place."""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from elt_llm_core.store.records import MetadataValue, canonical_json

from elt_llm_ingest.metadata.dates import DATES_VERSION, dates_in
from elt_llm_ingest.metadata.given_names import GivenNames
from elt_llm_ingest.metadata.organisations import ORGANISATIONS_VERSION, organisations_in
from elt_llm_ingest.metadata.topics import TOPICS_VERSION, TopicFinder
from elt_llm_ingest.metadata.words import WORDS_VERSION, count_words

WINDOW = 50_000  # characters of a chunk that are searched for names and dates
_NO_TOPICS: Mapping[str, Sequence[str]] = MappingProxyType({})


class ChunkMetadata:
    """Extracts words, dates, organisations and topics.

    `topics` are words by topic and `organisations` names to find beside those that texts show to be such.
    """

    def __init__(self, topics: Mapping[str, Sequence[str]] = _NO_TOPICS, organisations: Sequence[str] = ()) -> None:
        self._topics = {topic: tuple(words) for topic, words in topics.items()}
        self._organisations = tuple(sorted(organisations))
        self._given = GivenNames(organisations)
        self._finders: dict[str, TopicFinder] = {}

    @property
    def fingerprint(self) -> str:
        """12 hex digits that change whenever the metadata of some text could."""
        versions = (WORDS_VERSION, DATES_VERSION, ORGANISATIONS_VERSION, TOPICS_VERSION)
        return hashlib.sha256(
            canonical_json([versions, WINDOW, self._topics, self._organisations]).encode()
        ).hexdigest()[:12]

    def of(self, text: str, language: str) -> dict[str, MetadataValue]:
        """`words` (number), `dates` (ISO, ascending), `organisations` (by first mention) and `topics` (sorted).

        `language` is a code such as `detect_language` gives. Lists without an entry are left out.
        """
        window = text[:WINDOW]
        lists = {
            "dates": dates_in(window),
            "organisations": self._organisations_in(window, language),
            "topics": self._finder(language).topics_of(window),
        }
        return {"words": count_words(text), **{name: found for name, found in lists.items() if found}}

    def _organisations_in(self, window: str, language: str) -> list[str]:
        found = organisations_in(window, language)
        given = [name for name in self._given.names_in(window) if name not in found]
        return sorted([*found, *given], key=lambda name: window.find(name) % (len(window) + 1)) if given else found

    def _finder(self, language: str) -> TopicFinder:
        if language not in self._finders:
            self._finders[language] = TopicFinder(self._topics, language)
        return self._finders[language]

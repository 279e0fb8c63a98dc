"""Extract the metadata of a chunk: word count, dates, organisations and configured topics."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from elt_llm_core.store.records import MetadataValue, canonical_json
from elt_llm_core.text.languages import languages
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.metadata.dates import DATES_VERSION, dates_in
from elt_llm_ingest.metadata.organisations import ORGANISATIONS_VERSION, OrganisationList, organisations_in

WINDOW = 50_000  # the most characters of a chunk that are searched for names, dates and topics
WORDS_VERSION = TOPICS_VERSION = 1
_WORD_PATTERN = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*")


class TopicFinder:
    """Finds the topics of texts in one language by word stems, regardless of case and diacritics."""

    def __init__(self, topics: Mapping[str, Sequence[str]], language: str) -> None:
        self._tokeniser = KeywordTokeniser(language if language in languages() else "en")
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for topic, phrases in topics.items():
            for phrase in phrases:
                if stems := tuple(self._tokeniser.stems(phrase)):
                    self._by_first[stems[0]].append((stems, topic))

    def topics_of(self, text: str) -> list[str]:
        """Return the names of the topics that have a word or phrase in the text, sorted."""
        if not self._by_first:
            return []
        stems = self._tokeniser.stems(text)
        return sorted(
            {
                topic
                for number, stem in enumerate(stems)
                for phrase, topic in self._by_first.get(stem, ())
                if tuple(stems[number : number + len(phrase)]) == phrase
            }
        )


class ChunkMetadata:
    """Extracts word count, dates, organisations and topics.

    `topics` maps topics to their words and phrases. `organisations` are names to find in addition to those that are
    recognised by their form, such as "Ministry of Health".
    """

    def __init__(
        self, topics: Mapping[str, Sequence[str]] = MappingProxyType({}), organisations: Sequence[str] = ()
    ) -> None:
        self._topics = {topic: tuple(words) for topic, words in topics.items()}
        self._organisations = tuple(sorted(organisations))
        self._configured = OrganisationList(organisations)
        self._finders: dict[str, TopicFinder] = {}

    @property
    def fingerprint(self) -> str:
        """12 hex digits that change whenever the metadata of some text could change."""
        versions = (WORDS_VERSION, DATES_VERSION, ORGANISATIONS_VERSION, TOPICS_VERSION)
        described = canonical_json([versions, WINDOW, self._topics, self._organisations])
        return hashlib.sha256(described.encode()).hexdigest()[:12]

    def of(self, text: str, language: str) -> dict[str, MetadataValue]:
        """Return the metadata of a text, without empty lists.

        The keys are `words` (count), `dates` (ISO 8601, ascending), `organisations` (by first mention) and `topics`
        (sorted). "don't", "3.5" and "well-kept" count as one word each. `language` is a code as returned by
        `detect_language`.
        """
        window = text[:WINDOW]
        if language not in self._finders:
            self._finders[language] = TopicFinder(self._topics, language)
        lists = {
            "dates": dates_in(window),
            "organisations": self._organisations_in(window, language),
            "topics": self._finders[language].topics_of(window),
        }
        words = len(_WORD_PATTERN.findall(text))
        return {"words": words, **{name: values for name, values in lists.items() if values}}

    def _organisations_in(self, window: str, language: str) -> list[str]:
        names = organisations_in(window, language)
        configured = dict.fromkeys(window[start:end] for start, end in self._configured.spans(window))
        added = [name for name in configured if name not in names]
        return sorted([*names, *added], key=lambda name: window.find(name) % (len(window) + 1)) if added else names

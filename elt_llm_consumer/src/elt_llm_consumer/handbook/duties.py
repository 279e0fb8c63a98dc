"""Terms of reference: what a role or a body has to do and may do, as the rules say it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_consumer.handbook.candidates import Candidate, Found
from elt_llm_consumer.handbook.clauses import Clause
from elt_llm_consumer.handbook.reading import Sentence
from elt_llm_consumer.handbook.tokens import words_of
from elt_llm_consumer.rows import Evidence

_PLAIN, _LISTED, _AGAIN = 0.95, 0.9, 0.75
_MOST_ITEMS = 30
_STATES = frozenset({"be", "have", "become", "include", "consist"})


@dataclass(frozen=True)
class Duty:
    """One statement of what a candidate has to do or may do, with where it stands."""

    text: str
    evidence: Evidence


class Duties:
    """Finds the statements in which a candidate acts, and the lists under "The duties of X are:"."""

    def __init__(self, found: Found, duty_words: Sequence[str]) -> None:
        """`duty_words` head a list of duties, such as "duties" in "The duties of the Board are:"."""
        self._found = found
        self._headed = re.compile(
            rf"\b(?:{'|'.join(map(re.escape, sorted(duty_words, key=len, reverse=True)))})"
            r"\s(?:and\s\w{1,20}\s)?(?:of|der|des)\s(?:(?:the|an?|each|every)\s)?(?P<whose>[^:.;,]{2,80})",
            re.IGNORECASE,
        )

    def find(self, sentences: Sequence[Sentence]) -> Mapping[str, list[Duty]]:
        """By key of a candidate its duties and powers in order of the texts, the same words once."""
        found: dict[str, dict[str, Duty]] = {}
        for number, sentence in enumerate(sentences):
            for candidate, score in self._acting(sentence):
                items = _items(sentences, number) if sentence.text.endswith(":") else []
                for duty in _duties(sentence, items, score):
                    found.setdefault(candidate.key, {}).setdefault(duty.text, duty)
        return {key: list(duties.values()) for key, duties in found.items()}

    def _acting(self, sentence: Sentence) -> Iterable[tuple[Candidate, float]]:
        """Who has duties by a sentence, each once: its subjects, or whose duties it announces or stands under."""
        headed = self._whose(sentence.text) if sentence.text.endswith(":") else self._whose(_last(sentence.section))
        by_key: dict[str, tuple[Candidate, float]] = {headed.key: (headed, _LISTED)} if headed else {}
        for clause in sentence.clauses:
            if not _is_act(clause):
                continue
            for subject in sentence.subjects_of(clause):
                candidate = self._found.of(subject)
                if candidate is not None and subject.count != "no":
                    by_key.setdefault(candidate.key, (candidate, _AGAIN if clause.again else _PLAIN))
        return by_key.values()

    def _whose(self, text: str) -> Candidate | None:
        match = self._headed.search(text)
        if match is None:
            return None
        words = [word.written for word in words_of(match["whose"])]
        longest_first = (self._found.exactly(" ".join(words[:number])) for number in range(len(words), 0, -1))
        return next((one for one in longest_first if one is not None), None)


def _is_act(clause: Clause) -> bool:
    return not clause.passive and (clause.verb not in _STATES or clause.modality not in {"does", "does not"})


def _duties(sentence: Sentence, items: Sequence[Sentence], score: float) -> Iterable[Duty]:
    if items:
        for item in items:
            yield Duty(f"{sentence.text} {item.text}", item.evidence(score))
    elif score == _AGAIN and sentence.before is not None:
        text = " ".join(sentence.document.text[sentence.before.start : sentence.end].split())
        yield Duty(text, sentence.with_before(score))
    else:
        yield Duty(sentence.text, sentence.evidence(score))


def _items(sentences: Sequence[Sentence], number: int) -> list[Sentence]:
    """The list items right behind a sentence."""
    found: list[Sentence] = []
    for one in sentences[number + 1 : number + 1 + _MOST_ITEMS]:
        if not one.item or one.document is not sentences[number].document:
            break
        found.append(one)
    return found


def _last(section: str) -> str:
    return section.rsplit(" > ", 1)[-1]

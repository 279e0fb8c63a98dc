"""Make sentences untrue by rules: replace a number or a name, add a negation, or exchange two names."""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,.]*\d)")
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "hundred")
_ZAHLEN = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "zwölf", "zwanzig", "hundert")
_NAME = re.compile(r"(?<!^)(?<![.!?:\"“] )\b[A-ZÀ-Þ][\w'\u2019-]+(?: (?:of |the |de |von )?[A-ZÀ-Þ][\w'\u2019-]+){0,3}")
_NO_NAMES = frozenset("The In For Other A An It This That And But Or On At By He She They There However".split())  # noqa: SIM905
_MODAL = re.compile(
    r"\b(is|are|was|were|can|could|may|might|must|should|will|would|has|have|had|ist|sind|war|waren|wird|wurde|wurden"
    r"|kann|können|muss|müssen|darf|hat|haben|hatte)\b(?! not\b| nicht\b| keine?\b| no\b)"
)
_NEGATED = re.compile(r"\b(is|are|was|were|can|could|may|must|should|will|would|has|had|did|does|do) not\b|\bcannot\b")
_CONTRARY = (
    ("before", "after"), ("more", "less"), ("most", "least"), ("first", "last"), ("increase", "decrease"),
    ("increased", "decreased"), ("higher", "lower"), ("highest", "lowest"), ("largest", "smallest"), ("north", "south"),
    ("northern", "southern"), ("eastern", "western"), ("early", "late"), ("earlier", "later"), ("always", "never"),
    ("positive", "negative"), ("internal", "external"), ("minimum", "maximum"), ("many", "few"), ("old", "young"),
    ("with", "without"), ("allowed", "forbidden"), ("won", "lost"), ("accepted", "rejected"), ("success", "failure"),
    ("public", "private"), ("strong", "weak"), ("rich", "poor"), ("began", "ended"), ("best", "worst"),
    ("mehr", "weniger"), ("vor", "nach"), ("größte", "kleinste"), ("immer", "nie"), ("mit", "ohne"),
)  # fmt: skip


def another_number(sentence: str, random: Random) -> str | None:
    """Replace one number, in digits or as a word, by another; None if the sentence has no number."""
    found = [*_NUMBER.finditer(sentence), *_words_in(sentence, _COUNTS), *_words_in(sentence, _ZAHLEN)]
    if not found:
        return None
    place = random.choice(found)
    return _put(sentence, place, _changed(place.group(), random))


def another_name(sentence: str, names: Sequence[str], random: Random) -> str | None:
    """Replace one name by one of `names` that the sentence lacks; None if that is impossible."""
    found = names_in(sentence)
    others = [name for name in names if not set(name.split()) & set(sentence.replace(",", " ").split())]
    if not found or not others:
        return None
    place = random.choice(found)
    return _put(sentence, place, random.choice(others))


def negated(sentence: str, random: Random) -> str | None:
    """Add or remove a "not"; return None if the sentence has no verb that can be negated."""
    if there := [*_NEGATED.finditer(sentence)]:
        place = random.choice(there)
        return _put(sentence, place, place.group(1) or "can")
    found = [*_MODAL.finditer(sentence)]
    if not found:
        return None
    place = found[0]
    denial = "nicht" if re.search(r"\b(?:der|die|das|und|von)\b", sentence) else "not"
    return f"{sentence[: place.end()]} {denial}{sentence[place.end() :]}"


def contrary(sentence: str, random: Random) -> str | None:
    """Replace one word by its opposite; None if the sentence has no such word."""
    pairs = [*_CONTRARY, *((right, left) for left, right in _CONTRARY)]
    found = [(place, right) for left, right in pairs for place in re.finditer(rf"\b{left}\b", sentence)]
    if not found:
        return None
    place, word = random.choice(found)
    return _put(sentence, place, word)


def names_exchanged(sentence: str, random: Random) -> str | None:
    """Exchange two different names of the sentence; None if it has fewer names, or if they are only listed."""
    found = names_in(sentence)
    pairs = [
        (left, right)
        for position, left in enumerate(found)
        for right in found[position + 1 :]
        if not set(left.group().split()) & set(right.group().split())
        and _is_clause(sentence[left.end() : right.start()])
    ]
    if not pairs:
        return None
    left, right = random.choice(pairs)
    between = sentence[left.end() : right.start()]
    return f"{sentence[: left.start()]}{right.group()}{between}{left.group()}{sentence[right.end() :]}"


def names_in(text: str) -> list[re.Match[str]]:
    """Return the capitalised words that do not start a sentence."""
    return [one for one in _NAME.finditer(text) if one.group() not in _NO_NAMES]


def _is_clause(between: str) -> bool:
    return len(between.split()) > 1 and not re.fullmatch(r"[ ,;&]*(?:and|or|und|oder)?[ ,;&]*", between)


def _words_in(sentence: str, words: Sequence[str]) -> Iterator[re.Match[str]]:
    return re.finditer(rf"\b(?:{'|'.join(words)})\b", sentence)


def _changed(number: str, random: Random) -> str:
    for words in (_COUNTS, _ZAHLEN):
        if number in words:
            return random.choice([word for word in words if word != number])
    place = random.choice([place for place, letter in enumerate(number) if letter.isdigit()])
    digit = random.choice([digit for digit in "123456789" if digit != number[place]])
    return f"{number[:place]}{digit}{number[place + 1 :]}"


def _put(sentence: str, place: re.Match[str], words: str) -> str:
    return f"{sentence[: place.start()]}{words}{sentence[place.end() :]}"


Alteration = Callable[[str, Random], str | None]

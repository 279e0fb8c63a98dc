"""Paraphrase sentences by rules without changing their truth: reordered, shortened, merged, active or passive."""

import re
from collections.abc import Sequence
from random import Random

_SAME = {
    "began": "started", "began to": "started to", "people": "persons", "large": "big", "many": "numerous",
    "used": "employed", "however": "yet", "although": "though", "because": "since", "such as": "like",
    "also": "as well", "often": "frequently", "important": "significant", "main": "principal",
    "several": "a number of", "area": "region", "created": "produced", "built": "constructed",
    "located": "situated", "country": "nation", "about": "around", "approximately": "roughly",
    "usually": "generally", "major": "chief", "known as": "called", "became": "turned into", "caused": "led to",
    "show": "demonstrate", "shows": "demonstrates", "need": "require", "help": "assist", "allow": "permit",
    "allows": "permits", "end": "finish", "ended": "finished", "kept": "maintained", "difficult": "hard",
    "rapidly": "quickly", "whole": "entire", "nearly": "almost", "therefore": "thus", "within": "inside",
    "town": "city", "obtain": "get", "received": "got", "children": "kids", "required": "needed",
    "must": "have to", "wealthy": "rich", "purchase": "buy", "movie": "film", "war": "conflict", "work": "labour",
    "story": "tale", "choose": "select", "chosen": "selected", "different": "differing", "between": "among",
    "various": "diverse", "in order to": "to",
}  # fmt: skip
_FRONTED = re.compile(
    r"^((?:In|On|At|During|After|Before|Since|By|From|Under|Until|As of|Im|Am|Nach|Vor|Seit|Bis) [^,;]{2,60})"
    r", (.{15,})\.$"
)
_CLAUSE = re.compile(r"^((?:When|While|Although|Because|If|Since|Though|Wenn|Weil|Obwohl) [^,;]{6,90}), (.{15,})\.$")
_PASSIVE = re.compile(
    r"^(.{3,60}?) (was|were|is|are) ([a-z]{3,}ed) by ([^,.;]{3,60}?)"
    r"( (?:in|on|at|from|during|for|to|as|with) .{1,60})?\.$"
)
_ACTIVE = re.compile(
    r"^((?:[A-Z][\w'\u2019-]+ ){1,4})([a-z]{3,}ed) ((?:the|a|an|its|their|his) [^,.;]{3,50}?)"
    r"((?: in| on| at| from| during| for|,) .{1,90})?\.$"
)
_ASIDE = re.compile(r" \([^()]{2,80}\)|, (?:which|who|where) [^,;.]{4,90}(?=[,.])")
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = dict(zip(_COUNTS, range(2, 13), strict=True))
_PRONOUN = re.compile(r"^(?:It|He|She|They|Es|Er|Sie) ")


def synonyms(sentence: str, random: Random) -> str | None:
    """Replace up to three words by synonyms; None if no synonym is known."""
    found = [word for word in _SAME if re.search(rf"\b{word}\b", sentence)]
    for word in random.sample(found, min(3, len(found))):
        sentence = re.sub(rf"\b{word}\b", _SAME[word], sentence, count=1)
    return sentence if found else None


def reordered(sentence: str, random: Random) -> str | None:
    """Move the words before the first comma to the end: "In 1900, it burnt." becomes "It burnt in 1900."."""
    found = _FRONTED.match(sentence) or _CLAUSE.match(sentence)
    if not found:
        return None
    return f"{_raised(found.group(2))} {_lowered(found.group(1))}."


def other_voice(sentence: str, random: Random) -> str | None:
    """Turn passive into active voice or active into passive; None if neither is possible."""
    if found := _PASSIVE.match(sentence):
        subject, _, verb, doer, rest = found.groups()
        return f"{_raised(doer)} {verb} {_lowered(subject)}{rest or ''}."
    if found := _ACTIVE.match(sentence):
        doer, verb, thing, rest = found.groups()
        return f"{_raised(thing)} was {verb} by {doer.strip()}{rest or ''}."
    return None


def shortened(sentence: str, random: Random) -> str | None:
    """Leave out brackets and relative clauses; None if there are none."""
    short = _ASIDE.sub("", sentence)
    return short if short != sentence else None


def first_half(sentence: str, random: Random) -> str | None:
    """Return the part before ", and", ", but" or ";", if it is long enough to be a sentence."""
    parts = re.split(r", (?:and|but|while|und|aber) |; ", sentence, maxsplit=1)
    return f"{parts[0]}." if len(parts) > 1 and len(parts[0].split()) >= 7 else None


def merged(sentence: str, following: str, random: Random) -> str | None:
    """Merge two neighbouring sentences into one."""
    if not sentence.endswith(".") or not following:
        return None
    joint = random.choice([", and ", "; ", ", while "])
    return f"{sentence[:-1]}{joint}{_lowered(following)}"


def numbers_respelled(sentence: str, random: Random) -> str | None:
    """Write 3,000 as 3000, seven as 7, percent as %; None if the sentence has no number."""
    other = re.sub(r"(\d),(\d{3})\b", r"\1\2", sentence)
    other = re.sub(r"(\d) ?percent\b", r"\1%", re.sub(r"(\d)%", r"\1 percent", other) if "%" in other else other)
    other = re.sub(rf"\b({'|'.join(_NUMBER_WORDS)})\b", lambda found: str(_NUMBER_WORDS[found.group()]), other)
    return other if other != sentence else None


def named(sentence: str, title: str, random: Random) -> str | None:
    """Replace a pronoun at the start by the title of the document."""
    return _PRONOUN.sub(lambda _: f"{title} ", sentence, count=1) if title and _PRONOUN.match(sentence) else None


def introduced(sentence: str, random: Random) -> str:
    """Return the sentence with an introduction that names the sources."""
    opening = random.choice(["According to the documents, ", "The text says that ", "As stated in the source, "])
    return f"{opening}{_lowered(sentence)}"


def statement(question: str, answer: str) -> str | None:
    """Join a question and its answer to one rough sentence: "When did it burn?" and "1900" to "It burn in 1900."."""
    asked = " ".join(question.strip().rstrip("?").split())
    if found := re.match(r"(?:Who|What|Which)\s+((?!did|do|does|is|are|was|were)\w+(?:ed|s)\b.{6,})", asked):
        return f"{_raised(answer)} {found.group(1)}."
    if found := re.match(r"(?:Who|What) (is|are|was|were) (.{6,})", asked):
        return f"{_raised(found.group(2))} {found.group(1)} {answer}."
    if found := re.match(r"(When|Where|In what year|In which year) (?:did|do|does|is|are|was|were) (.{6,})", asked):
        place = "" if re.match(r"(?:in|on|at|from|to|by|before|after|during)\b", answer.lower()) else "in "
        return f"{_raised(found.group(2))} {place}{answer}."
    if found := re.match(r"How (?:many|much) (.{3,})", asked):
        return f"{_raised(answer)} {found.group(1)}."
    return None


def _raised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    first = text.split(maxsplit=1)[0] if text.split() else ""
    function_words = (
        "The A An It This These Those In On At During After Before Since By From When While There Some Many"
    )
    return text[:1].lower() + text[1:] if first in function_words.split() else text


def rewrites(sentence: str, following: str, title: str, random: Random) -> dict[str, str]:
    """Return every paraphrase that the rules can make of the sentence, by the name of the rule."""
    made: Sequence[tuple[str, str | None]] = (
        ("synonyms", synonyms(sentence, random)), ("reordered", reordered(sentence, random)),
        ("other voice", other_voice(sentence, random)), ("shortened", shortened(sentence, random)),
        ("first half", first_half(sentence, random)), ("merged", merged(sentence, following, random)),
        ("respelled", numbers_respelled(sentence, random)), ("named", named(sentence, title, random)),
        ("introduced", introduced(sentence, random)),
    )  # fmt: skip
    return {name: text for name, text in made if text and text != sentence}

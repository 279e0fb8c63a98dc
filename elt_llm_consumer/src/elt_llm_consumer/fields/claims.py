"""Whether words that a model wrote claim anything: a heading, or words without a verb, do not.

"D4 Size of squads" stands in the texts word for word, and says nothing of anything.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from elt_llm_core.text.normalise import fold
from elt_llm_query.answer.pieces import without_markup
from elt_llm_query.answer.statements import without_marks
from elt_llm_query.understand import question_language

from elt_llm_consumer.fields.cues import verbs
from elt_llm_consumer.fields.statements import bare_title
from elt_llm_consumer.handbook.verbs import Verbs

_WORD: Final = re.compile(r"[^\W\d_]{1,60}")
_LONGEST_HEADING: Final = 8
_SHORTEST_VERB: Final = 4
_DETERMINERS: Final = frozenset(
    (
        *("the", "a", "an", "this", "that", "these", "those", "each", "every", "any", "all", "no", "its", "their"),
        *("his", "her", "one", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "jeder", "jede", "jedes"),
    )
)
_PRONOUNS: Final = frozenset({"it", "they", "he", "she", "we", "who", "es", "sie", "er", "wir"})
_BEFORE_NOUN: Final = _DETERMINERS | {"of", "for", "on", "in", "by", "to", "with", "from", "and", "or", "about"}


def claims(text: str, titles: Collection[str] = ()) -> bool:
    """Whether `text` says something of something; `titles` are headings, as they stand over the passages."""
    bare = without_markup(text).strip()
    if _title(bare) in {_title(title) for title in titles} - {""}:
        return False
    words = _WORD.findall(bare)
    if len(words) > _LONGEST_HEADING and bare.endswith((".", "!", "\u201d", '"')):
        return True
    return _has_verb(bare, words)


def headings_apart(reply: str) -> str:
    """The reply with an empty line below each line that claims nothing: else it would be part of the next sentence."""
    lines = reply.splitlines()
    following = [*lines[1:], ""]
    return "\n".join(
        f"{line}\n" if _is_apart(line.strip(), after.strip()) else line
        for line, after in zip(lines, following, strict=True)
    )


def _is_apart(line: str, following: str) -> bool:
    bare = without_marks(without_markup(line)).strip()
    short = len(bare.split()) <= _LONGEST_HEADING and not bare.endswith((",", ";"))
    return bool(bare) and following[:1].isupper() and short and not claims(bare)


def _title(text: str) -> str:
    return fold(bare_title(text)).strip(" .:")


def _has_verb(text: str, words: list[str]) -> bool:
    if verbs().spans(text):
        return True
    if question_language(text) == "de":
        return any(word.islower() and len(word) >= _SHORTEST_VERB and word.endswith(("t", "en")) for word in words)
    is_whole = text.endswith((".", "!"))
    return any(_is_verb(words, place, is_whole=is_whole) for place in range(1, len(words)))


def _is_verb(words: list[str], place: int, *, is_whole: bool) -> bool:
    """Whether a word is done by what stands before it.

    A plural may look like a verb. It is one before "the", "each" or "its", and in a sentence that has its full stop and
    begins with one of these; so is what a plural does.
    """
    word, before, first = words[place], words[place - 1].casefold(), words[0].casefold()
    following = words[place + 1].casefold() if place + 1 < len(words) else ""
    if not word.islower() or before in _BEFORE_NOUN:
        return False
    if word.endswith("ed") or _known().base(word, "past", "participle"):
        return True
    is_base, ends_so = _known().base(word, "base") is not None, word.endswith("s")
    if before in _PRONOUNS or following in _DETERMINERS:
        return is_base or ends_so
    if is_base:
        return is_whole and before.endswith("s")
    return is_whole and ends_so and first in _DETERMINERS


@cache
def _known() -> Verbs:
    return Verbs()

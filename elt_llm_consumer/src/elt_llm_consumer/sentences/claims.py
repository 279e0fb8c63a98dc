"""Check whether sentences that a language model wrote make a claim, and whether they use the words of their quotes.

Grounding compares a sentence with many chunks by meaning and words. One shared word may be enough to support a short
sentence such as "Obey the club." or "What does that mean for a club?". The value of a cell needs more support. "D4 Size
of squads" occurs verbatim in the texts, but does not make a claim.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.citations import strip_citation_marks
from elt_llm_query.grounding.grounding import GroundedSentence
from elt_llm_query.grounding.sentences import strip_markup
from elt_llm_query.understanding.question import question_language

from elt_llm_consumer.sentences.statements import bare_title
from elt_llm_consumer.sentences.words import finite_verbs, listed_verbs, word_list

_WORD: Final = re.compile(r"[^\W\d_]{1,60}")
_MAX_HEADING_WORDS: Final = 8
_MIN_GERMAN_VERB: Final = 4  # minimum letters of a German word that may be a verb
_DETERMINERS: Final = word_list("claim_determiners")
_PRONOUNS: Final = word_list("claim_pronouns")
_BEFORE_NOUN: Final = _DETERMINERS | {"of", "for", "on", "in", "by", "to", "with", "from", "and", "or", "about"}
_SHORT_SENTENCE = 4  # maximum stems of a short sentence
_MIN_SHARE_SHORT, _MIN_SHARE = 0.75, 0.5


def makes_claim(text: str, titles: Collection[str] = ()) -> bool:
    """Return whether `text` makes a claim, unlike a heading. `titles` are the headings above the supporting chunks."""
    bare = strip_markup(text).strip()
    if _folded_title(bare) in {_folded_title(title) for title in titles} - {""}:
        return False
    words = _WORD.findall(bare)
    if len(words) > _MAX_HEADING_WORDS and bare.endswith((".", "!", "\u201d", '"')):
        return True
    if finite_verbs().spans(bare):
        return True
    if question_language(bare) == "de":
        return any(word.islower() and len(word) >= _MIN_GERMAN_VERB and word.endswith(("t", "en")) for word in words)
    return any(_is_verb(words, at, is_whole=bare.endswith((".", "!"))) for at in range(1, len(words)))


def separate_headings(reply: str) -> str:
    """Return the reply with an empty line after each heading, so that the heading is not read as part of a sentence."""
    lines, separate = reply.splitlines(), list[str]()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        bare = strip_citation_marks(strip_markup(line.strip())).strip()
        short = 0 < len(bare.split()) <= _MAX_HEADING_WORDS and not bare.endswith((",", ";"))
        is_heading = short and after.strip()[:1].isupper() and not makes_claim(bare)
        separate.append(f"{line}\n" if is_heading else line)
    return "\n".join(separate)


def _folded_title(text: str) -> str:
    return fold(bare_title(text)).strip(" .:")


def _is_verb(words: list[str], at: int, *, is_whole: bool) -> bool:
    """Return whether the word at position `at` is the verb of the subject before it.

    A plural noun may look like a verb. The word counts as a verb if a determiner such as "the" follows it. It also
    counts if the whole sentence starts with a determiner, or if the subject is plural.
    """
    word, before, first = words[at], words[at - 1].casefold(), words[0].casefold()
    following = words[at + 1].casefold() if at + 1 < len(words) else ""
    if not word.islower() or before in _BEFORE_NOUN:
        return False
    if word.endswith("ed") or listed_verbs().base(word, "past", "participle"):
        return True
    is_base, ends_in_s = listed_verbs().base(word, "base") is not None, word.endswith("s")
    if before in _PRONOUNS or following in _DETERMINERS:
        return is_base or ends_in_s
    return is_whole and (before.endswith("s") if is_base else ends_in_s and first in _DETERMINERS)


def check_word_overlap(sentences: Sequence[GroundedSentence], tokeniser: KeywordTokeniser) -> list[GroundedSentence]:
    """Return the sentences, with a lower verdict for each sentence whose quotes contain too few of its words.

    A sentence of at most four word stems keeps its verdict only if one quote contains three quarters of them; otherwise
    it is unsupported. If the quotes of a longer sentence contain less than half of its stems, it is partly supported.
    """
    return [_check_sentence(sentence, tokeniser) for sentence in sentences]


def _check_sentence(sentence: GroundedSentence, tokeniser: KeywordTokeniser) -> GroundedSentence:
    stems = frozenset(tokeniser.stems(sentence.text))
    if sentence.verdict not in {"supported", "partly"} or not stems:
        return sentence
    quotes = [frozenset(tokeniser.stems(f"{one.chunk.section or ''} {one.words}")) for one in sentence.quotes]
    if len(stems) <= _SHORT_SENTENCE:
        most = max((len(stems & quote) for quote in quotes), default=0)
        return sentence if most >= _MIN_SHARE_SHORT * len(stems) else replace(sentence, verdict="unsupported")
    enough = len(stems & frozenset().union(*quotes)) >= _MIN_SHARE * len(stems)
    return sentence if enough else replace(sentence, verdict="partly")

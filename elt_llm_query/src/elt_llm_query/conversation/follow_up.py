"""Rewrite a follow-up question by rules: "and for juniors?" after a question about seniors.

The search uses the rewritten question, which is also shown, so that a wrong guess is visible. Each swap returns the new
question, or an empty text if its rule does not apply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_core.text.normalise import fold, words
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.understanding.question import numbers_of, parse_question, question_language

CONNECTIVE: Final = re.compile(
    r"^(?:and|but|or|so|ok(?:ay)?|also|then|now(?=\s\w)|yes|no|thanks|thank you|und|aber|oder|auch|dann|danke)\b"
    r"[\s,.!:-]{0,5}",
    re.IGNORECASE,
)
ABOUT: Final = re.compile(
    r"^(?:what|how) about\b\s*|^what if(?: it(?:'s| is))?\b\s*|^(?:the )?same (?:question )?(?=(?:for|with)\b)"
    r"|^(?:was|wie) (?:ist|wäre|ware) (?:es )?(?:mit|bei)\b\s*|^wie (?:sieht es|steht es) (?:mit|bei)\b\s*",
    re.IGNORECASE,
)
POLITE: Final = re.compile(r"\b(?:please|bitte)\b|(?<=\w)\s+aus(?=\W{0,3}$)", re.IGNORECASE)
# "es gibt", the "one" of "one of these" and "IT" are no pronouns.
PRONOUN: Final = re.compile(
    r"\b(?:(?!IT\b)[Ii]t|[Tt]hey|[Tt]hem|[Tt]heirs|[Hh]e|[Hh]im|[Ss]he|[Hh]ers|[Oo]nes?(?! of\b)|former|latter"
    r"|[Ee]r|ihn|ihm|[Ss]ie|(?<!gibt )(?<!geht )[Ee]s(?! (?:gibt|geht|sich|handelt|kommt)\b)"
    r"|[Dd]avon|[Dd]af(?:ü|u)r|[Dd]azu|[Dd]amit|[Dd]ar(?:ü|u)ber)\b"
)
POSSESSIVE: Final = re.compile(
    r"\b(?:[Ii]ts|[Tt]heir|[Hh]is|[Hh]er|[Ii]hr(?:e[mnrs]?)?|[Ss]ein(?:e[mnrs]?)?|[Dd]essen|[Dd]eren)\b"
)
DEMONSTRATIVE: Final = re.compile(
    r"\b(?:this|that|these|those|there|such|dies|diese|dieser|dieses|das|dort|solche\w?)\b"
    r"(?=\s*(?:\?|!|\.|,|$|(?<!there )is\b|(?<!there )are\b|was\b|were\b|be\b|mean|appl|count|cost|happen|take|last"
    r"|work|include|allowed|possible|too\b|also\b|case\b|rule\b|ist\b|sind\b|gilt\b|gelten\b|kostet\b|dauert\b"
    r"|erlaubt\b|auch\b))"
)
# "Is there a course too?" refers to the last topic.
BESIDES: Final = re.compile(r"\b(?:too|as well|else|auch)\W{0,3}$", re.IGNORECASE)
# The start of a clause: a pronoun after it mostly refers to something before it.
CLAUSE: Final = re.compile(
    r",|\b(?:when|if|while|because|as|after|before|since|until|that|which|who|whose|where"
    r"|wenn|weil|dass|als|bevor|nachdem|ob|um)\b",
    re.IGNORECASE,
)
PREPOSITION: Final = re.compile(
    r"^(for|in|on|at|by|with|without|from|to|of|during|after|before|under|over|between"
    r"|fur|für|bei|mit|ohne|von|nach|vor|wahrend|während|im|am|aus|zu|unter)\s+\S",
    re.IGNORECASE,
)
# Longer ones first: "how" alone would match a part of "how many".
ASKING: Final = re.compile(
    r"how (?:long|much|many|often|old|far|big|soon|late|early|quickly|fast|heavy|high|tall|wide|large|so)"
    r"|for how long|since when|until when|by when|by whom|from when|at what (?:time|cost|price)|says who"
    r"|where exactly|why not|why|whose|whom"
    r"|who|when|where|which|what|how"
    r"|wie (?:lange|viele|viel|oft|alt|weit|hoch|groß|gross|schwer)|seit wann|bis wann|ab wann|von wem|durch wen"
    r"|wie das|warum|weshalb|wieso|wer|wem|wen|wann|wohin|woher|wo|wie|was"
)
ASKING_WHICH: Final = re.compile(
    r"(?:in|on|at|by|to|for|from|under|within|an|zu|bis|ab|mit|unter) (?:which|what|welche[mnrs]?) \w+", re.IGNORECASE
)
# Other words that may start a question without a name.
ASKING_THINGS: Final = re.compile(r"^(?:(?:which|what|welche[mnrs]?|wof(?:ü|u)r|womit|wozu|wovon)\s+\w)", re.IGNORECASE)
AUXILIARY: Final = (
    r"(?:is|are|was|were|does|do|did|can|could|may|might|must|should|shall|will|would|has|have|had"
    r"|ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|darf|dürfen|kann|können|muss|müssen|soll|sollen)"
)
REASONS: Final = re.compile(r"(?:is|are|do|does|did|can|may|must|should|will|has|have|darf|kann|muss|gilt|gibt)\b")
# "What is sepsis?" names its topic; "what is the deadline?" refers to the last one.
DEFINED: Final = re.compile(
    r"^(?:what|who|was|wer) (?:is|are|was|were|ist|sind|war|waren)\s+"
    r"(?!(?:the|this|that|these|those|it|its|his|her|their|der|die|das|dies\w{0,2}|sein\w{0,2}|ihr\w{0,2})\b)\S",
    re.IGNORECASE,
)
# Words that are mostly verbs after "does", "can" or "are" with a subject between; and participles.
VERB: Final = (
    r"(?:cost|last|take|need|receive|get|pay|earn|play|start|begin|end|close|open|count|apply|happen|require|include"
    r"|contain|do|have|be|become|serve|bring|lose|win|vote|appeal|register|carry|weigh|measure|stand|attend|join"
    r"|leave|wear|use|ask|keep|hold|make|give|meet|say|decide|sign|kept|paid|made|held|sold|given|sent|taken|chosen"
    r"|played|won|lost|[a-z]{3,20}ed)"
)
# The first group is the code itself; the word before it is its kind.
CODE: Final = re.compile(
    r"\b(?:(?:Grade|Class|Level|Category|Type|Part|Rule|Section|Article|Stufe|Klasse|Regel|Abschnitt|Artikel) )?"
    r"([A-Z]{1,4}[-.]?\d{1,4}(?:\.\d{1,3})*|\d{1,4}[A-Z]{1,3}|[Uu](?:nder)?[- ]?\d{1,2}s?"
    r"|(?<=Grade )[A-Z]|(?<=Class )[A-Z]|(?<=Level )\w|(?<=Category )\w|(?<=Type )\w|(?<=Part )\w|(?<=Stufe )\w"
    r"|(?<=Klasse )\w)\b"
)
TIME: Final = re.compile(
    r"\b(?:now(?:adays)?|today|tomorrow|yesterday|(?:last|this|next) (?:year|season|month|week|quarter|spring|summer"
    r"|autumn|winter)|heute|jetzt|morgen|gestern|(?:letzte|diese|nächste)[mnrs]? (?:jahr|saison|monat|woche|quartal))\b"
    r"(?:'s)?",
    re.IGNORECASE,
)
BOUNDARIES: Final = (
    r"(?:for|in|on|at|by|with|from|to|of|during|after|before|until|is|are|was|were|do|does|did|can|may|must|should|will"
    r"|has|have|had|and|or|the|a|an|der|die|das|des|dem|den|ein|eine|einer|und|oder|ist|sind|hat|haben|muss|darf|kann"
    r"|what|which|who|how|when|where|was|welche|wie|wer|wann|wo)"
)
ARTICLE: Final = r"(?:the|an?|der|die|das|des|dem|den|eine?[mnrs]?)"
_FEWEST_ALIKE = 2  # words of a phrase that is swapped by its last word
_MOST_WORDS = 5  # of a text with a code or a number and nothing else
_SHORT = 5  # words: a longer text without a pronoun or "what about" is a complete question
_SHORT_CONNECTED = 8
_FEW_TERMS = 4  # content words: with more a pronoun is taken to refer to the question itself
_MOST_EXCHANGED = 3  # content words that may replace a subject: more are a question of their own
_MOST_TOPIC = 8  # words of an earlier question that are its topic


@dataclass(frozen=True)
class EarlierTurn:
    """An earlier turn: the rewritten question and the topics of its answer, best first."""

    question: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class RewrittenQuestion:
    """The question to ask and the rule that rewrote it; no rule for a complete question."""

    text: str
    rule: str = ""


def swap_label(fragment: str, last: str) -> str:
    """Replace the one code or number of the last question by the new one, if the fragment has nothing else."""
    if len(fragment.split()) > _MOST_WORDS:
        return ""

    def codes(text: str) -> tuple[str, ...]:
        """The codes in a text, without the word for their kind, which the last question keeps."""
        return tuple(dict.fromkeys(code[1] for code in CODE.finditer(text)))

    for labels in (codes, numbers_of):
        now, then = labels(fragment), labels(last)
        if len(now) == 1 and len(then) == 1 and now != then:
            others = words(_without_article(fragment).replace(now[0], " ", 1))
            if set(others) <= set(words(last)):
                before, _, after = last.partition(then[0])
                return f"{before}{now[0]}{after}"
    return ""


def swap_phrase(fragment: str, last: str) -> str:
    """Replace the phrase of the last question with the same ending, or start, as in "for seniors" and "for juniors".

    Question words before such a phrase ("how many for juniors?") must repeat those of the last question.
    """
    asking = _AGAIN.match(fragment)
    if asking and words(last)[: len(asking[1].split())] == words(asking[1]):
        fragment = fragment[asking.end() :]
    fragment = _substitute_noun(fragment, last)
    for part, pattern in (_match_ending(fragment), _match_start(fragment)):
        matches = list(re.finditer(pattern, last, re.IGNORECASE)) if pattern else []
        if matches:
            return _replace_span(last, *matches[-1].span(), part)
    return ""


def swap_time(fragment: str, last: str) -> str:
    """Replace the time of the last question: "last year", "and now?"."""
    if not TIME.fullmatch(fragment):
        return ""
    times = list(TIME.finditer(last))
    if not times:
        return f"{last.rstrip('?!. ')} {fragment}?"
    return f"{last[: times[-1].start()]}{fragment}{last[times[-1].end() :]}"


def is_kind_phrase(text: str) -> bool:
    """Whether it is a phrase with "one" for the noun of the last question, such as "a youth one"."""
    return bool(_ONE.search(text.rstrip("?!. "))) and not _ASKS.match(text) and len(text.split()) <= _MOST_WORDS


def _match_ending(fragment: str) -> tuple[str, str]:
    """The new phrase and an expression for the phrase it replaces, empty if there is none."""
    opening = PREPOSITION.match(fragment)
    part = fragment[opening.end(1) :].lstrip() if opening else fragment
    bare = _without_article(part).split()
    if len(bare) < _FEWEST_ALIKE or _ASKS.match(part):
        return part, ""
    return part, rf"(?:\b{ARTICLE}\s+)?(?:\b(?!{BOUNDARIES}\b)[\w-]+\s+)?\b{re.escape(bare[-1])}\b"


def _match_start(fragment: str) -> tuple[str, str]:
    """As `_match_ending`; a phrase with an article is replaced only at the end, elsewhere it may be the topic."""
    bare = _without_article(fragment)
    opening = PREPOSITION.match(bare)
    if not opening:
        return fragment, ""
    word = re.escape(opening[1])
    return bare, rf"\b{word}\s+{_phrase(4, BOUNDARIES)}|\b{word}\s+{ARTICLE}\s+{_phrase(4, BOUNDARIES)}(?=\W{{0,3}}$)"


def swap_subject(fragment: str, last: str) -> str:
    """Replace the subject of the last question: "What does a loan cost?", "and a transfer?"."""
    if PREPOSITION.match(fragment) or _ASKS.match(fragment):
        return ""
    for pattern in (_ENGLISH, _WHO, _GERMAN_AUXILIARY, _GERMAN):
        if match := pattern.match(last):
            start, end = match.span("subject")
            replaced = _replace_span(last, start, end, fragment)
            if re.match(r"an?\s", fragment, re.IGNORECASE):  # "is" for "are" before one thing
                return _PLURAL_VERB.sub(lambda verb: _SINGULAR[verb[1]], last[:start]) + replaced[start:]
            return replaced
    if re.match(r"the\b", fragment, re.IGNORECASE) and (match := _WHAT_IS.match(last)):
        return _replace_span(last, *match.span("subject"), fragment)
    return ""


def swap_question_word(asking: str, last: str) -> str:
    """Replace the question words of the last question: "When is the draw made?", "where?"."""
    head = _HEAD.match(last)
    return f"{asking[:1].upper()}{asking[1:]} {last[head.end() :].rstrip('?!. ')}?" if head else ""


_GERMAN_PREPOSITION = r"(?:für|fur|bei|mit|ohne|von|nach|vor|während|im|am|aus|zu|zum|zur|unter|in|an|auf)"
_GERMAN_ASKING = r"(?:wie (?:lange|viel|oft|hoch|alt|groß|gross|schwer)|was|wann|wo|wer|warum)"


def _phrase(most: int, stop: str = r"(?!)") -> str:
    """An expression for one to `most` words without words of `stop`."""
    word = rf"(?!{stop}\b)[\w'-]+"
    return rf"{word}(?:\s+{word}){{0,{most - 1}}}"


_HEAD = re.compile(rf"(?:{ASKING.pattern})(?<!many)(?<!much)(?: an? [\w-]+)?\s+(?={AUXILIARY}\b)", re.IGNORECASE)
_ENGLISH = re.compile(
    rf"(?:{ASKING.pattern})\b(?:\s+\w+){{0,2}}?\s+(?:is|are|was|were|does|do|did|can|may|must|should|will)\s+"
    rf"(?P<subject>{_phrase(8)}?)\s+{VERB}\b",
    re.IGNORECASE,
)
_WHO = re.compile(
    rf"who\s+(?!{AUXILIARY}\b)\w+\s+(?P<subject>{ARTICLE}\s+{_phrase(4, BOUNDARIES)})",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(
    rf"(?:what|who) (?:is|are|was|were)\s+(?P<subject>the\s+{_phrase(4, '(?:for|in|on|at|of|to)')})", re.IGNORECASE
)
_GERMAN_AUXILIARY = re.compile(
    rf"{_GERMAN_ASKING} (?:wird|werden|wurde|wurden|muss|müssen|darf|dürfen|kann|können|soll|sollen)\s+"
    rf"(?P<subject>{_phrase(5, _GERMAN_PREPOSITION)}?)"
    r"(?=(?:\s+[\w-]+){0,4}\s+[a-zäöü]+\W{0,3}$)",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    rf"{_GERMAN_ASKING} (?!{AUXILIARY}\b)[a-zäöüß]+(?:t|en)\s+(?P<subject>{_phrase(5, _GERMAN_PREPOSITION)}?)"
    rf"(?=(?:\s+(?:statt|ab|an|aus|ein|zu))?\W{{0,3}}$|\s+{_GERMAN_PREPOSITION}\s)",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"(?:{ASKING.pattern})\b", re.IGNORECASE)
_SINGULAR = MappingProxyType({"are": "is", "were": "was", "do": "does"})
_PLURAL_VERB = re.compile(r"\b(are|were|do)(?=\s$)")
_LEADING_ARTICLE = re.compile(rf"^{ARTICLE}\s+", re.IGNORECASE)
_ONE = re.compile(r"(?<=\w )ones?$", re.IGNORECASE)
_AGAIN = re.compile(rf"^({ASKING.pattern})\s+(?={PREPOSITION.pattern[1:]})", re.IGNORECASE)
_AN = re.compile(r"\b([Aa])n?(\s+)(?=([\w-]+))")
_SOUNDED = re.compile(r"(?:[aeio]|u(?!n[ií]|se|til)|8|11\b|18\b|hour|honest)", re.IGNORECASE)


def _without_article(fragment: str) -> str:
    return _LEADING_ARTICLE.sub("", fragment)


def _substitute_noun(fragment: str, last: str) -> str:
    """Replace "one" by the last word of the question, or of its subject if the question ends with a verb."""
    if not _ONE.search(fragment):
        return fragment
    match = _ENGLISH.match(last)
    nouns = re.findall(r"[\w-]+", match["subject"] if match and re.search(rf"\b{VERB}\W*$", last) else last)
    return _ONE.sub(nouns[-1], fragment)


def _replace_span(last: str, start: int, end: int, fragment: str) -> str:
    """Replace a span by the fragment with its own article, else with the former one, "a" or "an" as it fits."""
    old = last[start:end].rstrip()
    end = start + len(old)
    article, has_article = _LEADING_ARTICLE.match(old), bool(_LEADING_ARTICLE.match(fragment))
    if article and not has_article and not PREPOSITION.match(fragment):
        fragment = f"{article[0]}{fragment}"
    fragment = _AN.sub(lambda match: f"{match[1]}{'n' if _SOUNDED.match(match[3]) else ''}{match[2]}", fragment)
    return f"{last[:start]}{fragment}{last[end:]}"


def rewrite_by_rules(
    question: str, before: Sequence[EarlierTurn], tokeniser: KeywordTokeniser | None = None
) -> RewrittenQuestion:
    """Rewrite the question so that it needs no earlier turn; `before` has the turns so far, oldest first."""
    text = " ".join(question.split())
    rest, connected = _without_connective(text)
    if not before or not words(rest):
        return RewrittenQuestion(text)  # no earlier turn, or no question: thanks
    tokeniser = tokeniser or KeywordTokeniser(question_language(before[-1].question))
    last = before[-1]
    asking = fold(rest).strip(" ?!.")
    if ASKING.fullmatch(asking) or ASKING_WHICH.fullmatch(asking):  # why, how long, since when ...
        swapped = swap_question_word(rest.rstrip("?!. "), last.question)
        rule = "other asking words in the same question"
        return RewrittenQuestion(swapped, rule) if swapped else _add_topic(rest, last, tokeniser)
    if not _depends_on_earlier(rest, connected, tokeniser):
        return RewrittenQuestion(text)
    if _has_open_pronoun(rest, tokeniser):
        return _add_topic(rest, last, tokeniser)
    # A few words without question mark and "for ..." may be a complete search.
    may_be_search = not rest.endswith("?") and not PREPOSITION.match(rest) and len(_content(rest, tokeniser)) > 1
    is_search = not connected and may_be_search
    swapped_part = _swap_part(rest, last, tokeniser, may_be_subject=not is_search)
    return swapped_part or (RewrittenQuestion(text) if is_search else _append_fragment(rest, last, tokeniser))


def _swap_part(
    rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser, *, may_be_subject: bool
) -> RewrittenQuestion | None:
    """Swap a part of the last question by the first rule that applies and keeps all words of the fragment."""
    fragment = rest.rstrip("?!. ")
    rules = [
        ("another code or number in the same question", swap_label),
        ("another time in the same question", swap_time),
        ("another phrase in the same question", swap_phrase),
    ]
    if may_be_subject and not _has_verb(fragment) and len(_content(fragment, tokeniser)) <= _MOST_EXCHANGED:
        rules.append(("another subject of the same question", swap_subject))
    for rule, swap in rules:
        swapped = swap(fragment, last.question)
        if swapped and _keeps_content(fragment, swapped, tokeniser):
            return RewrittenQuestion(swapped, rule)
    return None


def _keeps_content(fragment: str, swapped: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether every content word and every name, even one like a common word, is still there."""
    named = {word for name in parse_question(fragment, tokeniser).names for word in words(name)}
    stems = set(tokeniser.stems(fragment)) - set(tokeniser.stems("one ones"))
    return named <= set(words(swapped)) and stems <= set(tokeniser.stems(swapped))


def _without_connective(text: str) -> tuple[str, bool]:
    """Remove "and", "what about" and "please"; the second value is true if it started with one of the first two."""
    rest, connected = text, False
    for pattern in (CONNECTIVE, ABOUT, CONNECTIVE):
        shorter = pattern.sub("", rest, count=1)
        connected |= shorter != rest
        rest = shorter
    return POLITE.sub("", rest).strip(" ,.;"), connected


def _depends_on_earlier(rest: str, connected: bool, tokeniser: KeywordTokeniser) -> bool:
    if _has_open_pronoun(rest, tokeniser):
        return len(_content(rest, tokeniser)) <= _FEW_TERMS
    if len(rest.split()) > (_SHORT_CONNECTED if connected else _SHORT) or (not connected and DEFINED.match(rest)):
        return False
    # A question with its own subject is complete.
    asks = _has_verb(rest) or (not connected and bool(ASKING_THINGS.match(rest)))
    named = not connected and bool(parse_question(rest, tokeniser).names)
    return not (asks and (named or len(_content(rest, tokeniser)) > 1))


def _content(text: str, tokeniser: KeywordTokeniser) -> list[str]:
    """The words with a stem, as written, except question words; "tall" of "how tall" is content."""
    content = text if _MEASURED.match(text) else _ASKING_FIRST.sub("", text)
    return [word for word in content.split() if tokeniser.stems(word)]


def _has_verb(rest: str) -> bool:
    return parse_question(rest).kind != "other" or bool(REASONS.match(fold(rest)))


def _has_open_pronoun(rest: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether a pronoun refers to an earlier turn, and not to the question itself."""
    if DEMONSTRATIVE.search(fold(rest)) or (_has_verb(rest) and BESIDES.search(rest)):
        return len(_content(rest, tokeniser)) < _FEW_TERMS
    if possessive := POSSESSIVE.search(rest):
        return not (_content(rest[: possessive.start()], tokeniser) and len(_content(rest, tokeniser)) > 2)
    pronoun = PRONOUN.search(rest)
    if pronoun is None or is_kind_phrase(rest):
        return False
    # A pronoun may refer to a name before it, or to the subject of an earlier clause.
    before = rest[: pronoun.start()]
    clauses = list(CLAUSE.finditer(before, 1))
    has_subject = bool(clauses) and len(_content(before[: clauses[-1].start()], tokeniser)) > 1
    return not (has_subject or parse_question(before, tokeniser).names)


_ASKING_FIRST = re.compile(rf"^(?:{ASKING.pattern})\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"^(?:how|wie) (?!(?:long|much|many|often|soon|late|early|so|lange|viel|viele|oft|das)\b)\w+\s", re.IGNORECASE
)
_MEASURE = re.compile(rf"^(?:how|wie) \w+\s+(?={AUXILIARY}\b)", re.IGNORECASE)


def _add_topic(rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser) -> RewrittenQuestion:
    """Append the content words of the last question or, if it has none, the topic of its answer."""
    surfaces = parse_question(_MEASURE.sub("", last.question), tokeniser).surfaces
    content = dict.fromkeys(word for word in surfaces if not ASKING.fullmatch(fold(word)))
    topic = " ".join(list(content)[:_MOST_TOPIC]) or next(iter(last.topics), "")
    if not topic:
        return RewrittenQuestion(rest)
    return RewrittenQuestion(f"{rest.rstrip('?!. ')} ({topic})?", "with the last topic")


def _append_fragment(rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser) -> RewrittenQuestion:
    if _has_verb(rest):
        return _add_topic(rest, last, tokeniser)
    added = rest.rstrip("?!. ")
    is_known = set(words(added)) <= set(words(last.question))
    appended = last.question if is_known else f"{last.question.rstrip('?!. ')}, {added}?"
    return RewrittenQuestion(appended, "the last question, about this")

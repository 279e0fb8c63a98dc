"""Whether the sentences deny what a question takes for granted: "why is lime used" against "lime must not be used"."""

import re
from collections.abc import Sequence

from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.expected_values import figures
from elt_llm_query.answer.sentence_scores import ScoredSentence
from elt_llm_query.answer.term_weights import match

_NO = re.compile(
    r"\b(?:no|not|never|cannot|nor|neither|none|nobody|forbidden|prohibited)\b(?! (?:more|less|fewer|later|earlier"
    r"|longer|further|sooner|only|one|even|necessarily|yet)\b)|n't\b|\b(?:kein(?:e[rnms]?)?|nicht|nie|niemals)\b"
)
# Words by which a question itself asks for what is not done.
_ASKS_FOR_NOT = re.compile(
    r"\b(?:stop|stopped|forbid|forbidden|ban|banned|prohibit|prohibited|avoid|without|refuse[ds]?|refusal|lose|lost"
    r"|fails?|failed|miss|missed|unable|prevent|prevented|illegal|too)\b|\b(?:un|in|dis)\w{5,}"
)
_FORBIDDING = re.compile(
    r"\b(?:stop|stopped|forbid|forbidden|ban|banned|prohibit|prohibited|avoid|prevent|prevented)\b"
)
_NEGATION = re.compile(rf"\bno one\b|{_NO.pattern}")
# "Not before", "not more than": a limit, not a denial.
_LIMITS = re.compile(
    r"\b(?:until|before|unless|except|without|but|only|if|other than|at least|(?:more|less|fewer|later|earlier) than"
    r"|bis|bevor|ohne|ausser|mehr als|weniger als)\b"
)
_REACH = 12
_LEAST = 0.3


def denial(asking: Asking, chosen: Sequence[ScoredSentence]) -> float:
    """How much of the question the sentences deny, 0 to 1; 0 for questions that "no" can answer."""
    if asking.question.kind == "yes_no":
        return 0.0
    named = frozenset(stem for name in asking.question.names for stem in asking.tokeniser.stems(name))
    terms = [term for term in asking.question.terms if term not in named and not term.isdigit()]
    return max(_denies(asking, terms, sentence) for sentence in chosen)


def _denies(asking: Asking, terms: Sequence[str], sentence: ScoredSentence) -> float:
    question, said = fold(asking.question.text), fold(sentence.candidate.spoken)
    if _NO.search(question):
        return 0.0 if _NO.search(said) else _share(asking, terms, sentence.stems)
    if _ASKS_FOR_NOT.search(question):
        return 0.0
    shares = (
        _share(asking, terms, asking.stems(" ".join(clause.split()[:_REACH]))) for clause in _denied(asking, said)
    )
    return max((_LEAST + (1.0 - _LEAST) * share for share in shares if share), default=0.0)


def without_limits(asking: Asking, said: str) -> str:
    """A folded text without the negations that are no denial: limits ("not before noon"), the figure asked for.

    To a question for what is forbidden no negation is one.
    """
    forbidding = bool(_FORBIDDING.search(fold(asking.question.text)))
    kept, last = [], 0
    for found in _NEGATION.finditer(said):
        if forbidding or not _says_no(asking, _clause(said, found)):
            kept.append(said[last : found.start()])
            last = found.end()
    return "".join([*kept, said[last:]])


def _denied(asking: Asking, said: str) -> list[str]:
    """What follows a negation up to the next stop; a figure there is what the question asks for, and no denial."""
    clauses = (_clause(said, found) for found in _NO.finditer(said))
    return [clause for clause in clauses if _says_no(asking, clause)]


def _clause(said: str, negation: re.Match[str]) -> str:
    return re.split(r"[,;:.]", said[negation.end() :])[0]


def _says_no(asking: Asking, clause: str) -> bool:
    question = asking.question
    return not _LIMITS.search(clause) and not (question.expects_figure and figures(question, clause))


def _share(asking: Asking, terms: Sequence[str], stems: frozenset[str]) -> float:
    weight = sum(asking.weights.idf(term) for term in terms)
    return sum(asking.weights.idf(term) * match(term, stems) for term in terms) / weight if weight else 0.0

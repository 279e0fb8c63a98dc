"""Whether a sentence says the contrary of what a question takes for granted.

A question is read as a claim without its asking word: "when did the party lose the election" against "the party won the
election in 1971", or "which rule does not apply" against "rule 7 applies".
"""

import re
from collections.abc import Callable

from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.claim_slots import align
from elt_llm_query.answer.claim_tokens import read_sentence
from elt_llm_query.answer.denial import without_limits
from elt_llm_query.answer.sentence_scores import ScoredSentence

_ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how(?: (?:many|much|long|far|old|often|large|big|high))?"
    r"|did|does|do|wer|wen|wem|was|wann|wo|warum|wie)\b",
    re.IGNORECASE,
)
_FEWEST_SHARED = 0.25
_LEAST = 0.5


def contradiction(asking: Asking, sentence: ScoredSentence) -> float:
    """How much the sentence contradicts, 0 or 0.5 to 1: more, the more of the question it shares.

    0 for questions that "no" can answer, and between texts that have too little in common.
    """
    if asking.question.kind == "yes_no" or sentence.coverage <= _FEWEST_SHARED:
        return 0.0
    said = fold(sentence.candidate.spoken)
    # A denial may be a limit only, and a limit may take a contrary back: "does not begin until", asked when to start.
    readings = dict.fromkeys([said, without_limits(asking, said)])
    if not all(_contradicts(asking, reading) for reading in readings):
        return 0.0
    return _LEAST + (1.0 - _LEAST) * min(1.0, sentence.coverage)


def _contradicts(asking: Asking, said: str) -> bool:
    is_name = _is_name(asking)
    claim = read_sentence(_claimed(asking), asking.tokeniser, is_name)
    source = read_sentence(said, asking.tokeniser, is_name)
    return bool(asking.contraries.find(claim, source, align(claim, source)))


def _claimed(asking: Asking) -> str:
    """The question, the last one after other sentences, without the words that ask."""
    parts = asking.question.parts
    said = parts[0] if len(parts) == 1 else asking.question.text
    return " ".join(_ASKING.sub(" ", said).strip(" ?").split())


def _is_name(asking: Asking) -> Callable[[str, bool], bool]:
    """Capitalised words within a sentence are names, but in German, where every noun is capitalised."""
    return lambda _, at_start: not at_start and asking.question.language == "en"

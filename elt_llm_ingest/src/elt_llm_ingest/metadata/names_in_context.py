"""Organisations told by what stands around their names: "the charity X", "X is a company", "X employees"."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_ingest.metadata.acting_acronyms import NO_ACRONYMS
from elt_llm_ingest.metadata.name_runs import Run, Word
from elt_llm_ingest.metadata.organisation_names import trimmed
from elt_llm_ingest.metadata.organisation_words import GENERIC, HEADS, HEADS_BEFORE_OF, LONG_HEADS

_KINDS_BEFORE = frozenset(
    {
        *("company", "firm", "charity", "airline", "retailer", "corporation", "startup", "start-up", "conglomerate"),
        *("tank", "supermarket", "broadcaster", "non-profit", "nonprofit", "consultancy", "insurer", "carmaker"),
        *("regulator", "brewery", "société", "entreprise", "syndicat", "groupe", "subsidiary", "multinational"),
    }
)
_KIND = (
    r"(?:company|firm|corporation|charity|organi[sz]ation|agency|association|trade union|manufacturer"
    r"|retailer|publisher|broadcaster|airline|bank|think tank|consortium"
    r"|regulator|institution|university|foundation|society|NGO|brewery"
    r"|cooperative|co-operative|conglomerate|record label|consultancy|start-?up|federation|political party|subsidiary"
    r"|supermarket chain|(?:radio|television|TV) station|news agency|television network"
    r"|radio network|Unternehmen|Organisation|Hersteller|Partei|Verband|Konzern"
    r"|Behörde|Stiftung|entreprise|association|organisme|société)"
)
_IS_A = re.compile(
    r"(?: \([^()\n]{1,60}\))?,? (?:is|was|are|ist|war|est|était) (?:an?|one of the|eine?|une?) "
    r"(?:(?!(?:of|by|for|at|in|from|who|that|which|with|to|on|als|der|de|du|former)\b)[\w'\u2019/&.-]{1,25},? ){0,6}"
    rf"{_KIND}(?= (?:based|which|that|in|of|founded|headquartered|from|for|with|and|owned|established"
    r"|dedicated|broadcasting|serving|mit|aus"
    r"|qui|basée?)\b|[,.;])"
)
_AN_APPOSITION = re.compile(
    rf", (?:an?|the) (?:(?!of\b)[\w'\u2019-]{{1,25}} ){{0,5}}{_KIND}(?=[,.;]| (?:based|that|which|in)\b)"
)
_PEOPLE_AFTER = re.compile(
    r" (?:spokes(?:man|woman|person)|employees|executives|shareholders|board members|headquarters)\b"
    r"|['\u2019]s (?:board|board of directors|shareholders|employees|headquarters|subsidiary|chief executive|CEO)\b"
)
_LONGEST_NAME = 6  # words
_CHIEFS = frozenset({"CEO", "CFO", "CTO", "COO", "CIO"})
_TITLES = frozenset({"Former", "Deputy", "Chief", "Interim", "Vice", "The", "Mr", "Ms"})
_DEMONYM = ("an", "ish", "ese", "French", "Dutch", "Czech", "Greek")


def names_in_context(text: str, runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    for run in runs:
        last = run.words[-1]
        if _is_introduced(run):
            yield run.words[0].start, _first_group(run.words)
        elif len(run.words) <= _LONGEST_NAME and (_is_named_kind(text, run) or _has_people(text, run)):
            yield run.words[trimmed(run, 0, len(run.words) - 1)].start, last.end
        yield from _before_chief(run.words)


def _is_introduced(run: Run) -> bool:
    before = run.before
    if not before.endswith(" "):
        return False
    word = before[:-1].rpartition(" ")[2].rpartition("'")[2].rpartition("\u2019")[2]
    if before[: -len(word) - 1].endswith(("'s ", "\u2019s ", "s' ")):
        return False  # "after he left Edison's company Tesla ..."
    return word in _KINDS_BEFORE and not _is_kind(run.words[:1]) and len(run.words[0].text) > 1


def _first_group(words: Sequence[Word]) -> int:
    """The end of the capitalised words at the start, "&" and "of" between them included."""
    end = words[0].end
    for place in range(1, len(words)):
        if words[place].capitalised:
            end = words[place].end
        elif words[place].text not in {"&", "of"}:
            break
        if words[place].possessive:
            break
    return end


def _is_named_kind(text: str, run: Run) -> bool:
    after = text[run.words[-1].end : run.words[-1].end + 2]
    if not run.opens or not after.startswith((" i", " w", " a", " (", " e", " é", ", ")) or _is_kind(run.words):
        return False
    if len(run.words) == 1 and run.words[0].text[1:].islower() and after == ", ":
        return False
    return bool(_IS_A.match(text, run.words[-1].end) or _AN_APPOSITION.match(text, run.words[-1].end))


def _has_people(text: str, run: Run) -> bool:
    """Whether its employees or its board are told of; nations and kinds of people have such as well."""
    last = run.words[-1]
    if text[last.end : last.end + 2] not in {" s", " e", " b", " h", "'s", "\u2019s"}:
        return False
    if (
        _is_kind(run.words)
        or last.text.endswith(_DEMONYM)
        or (run.opens and len(run.words) == 1 and text.count(last.text) == 1)
    ):
        return False
    return last.text not in NO_ACRONYMS and _PEOPLE_AFTER.match(text, last.end) is not None


def _before_chief(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The name in "Initech CEO Jane Roe"."""
    for place, word in enumerate(words):
        if word.text in _CHIEFS and place and words[place - 1].capitalised:
            first = place - 1
            while first and words[first - 1].capitalised:
                first -= 1
            if words[first].text not in _TITLES and not _is_kind(words[first:place]):
                yield words[first].start, words[place - 1].end


def _is_kind(words: Sequence[Word]) -> bool:
    """Whether all words are common ones of bodies, as in "the Committee" or "Member Club"."""
    return all(word.text in _COMMON or not word.capitalised for word in words)


_COMMON = GENERIC | HEADS | LONG_HEADS | HEADS_BEFORE_OF

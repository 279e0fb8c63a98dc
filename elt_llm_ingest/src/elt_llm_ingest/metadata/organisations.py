"""The organisations a text names, by rules: no model, no list of names beyond a few bodies of the world."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_ingest.metadata.acting_acronyms import acting_acronyms
from elt_llm_ingest.metadata.announced_names import announced_names
from elt_llm_ingest.metadata.foreign_names import foreign_names
from elt_llm_ingest.metadata.known_organisations import KNOWN_COMPANIES, KNOWN_ORGANISATIONS, KNOWN_PAIRS
from elt_llm_ingest.metadata.name_runs import CAPITALISED, Run, Word, name_runs
from elt_llm_ingest.metadata.names_in_context import names_in_context
from elt_llm_ingest.metadata.offices_of_state import offices_of_state
from elt_llm_ingest.metadata.organisation_names import Name, names_of, trimmed
from elt_llm_ingest.metadata.organisation_words import LISTING_HEADS
from elt_llm_ingest.metadata.repeated_names import repeated_names

ORGANISATIONS_VERSION = 2  # to be raised whenever the same text could give other names
_GROUP = rf"{CAPITALISED}(?: {CAPITALISED}){{0,3}}"
_LIST_OF_FIELDS = re.compile(
    rf"(?: General)?(?: (?:of|for)(?: the)?)? {_GROUP}(?:, {_GROUP}){{1,4}},? (?:and|&) {_GROUP}"
)
_LEGAL_AFTER = re.compile(
    r",? (?:Inc\b\.?|Ltd\b\.?|LLC\b|LLP\b|Corp\b\.?|plc\b|e\. ?V\.|S\.A\.(?:S\.)?|S\.p\.A\.|s\.r\.o\.|d\.o\.o\."
    r"|B\.V\.|N\.V\.|& Co\. KG(?:aA)?)"
)
_ACRONYM_AFTER = re.compile(r"\s?\([\"\u201c]?(?P<name>[A-Z][A-Za-z&.-]{1,9}(?: [A-Z]{2,8})?)[\"\u201d]?[);,]")
_ACRONYM_BEFORE = re.compile(r"(?<![\w-])(?P<name>[A-Z][A-Za-z&]{1,9}) \((?:the )?$")
# The standard or the law it numbers is no body: "ISO 9001", "Regulation (EU) 2016/679".
_DOCUMENT_NUMBER = re.compile(r"(?:[- ]\d|\) (?:No\.? )?\d{2}|/[A-Z0-9]|: [A-Z]{4}\b)")
_GERMAN_CASE = re.compile(r"(?:e[nrms]?|s)\b")
_ABBREVIATED = re.compile(r"(?<![\w-])(?P<name>[A-Z]{2,8})(?: \||:|\t| [-\u2013]) $")  # in a list of abbreviations
_PLACED = re.compile(rf", {CAPITALISED}(?: {CAPITALISED})?")
_TO_ACRONYM = re.compile(r"(?P<words>(?: [\w'\u2019-]{1,30}){1,8}) \((?P<acronym>[A-Z][A-Za-z]{1,7})\)")
_SMALL = frozenset(
    [
        "in",
        "der",
        "die",
        "das",
        "des",
        "dem",
        "den",
        "im",
        "zur",
        "zum",
        "und",
        "für",
        "von",
        "of",
        "the",
        "for",
        "and",
        "in",
        "on",
        "de",
        "la",
        "le",
        "les",
        "l",
        "du",
        "d",
        "et",
        "aux",
    ]
)
_Span = tuple[int, int]


def organisations_in(text: str, language: str) -> list[str]:
    """Names in the order of their first mention, each once, without article and possessive.

    An acronym that a text gives for a name is a name of its own. `language` is a code such as "de".
    """
    spans: list[_Span] = []
    runs = list(name_runs(text))
    for run in runs:
        spans.extend(_spans_of(text, run, language))
    spans.extend(announced_names(text))
    for start, end in foreign_names(text, language):
        further = _end_by_initials(text, start, end)
        spans.extend(((start, further), *_acronyms(text, start, further)))
    spans.extend(offices_of_state(text, language))
    spans.extend(names_in_context(text, runs))
    spans.extend(acting_acronyms(text, runs))
    names = [_written(text, span) for span in spans]
    spans.extend(repeated_names(names, runs))
    unique: dict[str, str] = {}
    for span in _outermost(spans):
        name = _written(text, span)
        unique.setdefault(_key(name, language), name)
    return list(unique.values())


def _written(text: str, span: _Span) -> str:
    name = " ".join(text[span[0] : span[1]].split())
    if text[span[1] : span[1] + 1] in set(",.;)") or text.startswith((" and ", " or ", " und ", " &"), span[1]):
        return name  # "Joe's, Jim's and Jane's" are called so
    return name.removesuffix("'s").removesuffix("\u2019s")


def _key(name: str, language: str) -> str:
    key = name.casefold().replace("\u2019", "'").replace(" & ", " and ")
    return _GERMAN_CASE.sub("", key) if language == "de" else key


def _spans_of(text: str, run: Run, language: str) -> Iterator[_Span]:
    named = False
    for name in names_of(run, language):
        start, end = _span(text, run, name)
        yield start, end
        named = named or name.last == len(run.words) - 1
        yield from _acronyms(text, start, end)
    last = run.words[-1]
    if not named and (legal := _LEGAL_AFTER.match(text, last.end)):
        yield _company_start(run), legal.end()
        yield from _acronyms(text, _company_start(run), legal.end())
    yield from _known(text, run)


def _known(text: str, run: Run) -> Iterator[_Span]:
    """Bodies that everybody knows; a company's name right before that of its product is part of the latter."""
    words = run.words
    for place, word in enumerate(words):
        short, hyphen, compound = word.text.partition("-")
        if hyphen and compound[:1].isupper() and short in KNOWN_ORGANISATIONS:
            yield word.start, word.start + len(short)
        if word.text in KNOWN_ORGANISATIONS and not _DOCUMENT_NUMBER.match(text, word.end):
            yield word.start, word.end
        if word.text in KNOWN_COMPANIES and (word.text.isupper() or not _before_a_name(words, place)):
            yield word.start, word.end
        if place and (words[place - 1].text, word.text) in KNOWN_PAIRS:
            yield words[place - 1].start, word.end


def _before_a_name(words: Sequence[Word], place: int) -> bool:
    return not words[place].possessive and place + 1 < len(words) and words[place + 1].capitalised


def _company_start(run: Run) -> int:
    """Where a company's name begins whose legal form follows the run: after an "and", and after an article."""
    links = [place + 1 for place, word in enumerate(run.words) if word.text in {"and", "und", "et"}]
    return run.words[trimmed(run, links[-1] if links else 0, len(run.words) - 1)].start


def _span(text: str, run: Run, name: Name) -> _Span:
    start, end = run.words[name.first].start, run.words[name.last].end
    head = run.words[name.head]
    if head.text in LISTING_HEADS and (fields := _LIST_OF_FIELDS.match(text, head.end)):
        end = max(end, fields.end())
    if legal := _LEGAL_AFTER.match(text, end):
        end = legal.end()
    if text.endswith(("State University", "University of California"), start, end) and (
        place := _PLACED.match(text, end)
    ):
        end = place.end()
    return start, _end_by_initials(text, start, end)


def _end_by_initials(text: str, start: int, end: int) -> int:
    """Where a name ends whose small words go on up to an acronym of its initials: "Amt für Sport im Freien (ASF)"."""
    further = _TO_ACRONYM.match(text, end)
    if further is None:
        return end
    words = [word for word in re.split(r"[ '\u2019]", text[start : further.end("words")]) if word not in _SMALL]
    initials = "".join(word[0] for word in words if word).upper()
    return further.end("words") if initials == further["acronym"].upper() else end


def _acronyms(text: str, start: int, end: int) -> Iterator[_Span]:
    """The short name in brackets after a name, or the one that the name explains in brackets."""
    if (found := _ACRONYM_AFTER.match(text, end)) and _is_acronym(found["name"]):
        yield found.span("name")
    if found := _ABBREVIATED.search(text[max(0, start - 12) : start]):
        initials = "".join(word[0] for word in text[start:end].split() if word[0].isupper())
        if initials == found["name"]:
            yield max(0, start - 12) + found.start("name"), max(0, start - 12) + found.end("name")
    if found := _ACRONYM_BEFORE.search(text[max(0, start - 20) : start]):
        offset = max(0, start - 20)
        if _is_acronym(found["name"]):
            yield offset + found.start("name"), offset + found.end("name")


def _is_acronym(name: str) -> bool:
    return sum(map(str.isupper, name)) >= 2


def _outermost(spans: list[_Span]) -> Iterator[_Span]:
    """Spans by their start; one that lies within another is left out."""
    reached = -1
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= reached:
            yield start, end
            reached = end

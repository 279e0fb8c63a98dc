"""The words by which rules allow, demand, forbid and limit, in English and German, and where they stand in a text."""

import re
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["neednot", "not", "must", "may", "only", "without", "over", "under", "most", "least", "till", "from"]

_PLAIN: Final = str.maketrans("äöüß\u2019", "aous'")
_COUNTS: Final = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]{3,6}teen|[a-z]{3,5}ty|hundred|half|once|twice|one|a"
    "|zwei|drei|vier|funf|sechs|sieben|acht|neun|[a-z]{0,6}zehn|elf|zwolf|[a-z]{2,5}zig|hundert|ein|einmal|zweimal|dreimal"
)
_A_NUMBER: Final = rf"(?= (?:the (?:age|sum|amount) of )?[£$€]?(?:\d|(?:{_COUNTS})\b))"
_A_DATE: Final = (
    r"(?= (?:the (?:end|close|start|beginning)\b|noon\b|midnight\b|midday\b|\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)\b))"
)
_TO_BE_DONE: Final = r"(?= [^,;.]{0,90} (?:zu \w{2,20}en|\w{2,12}zu\w{2,20}en)\b)"
# In the order in which they are tried at a place: longer wordings before the shorter ones in them.
_WORDINGS: Final[tuple[tuple[Kind, str], ...]] = (
    (
        "neednot",
        r"needs? not|needn't|(?:do|does|did)(?: not|n't) (?:have|need) to|no need to"
        r"|(?:is|are)(?: not|n't) (?:required|obliged|bound) to"
        r"|(?:is|are) under no (?:obligation|duty) to|(?:is|are) (?:exempt|excused) from",
    ),
    (
        "not",
        r"(?:(?:is|are|be) )?(?:strictly )?(?:prohibited|forbidden|barred|banned)(?: (?:from|to)\b)?"
        r"|(?:(?:is|are)(?: not|n't)|not) (?:allowed|permitted|entitled)(?: to\b)?|verboten|untersagt|unzulassig",
    ),
    (
        "only",
        r"only (?:if|when|with|by|for|to|on)|only|solely|exclusively"
        r"|nur (?:mit|wenn|bei|durch|in|nach)|nur|ausschlieslich|lediglich",
    ),
    ("till", r"at the latest|on or before|up to and including|spatestens"),
    ("from", r"at the earliest|as from|fruhestens|erst (?:ab|nach|wenn|von)"),
    (
        "over",
        rf"later than|spater als|(?:rises? |goes? )?(?:(?:more|longer|greater|higher|larger|older) than|more often than"
        rf"|oftener than|(?:mehr|langer|hoher|groser|alter|ofter|haufiger) als|above|over|uber){_A_NUMBER}"
        rf"|in excess of|exceed(?:s|ed|ing)?|ubersteig(?:t|en)|uberschreite[tn]",
    ),
    (
        "under",
        rf"earlier than|sooner than|(?:fruher|eher) als|(?:falls? |drops? |goes? )?(?:(?:less|fewer|shorter|lower"
        rf"|smaller|younger) than|(?:weniger|kurzer|kleiner|junger) als|below|under|unter){_A_NUMBER}"
        rf"|unterschreite[tn]",
    ),
    (
        "most",
        rf"at (?:the )?most|up to{_A_NUMBER}|(?:a |the )?maximum(?: of)?|or (?:less|fewer|under|younger|below)"
        rf"|limited to|within{_A_NUMBER}|hochstens|maximal(?:e[nrs]?)?|bis zu|langstens"
        r"|oder weniger|innerhalb von|binnen",
    ),
    (
        "least",
        r"at (?:the )?least|(?:a |the )?minimum(?: of)?|(?:or|and) (?:more|over|older|above|longer|upwards)"
        r"|mindestens|wenigstens|oder (?:mehr|alter)",
    ),
    (
        "without",
        r"unless|without|except(?: for| by| with)?|other than|(?<=one )but|(?<=body )but|(?<=none )but|ohne|auser"
        r"|es sei denn",
    ),
    ("till", rf"before|until|till|prior to|by{_A_DATE}|bevor|vor|bis(?: zum| zur)?"),
    ("from", r"after|from(?= (?:\d|the (?:age|day|date)))|nach|ab"),
    (
        "must",
        r"must|shall|(?:has|have) to|(?:is|are) (?:required|obliged|bound) to|muss|mus|mussen|(?:ist|sind) verpflichtet"
        rf"|(?:ist|sind){_TO_BE_DONE}",
    ),
    (
        "may",
        r"may|can|could|(?:is|are) (?:allowed|permitted|entitled|free)(?: to\b)?|(?:has|have) the right to"
        r"|darf|durfen|kann|konnen|(?:(?:ist|sind) )?(?:berechtigt|befugt)|erlaubt|gestattet|zulassig"
        r"|braucht?|brauchen",
    ),
    (
        "not",
        r"no one|nobody|no|not|never|none|nothing|neither|cannot|niemand|kein(?:e[nrms]?)?|nicht|nie|niemals"
        r"|(?:do|does|did|is|are|was|were|wo|would|ca|could|should|must|has|have|had)n't|can't",
    ),
)
_MARK: Final = re.compile(
    "|".join(rf"(?P<{kind}_{place}>(?<!\w)(?:{words})(?!\w))" for place, (kind, words) in enumerate(_WORDINGS))
)
_KINDS: Final = {f"{kind}_{place}": kind for place, (kind, _) in enumerate(_WORDINGS)}


@dataclass(frozen=True)
class Mark:
    """A wording of rules at start:end of a text; `words` are folded."""

    kind: Kind
    start: int
    end: int
    words: str


def plain(text: str) -> str:
    """The text in lower case without umlauts, as long as before; empty if its lower case is of another length."""
    lowered = text.lower()
    return lowered.translate(_PLAIN) if len(lowered) == len(text) else ""


def marks(plain_text: str) -> list[Mark]:
    """The wordings of rules, in order, in a text that `plain` has made."""
    return [
        Mark(_KINDS[place.lastgroup or ""], place.start(), place.end(), place.group())
        for place in _MARK.finditer(plain_text)
    ]

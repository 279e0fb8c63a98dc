"""The words that tell what a question asks for, in English and German; matched against folded text."""

import re
from collections.abc import Mapping
from typing import Final, Literal

QuestionKind = Literal[
    "who", "when", "where", "how_many", "how_much", "what_is", "how", "why", "yes_no", "which", "list", "other"
]
Expected = Literal[
    "person", "date", "duration", "number", "money", "percentage", "place", "definition", "reason", "any"
]

_MONEY = (
    r"(?:fees?|prices?|costs?|fines?|charges?|salary|salaries|wages?|budget|amount|sum|revenue|deposit"
    r"|subscription)(?! of (?:time|people|members))"
)
_FIGURE = (
    r"(?:number|limit|maximum|minimum|max|min|length|size|width|height|weight|distance|diameter|depth|speed"
    r"|rate|ratio"
    r"|age|score|total|population|temperature|quorum|count|quota|capacity|version)"
)
_POINT = (
    r"(?:(?<!present )(?<!modern )(?:date|day|year|month|decade|century|time|deadline|season|hour"
    r"|weekdays?|weekends?|days))"
)
_SPAN = r"(?:duration|interval|(?:notice |waiting |retention |cooling-off )?period|(?:amount|length) of time)"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|will|would|has|have|had)"
    r"|(?:ist|sind|war|waren|darf|durfen|kann|konnen|muss|mussen|soll|sollen|wird|werden|wurde|hat|haben|gibt|gab)"
)


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _pattern(expression: str, kind: QuestionKind, expects: Expected) -> tuple[re.Pattern[str], QuestionKind, Expected]:
    return re.compile(expression), kind, expects


# The earliest match in the question decides; of several that begin at the same word, the one listed first.
PATTERNS: Final = (
    _pattern(r"\bhow (?:many|few)\b|\bwie ?viele\b", "how_many", "number"),
    _pattern(
        r"\bhow much (?:money|(?:would|will) it cost|(?:does|do|did) .*\bcost)\b",
        "how_much",
        "money",
    ),
    _pattern(
        r"\bhow much\b(?=.*\b(?:cost|pay|paid|charge|charged|fined?|worth|fee|price|spen[dt])\b)", "how_much", "money"
    ),
    _pattern(r"\bhow much time\b", "how_much", "duration"),
    _pattern(r"\bhow much\b|\bwie ?viel\b", "how_much", "number"),
    _pattern(r"\bhow (?:long|soon|quickly|late|early)\b|\bwie (?:lange|schnell)\b", "how_many", "duration"),
    _pattern(r"\bhow (?:often|frequently)\b|\bwie (?:oft|haufig)\b", "when", "duration"),
    _pattern(
        r"\bhow (?:old|young|far|tall|high|wide|big|large|small|short|heavy|deep|thick|fast|hot|cold)\b"
        r"|\bwie (?:alt|weit|hoch|gross|breit|schwer|tief|viel prozent)\b",
        "how_many",
        "number",
    ),
    _pattern(
        r"\b(?:what|which) (?:\w+ )?(?:percentage|percent|proportion|share|fraction|cut)\b"
        r"|\b(?:what|which) (?:is the |is )?(?:\w+ )?majority\b|\b(?:what|which) part of (?:the |a |an |its |their )?"
        rf"{_MONEY}\b|\bwelcher (?:prozentsatz|anteil)\b",
        "how_much",
        "percentage",
    ),
    _pattern(
        rf"\b(?:in |on |at |by |during |until |from |since )?(?:what|which) (?:\w+ )?{_POINT}\b(?! of\b)",
        "when",
        "date",
    ),
    _pattern(
        r"\b(?:in |an |zu |ab |bis )?welche[rmsn]? (?:\w+ )?(?:jahr|tag|datum|monat|jahrhundert|zeit"
        r"|uhrzeit|saison)\b",
        "when",
        "date",
    ),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_POINT}\b", "when", "date"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_SPAN}\b", "how_many", "duration"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_MONEY}\b", "how_much", "money"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_FIGURE}\b", "how_many", "number"),
    _pattern(rf"\b(?:what|which) (?:\w+ )?{_MONEY} (?:is|are|was|were|do|does|did|must|will)\b", "how_much", "money"),
    _pattern(rf"\b(?:what|which) (?:\w+ )?{_FIGURE}\b(?! of\b)", "how_many", "number"),
    _pattern(
        r"\bwhat(?: is| was| are|\'s) the (?:biggest|smallest|shortest|longest|highest|lowest|latest"
        r"|earliest|youngest|oldest|heaviest"
        r"|least|most|maximum|minimum|largest|furthest|cheapest) (?!(?:part|reason|problem|city|river"
        r"|company|group|type|kind)\b)",
        "how_many",
        "number",
    ),
    _pattern(r"\bwhen\b|\bwann\b|\bseit wann\b|\bbis wann\b", "when", "date"),
    _pattern(r"\b(?:who|whom|whose)\b|\b(?:wer|wem|wen|wessen)\b", "who", "person"),
    _pattern(r"\b(?:to|by|of|from|with) whom\b", "who", "person"),
    _pattern(r"\b(?:what|which) (?:person|people|man|woman|officer|body|committee|official)\b", "who", "person"),
    _pattern(r"\bwhere\b|\bwo(?:her|hin)?\b", "where", "place"),
    _pattern(
        r"\bwhy\b|\bwhat (?:is|was|are) the reasons?\b|\bfor what reason\b|\b(?:warum|weshalb|wieso|wozu)\b",
        "why",
        "reason",
    ),
    _pattern(
        r"\b(?:what (?:does|do|did) .* (?:mean|stand for)\b|define\b|what is meant by\b)", "what_is", "definition"
    ),
    _pattern(r"\bwas (?:bedeutet|versteht man|heisst|ist mit)\b", "what_is", "definition"),
    _pattern(r"\b(?:what|who) (?:is|was) (?:an? |the )?(?:[\w.+#/'-]+ ?){1,3}\??$", "what_is", "definition"),
    _pattern(r"\bwas (?:ist|sind) (?:ein|eine|der|die|das)?\s?(?:[\w.+#/'-]+ ?){1,3}\??$", "what_is", "definition"),
    _pattern(r"\bwhat (?:are|were)\b|^(?:list|name|enumerate)\b|\bwas (?:sind|waren)\b|^nenne\b", "list", "any"),
    _pattern(r"\bwhich\b|\bwelche[rsmn]?\b", "which", "any"),
    _pattern(r"\bhow\b|\bwie\b|\bwodurch\b|\bwomit\b", "how", "any"),
    _pattern(rf"^(?:{_AUXILIARY})\b", "yes_no", "any"),
)

Measure = Literal["", "weight", "length", "age", "speed", "temperature", "telephone"]
MEASURED: Final[tuple[tuple[re.Pattern[str], Measure], ...]] = (
    (re.compile(r"\bhow heavy\b|\bhow much .*\bweigh|\bwie schwer\b|\bweight\b|\bgewicht\b"), "weight"),
    (
        re.compile(
            r"\bhow (?:tall|high|wide|deep|thick|far)\b|\b(?:height|width|depth|diameter|distance) of\b"
            r"|\bwie (?:hoch|breit|tief|weit)(?= (?:ist|sind|war|muss|darf) (?:der|die|das) \w+ (?:von|entfernt))"
        ),
        "length",
    ),
    (re.compile(r"\bhow (?:old|young)\b|\b(?:what|which) age\b|\bwie alt\b"), "age"),
    (re.compile(r"\bhow fast\b"), "speed"),
    (re.compile(r"\bhow (?:hot|cold|warm)\b|\btemperature\b"), "temperature"),
    (re.compile(r"\b(?:tele)?(?:phone|fax) number\b|\btelefonnummer\b"), "telephone"),
)

# "When a player is sent off, how long ...": the question begins after the clause.
OPENING_CLAUSE: Final = re.compile(
    r"^(?:when|where|if|while|after|before|wenn|falls|nachdem)\b[^,?]*,\s*(?=(?:\w+ ){0,2}(?:who|what|when"
    r"|where|which|how|why|wer|was|wann|wo|wie|welche)\b)"
)

# "What is the fee, and when is it due?": the second question begins at its asking word.
SECOND_QUESTION: Final = re.compile(
    r",? (?:and|und) ((?:(?:in|at|on|by|to|for|from) )?(?:how|when|what|which|who|whom|where|why|wie|wann|was|wer|wo"
    r"|warum)\b"
    rf"|(?<=, and )(?:{_AUXILIARY})\b)",
    re.IGNORECASE,
)

# The noun that is counted: "how many players", "wie viele Tage", "what percentage of clubs".
COUNTED: Final = re.compile(
    r"\b(?:how (?:many|much|few)|wie ?viele?|(?:percentage|percent|proportion|share|number) of)\s+(?:of\s+"
    r"|the\s+|other\s+|more\s+|different\s+)*"
    r"([\w'-]+(?: (?!(?:can|may|are|is|do|does|did|must|should|has|have|had|will|were|was|in|of|at|to|on"
    r"|per|for|until|a|an|the|i|we"
    r"|you|he|she|it|they|darf|hat|haben|ist|sind|muss|kann|wurden|werden|gibt|gab|im|in|von|bei)\b)[\w'-]+)?)"
)

# The quantity that is named: "what salary", "what is the fee", "welche Gebühr".
NAMED_QUANTITY: Final = re.compile(
    rf"\b(?:what|which) (?:(?:is|was|are|were|would be) )?(?:the |an? )?((?:\w+ )?(?:{_MONEY}|{_FIGURE}))\b"
)

# 2: a word that only German has; 1: a word that is now and then English.
GERMAN_WORDS: Final[Mapping[str, int]] = dict.fromkeys(
    _listed(
        "wer wem wen wessen wann wo woher wohin warum weshalb wieso welche welcher welches welchen welchem "
        "wie ist sind der das und ein eine einen einem "
        "einer für mit von vom nicht wird werden wurde wurden haben dürfen darf muss müssen kann können "
        "gibt viele bedeutet "
        "auf aus bei nach über unter zwischen sich dem den des im zum zur als durch oder auch wofür womit "
        "wozu worin worauf wovon "
        "woraus wieviel seine seiner ihre ihrer nenne es sie er"
    ),
    2,
) | dict.fromkeys(_listed("die war hat man"), 1)

# Function words that German does not have.
ENGLISH_WORDS: Final = frozenset(
    _listed(
        "the of and to for a is are were be been do does did has have had can could may might must should would shall "
        "who whom whose what when where which why how there this that these those with from by on at or if not any "
        "it its he she they we you i my our your his her their me us them"
    )
)

MONTHS: Final = frozenset(
    _listed(
        "january february march april may june july august september october november december januar "
        "februar marz mai juni juli oktober dezember"
    )
)

# Words that ask and say nothing of what is asked about; not all are stopwords of keyword search.
ASKING_WORDS: Final = frozenset(
    _listed(
        "how who whom whose what when where which why many much few may might must can could shall should "
        "will would do does did "
        "is are was were has have had kind sort often soon exactly roughly approximately please tell me my "
        "our your us we they "
        "viel viele wieviel wurde wurden wird werden kann darf muss soll hat haben gibt art"
    )
)

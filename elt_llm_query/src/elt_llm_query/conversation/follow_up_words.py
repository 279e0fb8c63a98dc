"""The words by which a follow-up is known, in English and German; matched against folded text but for the codes."""

import re
from typing import Final

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
# "es gibt" stands for nothing, and neither does the "one" of "one of these"; "IT" is no pronoun.
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
# "Is there a course too?" is asked of what was spoken of.
BESIDES: Final = re.compile(r"\b(?:too|as well|else|auch)\W{0,3}$", re.IGNORECASE)
# What begins a clause of its own: a pronoun behind it mostly stands for something before it.
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
# The longer ones first: of "how many", "how" alone would leave "many" behind.
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
# What a question that names nothing else may begin with, besides the words above.
ASKING_THINGS: Final = re.compile(r"^(?:(?:which|what|welche[mnrs]?|wof(?:ü|u)r|womit|wozu|wovon)\s+\w)", re.IGNORECASE)
AUXILIARY: Final = (
    r"(?:is|are|was|were|does|do|did|can|could|may|might|must|should|shall|will|would|has|have|had"
    r"|ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|darf|dürfen|kann|können|muss|müssen|soll|sollen)"
)
REASONS: Final = re.compile(r"(?:is|are|do|does|did|can|may|must|should|will|has|have|darf|kann|muss|gilt|gibt)\b")
# "What is sepsis?" asks of something by its name; "what is the deadline?" of something that was spoken of.
DEFINED: Final = re.compile(
    r"^(?:what|who|was|wer) (?:is|are|was|were|ist|sind|war|waren)\s+"
    r"(?!(?:the|this|that|these|those|it|its|his|her|their|der|die|das|dies\w{0,2}|sein\w{0,2}|ihr\w{0,2})\b)\S",
    re.IGNORECASE,
)
# Verbs that are seldom anything else behind "does", "can" or "are" with a subject between; and participles.
VERB: Final = (
    r"(?:cost|last|take|need|receive|get|pay|earn|play|start|begin|end|close|open|count|apply|happen|require|include"
    r"|contain|do|have|be|become|serve|bring|lose|win|vote|appeal|register|carry|weigh|measure|stand|attend|join"
    r"|leave|wear|use|ask|keep|hold|make|give|meet|say|decide|sign|kept|paid|made|held|sold|given|sent|taken|chosen"
    r"|played|won|lost|[a-z]{3,20}ed)"
)
# The first group is the code itself; a word before it says what it is of.
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

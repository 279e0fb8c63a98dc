"""The words by which a follow-up is known, in English and German; matched against folded text but for the codes."""

import re
from typing import Final

CONNECTIVE: Final = re.compile(
    r"^(?:and|but|or|so|ok(?:ay)?|also|then|now|yes|no|thanks|thank you|und|aber|oder|auch|dann|danke)\b[\s,.!:-]{0,5}",
    re.IGNORECASE,
)
ABOUT: Final = re.compile(
    r"^(?:what|how) about\b\s*|^what if(?: it(?:'s| is))?\b\s*|^same (?:question )?(?:for|with)\b\s*"
    r"|^(?:was|wie) ist (?:es )?(?:mit|bei|fur)\b\s*|^wie (?:sieht es|steht es) (?:mit|bei)\b\s*",
    re.IGNORECASE,
)
POLITE: Final = re.compile(r"\b(?:please|bitte)\b", re.IGNORECASE)
PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|one|ones|former|latter"
    r"|er|ihn|ihm|ihr|ihre|ihren|ihrer|sie|es|sein|seine|seiner|dessen|deren|davon|dafur|dazu|damit|daruber)\b"
)
DEMONSTRATIVE: Final = re.compile(
    r"\b(?:this|that|these|those|there|such|dies|diese|dieser|dieses|das|dort|solche\w?)\b"
    r"(?=\s*(?:\?|!|\.|,|$|is\b|are\b|was\b|were\b|be\b|mean|appl|count|cost|happen|take|last|work|include|allowed"
    r"|possible|too\b|also\b|case\b|rule\b|ist\b|sind\b|gilt\b|gelten\b|kostet\b|dauert\b|erlaubt\b))"
)
PREPOSITION: Final = re.compile(
    r"^(for|in|on|at|by|with|without|from|to|of|during|after|before|under|over|between"
    r"|fur|für|bei|mit|ohne|von|nach|vor|wahrend|während|im|am|aus|zu|unter)\s+\S",
    re.IGNORECASE,
)
# The longer ones first: of "how many", "how" alone would leave "many" behind.
ASKING: Final = re.compile(
    r"how (?:long|much|many|often|old|far|big|soon|late|early|so)|for how long|since when|until when|by when"
    r"|by whom|from when|at what (?:time|cost|price)|says who|where exactly|why not|why|whose|whom|who|when|where|which|what|how"
    r"|wie (?:lange|viele|viel|oft|alt|weit|hoch)|seit wann|bis wann|ab wann|von wem|durch wen|wie das"
    r"|warum|weshalb|wieso|wer|wem|wen|wann|wohin|woher|wo|wie|was"
)
REASONS: Final = re.compile(r"(?:is|are|do|does|did|can|may|must|should|will|has|have|darf|kann|muss|gilt|gibt)\b")
# The first group is the code itself; a word before it says what it is of.
CODE: Final = re.compile(
    r"\b(?:(?:Grade|Class|Level|Category|Type|Part|Rule|Section|Article|Stufe|Klasse|Regel|Abschnitt|Artikel) )?"
    r"([A-Z]{1,4}[-.]?\d{1,4}(?:\.\d{1,3})*|\d{1,4}[A-Z]{1,3}|[Uu](?:nder)?[- ]?\d{1,2}s?"
    r"|(?<=Grade )[A-Z]|(?<=Class )[A-Z]|(?<=Level )\w|(?<=Category )\w|(?<=Type )\w|(?<=Part )\w|(?<=Stufe )\w"
    r"|(?<=Klasse )\w)\b"
)

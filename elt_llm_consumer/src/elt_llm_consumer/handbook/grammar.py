"""Small words by which sentences are taken apart, English and German: no list knows what a handbook is about."""

from typing import Final

ARTICLES: Final = frozenset(
    {"the", "a", "an", "der", "die", "das", "dem", "den", "des", "ein", "eine", "einer", "eines"}
)
QUANTIFIERS: Final = frozenset(
    {
        *("each", "every", "any", "all", "some", "no", "another", "both", "either", "neither", "several", "many"),
        *(
            "few",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "twenty",
            "thirty",
            "forty",
            "fifty",
            "sixty",
            "hundred",
            "twelve",
        ),
        *("jeder", "jede", "jedes", "alle", "kein", "keine", "mehrere"),
    }
)
DETERMINERS: Final = (
    ARTICLES
    | QUANTIFIERS
    | {
        *("this", "that", "these", "those", "such", "its", "their", "his", "her", "our", "your", "my", "whose"),
        *("diese", "dieser", "dieses", "seine", "ihre", "ihrer", "seiner"),
    }
)
PREPOSITIONS: Final = frozenset(
    {
        *(
            "of",
            "to",
            "for",
            "from",
            "by",
            "with",
            "in",
            "on",
            "at",
            "under",
            "against",
            "between",
            "within",
            "through",
        ),
        *("into", "onto", "over", "about", "before", "after", "during", "without", "until", "among", "via", "per"),
        *("towards", "upon", "across", "above", "below", "behind", "beside", "except", "including", "concerning", "as"),
        *(
            "than",
            "since",
            "outside",
            "inside",
            "regarding",
            "throughout",
            "near",
            "beyond",
            "like",
            "due",
            "off",
            "out",
            "up",
            "down",
        ),
        *("von", "vom", "zu", "zum", "zur", "für", "mit", "bei", "beim", "durch", "gegen", "über", "unter", "nach"),
        *("vor", "aus", "auf", "am", "im", "ins", "ohne", "seit", "bis", "innerhalb"),
    }
)
CONJUNCTIONS: Final = frozenset({"and", "or", "but", "nor", "und", "oder", "aber", "sowie", "&"})
SUBORDINATORS: Final = frozenset(
    {
        *("if", "when", "where", "whenever", "wherever", "that", "unless", "because", "while", "whether", "although"),
        *("once", "until", "before", "after", "since", "so", "provided", "though", "whereas", "then", "otherwise"),
        *("wenn", "falls", "dass", "sobald", "bevor", "nachdem", "weil", "sofern", "soweit"),
    }
)
RELATIVES: Final = frozenset({"who", "which", "that", "whom", "whose"})
PRONOUNS: Final = frozenset(
    {
        *("it", "they", "he", "she", "we", "you", "i", "them", "him", "us", "me", "who", "which", "what", "whom"),
        *("there", "here", "nothing", "nobody", "everyone", "anyone", "someone", "something", "anything", "everything"),
        *(
            "whatever",
            "whoever",
            "whichever",
            "itself",
            "themselves",
            "himself",
            "herself",
            "yourself",
            "one",
            "ones",
            "others",
            "how",
            "why",
        ),
        *("er", "sie", "es", "wir", "ihr", "ihnen", "ihm", "man", "wer", "was", "niemand", "sich"),
    }
)
PERMISSIONS: Final = frozenset({"may", "can", "darf", "dürfen", "kann", "können"})
DUTIES: Final = frozenset({"must", "shall", "should", "will", "muss", "müssen", "soll", "sollen"})
MODALS: Final = PERMISSIONS | DUTIES | {"cannot"}
# What would be is no rule.
SUPPOSED: Final = frozenset({"would", "could", "might", "würde", "könnte"})
# They may stand behind "has" to say what is over: none of them is had.
DONE: Final = frozenset(
    {"come", "become", "gone", "done", "been", "begun", "left", "happened", "got", "grown", "fallen"}
)
JOINING: Final = frozenset({"of", "for"})
"""They stand within names: "Register of Interests", "Fund for Members"."""
BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being", "ist", "sind"})
HAVE: Final = frozenset({"has", "have", "had", "having", "hat", "haben"})
DO: Final = frozenset({"do", "does", "did"})
# What may stand between "may" and its verb.
ASIDES: Final = (
    ("at", "any", "time"),
    ("at", "all", "times"),
    ("at", "once"),
    ("from", "time", "to", "time"),
    ("in", "writing"),
    ("if", "necessary"),
    ("in", "addition"),
    ("where", "necessary"),
    ("as", "well"),
)
NEGATIONS: Final = frozenset({"not", "never", "nicht", "nie"})
ADVERBS: Final = frozenset(
    {
        *(
            "also",
            "always",
            "only",
            "then",
            "first",
            "once",
            "again",
            "at",
            "all",
            "ever",
            "still",
            "therefore",
            "both",
        ),
        *("already", "thereafter", "thereby", "either", "instead", "further", "just", "even", "more", "most", "least"),
        *("less", "often", "too", "very", "soon", "later", "earlier", "together", "far", "much", "well", "else", "now"),
        *("forthwith", "otherwise", "however", "thus", "hence", "furthermore", "moreover", "perhaps", "rather", "yet"),
        *("whatsoever", "elsewhere", "upwards", "onwards", "almost", "about", "quite", "nevertheless", "auch", "nur"),
    }
)
# Adjectives that say nothing of what kind a thing is: they are no part of its name.
PLAIN_ADJECTIVES: Final = frozenset(
    {
        *("new", "old", "other", "same", "further", "such", "first", "second", "third", "last", "next", "own", "full"),
        *(
            "following",
            "previous",
            "certain",
            "particular",
            "relevant",
            "appropriate",
            "necessary",
            "additional",
            "only",
        ),
        *(
            "different",
            "specific",
            "available",
            "possible",
            "important",
            "main",
            "whole",
            "entire",
            "good",
            "bad",
            "best",
        ),
        *(
            "early",
            "late",
            "later",
            "earlier",
            "large",
            "small",
            "larger",
            "smaller",
            "high",
            "low",
            "long",
            "short",
            "longer",
            "shorter",
        ),
        *(
            "many",
            "more",
            "most",
            "least",
            "less",
            "much",
            "several",
            "various",
            "single",
            "sole",
            "fewer",
            "due",
            "open",
        ),
        *(
            "free",
            "able",
            "right",
            "left",
            "correct",
            "wrong",
            "clear",
            "given",
            "required",
            "said",
            "above",
            "similar",
        ),
        *(
            "normal",
            "usual",
            "common",
            "simple",
            "current",
            "present",
            "future",
            "past",
            "actual",
            "valid",
            "reasonable",
        ),
        *("existing", "resulting", "corresponding", "respective", "suitable", "useful", "separate", "real", "great"),
        *("maximum", "minimum", "original", "final", "initial", "annual", "proposed", "existing", "part", "chosen"),
        *(
            "young",
            "fourth",
            "fifth",
            "half",
            "unique",
            "proper",
            "complete",
            "incomplete",
            "equal",
            "written",
            "likely",
        ),
        *("accurate", "reliable", "consistent", "effective", "clearly", "entitled", "responsible", "subject", "ready"),
        *("default", "named", "listed", "mentioned", "described", "specified", "defined", "based", "used", "unable"),
        *("arbitrary", "meaningful", "easy", "hard", "neue", "neuen", "andere", "anderen", "weitere", "weiteren"),
    }
)
CALENDAR: Final = frozenset(
    {
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        *("januar", "februar", "märz", "mai", "juni", "juli", "oktober", "dezember"),
    }
)
ING_NOUNS: Final = frozenset(
    {"meeting", "hearing", "building", "training", "standing", "ruling", "finding", "filing", "housing", "grading"}
)

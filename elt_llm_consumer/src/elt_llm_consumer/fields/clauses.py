"""What a word of a sentence is said of: told by the words between it and a name, without a parser."""

import re

Span = tuple[int, int]

# Not the German "an", which is an English article.
PREPOSITIONS = frozenset(
    {"of", "in", "at", "for", "from", "to", "with", "by", "on", "under", "within", "without", "after", "before", "into"}
    | {"about", "between", "than", "during", "von", "auf", "bei", "mit", "nach", "vor", "aus", "zu", "für"}
)
_NEAR_BEFORE = 3
_OBJECT_WORDS = 8
_STOPS = re.compile(r"[,;:.()|]")
_PRONOUNS = frozenset({"it", "they", "he", "she", "this", "es", "er", "sie"})
_ARTICLES = frozenset(
    {"the", "a", "an", "each", "every", "any", "no", "its", "their", "his", "her", "another", "all", "some", "nobody"}
    | {"der", "die", "das", "ein", "eine", "jeder", "jede", "jedes", "kein", "keine"}
)
# After these another clause begins; what follows them is its subject, unless it is a pronoun.
_SUBORDINATE = re.compile(
    r"(?<!\w)(?:before|after|when|whenever|until|till|if|where|unless|because|while|once|as soon as|bevor|nachdem|wenn"
    r"|bis|falls|sobald)\s{1,3}(\w{1,30})(?![\w,])",  # "if lost, ..." has none
    re.IGNORECASE,
)
_COORDINATE = re.compile(r"[,;]\s{1,3}(?:and|but|or|und|aber|oder)?\s{0,3}(\w{1,30})", re.IGNORECASE)
_MODAL = re.compile(
    r"(?<!\w)(?:must|shall|may|should|cannot|can|need|needs|muss|müssen|darf|dürfen|soll|sollen|kann|können)(?!\w)"
)
_RELATIVE = re.compile(r"(?<!\w)(?:that|which|who|where|whose)\s{1,3}$", re.IGNORECASE)


def is_governed(before: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether one of the last words of `before` is a preposition, but for those `allowed`."""
    return any(word.casefold() in PREPOSITIONS - allowed for word in before.split()[-_NEAR_BEFORE:])


def is_said_of(text: str, mention: Span, word: Span, begins: int = 0) -> bool:
    """Whether what the word says happens to the mentioned, and to nothing else in the sentence.

    "A Loan ends", "the Clerk cancels the Loan" and "the end of the Loan" say something of a loan; "opened with a
    Loan Card", "a Book without a Loan Card must be closed" and "the Reader pays before work begins" nothing of the
    card and the reader. `begins` is where the sentence begins after its number.
    """
    if word[1] <= mention[0]:
        between = text[word[1] : mention[0]]
        return len(between.split()) <= _OBJECT_WORDS and not _STOPS.search(between) and not _parts(between)
    if is_governed(_last_clause(text[begins : mention[0]]), frozenset({"of"})):
        return False
    return not _has_other_subject(text[mention[1] : word[1]], word[0] - mention[1])


def is_party_of_rule(text: str, mention: Span, begins: int = 0) -> bool:
    """Whether the mentioned is subject or object of a clause that demands, allows or forbids."""
    for modal in _MODAL.finditer(text, begins):
        if _RELATIVE.search(text[max(begins, modal.start() - 10) : modal.start()]):
            continue
        if modal.end() <= mention[0]:
            between = text[modal.end() : mention[0]]
            if len(between.split()) <= _OBJECT_WORDS and not _STOPS.search(between) and not _governs(between, "of"):
                return True
        elif mention[1] <= modal.start() and is_said_of(text, mention, modal.span(), begins):
            return not is_governed(_last_clause(text[begins : mention[0]]))
    return False


def _governs(between: str, also: str = "") -> bool:
    words = {word.casefold() for word in between.split()}
    return not words.isdisjoint((PREPOSITIONS - {"of"}) | {also})


def _parts(between: str) -> bool:
    """Whether another clause or a preposition stands between a word and a mention after it."""
    return _governs(between) or bool(_SUBORDINATE.search(f"{between} it"))


def _last_clause(before: str) -> str:
    return re.split(r"[,;:]", before)[-1]


def _has_other_subject(between: str, word: int) -> bool:
    """Whether a clause with a subject of its own begins before the word, which is at that offset."""
    for begun in _SUBORDINATE.finditer(between):
        if begun.start(1) < word and begun[1].casefold() not in _PRONOUNS:
            return True
    return any(
        begun.start(1) < word and (begun[1].casefold() in _ARTICLES or begun[1][0].isupper())
        for begun in _COORDINATE.finditer(between)
    )

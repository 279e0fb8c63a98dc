"""Words that say the contrary of each other, and words that turn what follows into its contrary."""

from collections.abc import Set as AbstractSet
from typing import Final

from elt_llm_core.text.stems import KeywordTokeniser

_PAIRS: Final = """
before after|more less|more fewer|most least|most fewest|first last|increase decrease|increase fall
increase reduce|rise fall|rise drop|rose fell|grow shrink|up down|higher lower|highest lowest|high low
largest smallest|larger smaller|large small|big small|bigger smaller|long short|longer shorter
longest shortest|north south|northern southern|east west|eastern western|early late|earlier later
earliest latest|often rarely|often seldom|frequently rarely|positive negative|internal external|inner outer
inside outside|minimum maximum|many few|much little|old young|old new|older younger|oldest youngest
allow forbid|allow prohibit|permit forbid|permit prohibit|legal illegal|allowed forbidden|permitted forbidden
allow ban|permit ban|win lose|won lost|accept reject|accept refuse|agree refuse|success failure|succeed fail
public private|strong weak|stronger weaker|strongest weakest|rich poor|wealthy poor|begin end|began ended
start end|start stop|begin finish|best worst|better worse|good bad|easy hard|easy difficult|easier harder
simple complicated|simple complex|fast slow|faster slower|quickly slowly|rapidly slowly|open close
opened closed|join leave|joined left|enter leave|arrive leave|gain lose|gained lost|support oppose|for against
above below|over under|upper lower|top bottom|near far|left right|front back|true false|true untrue
present absent|include exclude|buy sell|bought sold|send receive|give take|gave took|give receive|push pull
attack defend|love hate|like dislike|friend enemy|ally enemy|encourage discourage|enable prevent|allow prevent
help hinder|create destroy|build destroy|birth death|born died|life death|alive dead|day night|hot cold
warm cold|wet dry|light dark|light heavy|hard soft|full empty|wide narrow|deep shallow|thick thin|male female
man woman|men women|father mother|son daughter|king queen|husband wife|brother sister|majority minority
rural urban|ancient modern|traditional modern|religious secular|moderate radical|liberal conservative
direct indirect|active passive|common rare|cheap expensive|safe dangerous|visible hidden|temporary permanent
mandatory optional|mandatory voluntary|required optional|import export|ascending descending|even odd
horizontal vertical|domestic foreign|guilty innocent|victory defeat|winner loser|advantage disadvantage
robust fragile|flexible rigid|same different|only also|supply cut|remain change|expand contract|improve worsen
appear disappear|remember forget|praise criticise|praise criticize|hire fire|lend borrow|mehr weniger|vor nach
grosste kleinste|grosser kleiner|gross klein|hoch niedrig|hoher niedriger|hochste niedrigste|viel wenig
viele wenige|alt jung|alt neu|alter junger|erste letzte|ersten letzten|nord sud|norden suden|osten westen
nordlich sudlich|ostlich westlich|steigen fallen|stieg fiel|erhohen senken|zunehmen abnehmen|beginnen enden
begann endete|gewinnen verlieren|gewann verlor|erlaubt verboten|stark schwach|reich arm|offentlich privat
lang kurz|langer kurzer|schnell langsam|leicht schwer|einfach schwierig|gut schlecht|besser schlechter
beste schlechteste|fruh spat|fruher spater|innen aussen|oben unten|uber unter|tag nacht|krieg frieden
sieg niederlage|mann frau|positiv negativ|maximal minimal|haufig selten|oft selten|annehmen ablehnen
kaufen verkaufen|heiss kalt|warm kalt
"""
NEGATORS: Final = frozenset(
    """no not never cannot nor neither none nobody nothing without hardly scarcely n't nt lacks lacked lacking
    kein keine keiner keinen keinem keines nicht nie niemals niemand nichts ohne weder""".split()  # noqa: SIM905
)
NEGATED_ENDING: Final = "n't"
# Verbs that deny the verb after them.
DENYING: Final = frozenset("fail fails failed refuse refuses refused unable decline declined".split())  # noqa: SIM905
_PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis", "non")
_SHORTEST = 4


class Contraries:
    """Looks words up by the stems of one language, so that "increased" is the contrary of "decreases"."""

    def __init__(self, tokeniser: KeywordTokeniser) -> None:
        self._tokeniser = tokeniser
        self._of: dict[str, set[str]] = {}
        for line in _PAIRS.split("\n"):
            for pair in filter(None, line.split("|")):
                left, right = map(self.key, pair.split())
                self._of.setdefault(left, set()).add(right)
                self._of.setdefault(right, set()).add(left)

    def key(self, word: str) -> str:
        """What a folded word is looked up by: its stem, or itself if it is a stopword."""
        return next(iter(self._tokeniser.stems(word)), word)

    def of(self, key: str) -> AbstractSet[str]:
        """The keys of the contraries of a word, given its own key."""
        return self._of.get(key, set())


def is_prefixed(word: str, other: str) -> bool:
    """Whether one stem is the other with a prefix that denies it: `unable` and `able`."""
    longer, shorter = (word, other) if len(word) > len(other) else (other, word)
    return len(shorter) >= _SHORTEST and any(longer == prefix + shorter for prefix in _PREFIXES)

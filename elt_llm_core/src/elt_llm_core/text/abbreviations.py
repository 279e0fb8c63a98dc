"""Words whose full stop need not end a sentence."""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Always followed by the rest of their sentence.
TITLES = _set_of(
    """
    dr mr mrs ms mx prof rev hon st sr jr capt col gen lt maj sgt gov sen rep pres messrs mme mlle mgr ing dipl
    vs cf viz eg e.g ie i.e ca approx resp incl excl esp z.b u.a d.h i.d.r bzw ggf evtl vgl sog inkl p.ex pvz t.y vad
    """
)

# Followed by the number or letter of what they name; else a full stop after them ends the sentence.
REFERENCES = _set_of(
    """
    no nos nr art arts sec secs sect fig figs eq eqs tab ch chap para paras par pp p vol vols ed eds app ann annex cl
    reg regs sch ref abs ziff kap bd s str pt subs jan feb mar apr jun jul aug sep sept oct nov dec
    """
)

# Within a sentence as often as at its end; there the word after them decides.
OPEN = _set_of("inc ltd co corp plc llc bros dept est al usw ff jr sr a.m p.m am pm u.s u.k e.u u.n u.s.a")

# Words that start sentences and hardly ever follow an abbreviation or initial within one.
STARTERS = _set_of(
    """
    a an the this that these those it its he she they we you i if in on at by for from to as and but or nor so when
    where while who what which how why there here all any each every no not such after before however once only
    der die das ein eine es wenn im le la les un une il elle ils si l' el los las una
    """
)

# Words that a number belongs to: a line break between the two is not the start of a numbered line.
NUMBERED = _set_of(
    """
    rule rules section sections article articles law laws paragraph paragraphs clause clauses part parts chapter
    chapters appendix annex schedule table figure figures item items step note regulation regulations page pages
    number version and or to of in under with by per the from see than least most
    artikel absatz abschnitt kapitel seite regel regeln und oder von nach bis chapitre et ou de du punkt
    """
)

# Between the last two items of a list, at the end of a line.
CONJUNCTIONS = _set_of("and or und oder et ou y o e ir arba")

MONTHS = _set_of(
    """
    januar februar märz april mai juni juli august september oktober november dezember
    jan feb mär apr jun jul aug sep okt nov dez
    """
)

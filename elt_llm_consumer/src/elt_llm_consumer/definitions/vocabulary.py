"""The words of definitions, and of sentences that only look like definitions; English and German."""
# ruff: noqa: RUF001, SIM905 - look-alike quotes and dashes occur in documents.

import re
from typing import Final

from elt_llm_core.text.languages import alternatives
from elt_llm_core.text.languages import words as language_words

from elt_llm_consumer.sentences.words import FINITE_VERBS

DOCUMENTS: Final = (
    r"(?:rules?|regulations?|polic(?:y|ies)|handbook|documents?|manual|standards?|guide|guidance|guidelines?|parts?"
    r"|sections?|chapters?|schedules?|agreement|act|order|code|appendix|annex|article|clause|context|procedures?"
    r"|paragraph|bylaws|by-laws|statutes|terms|charter|constitution|contract|specification|framework|notice|report)"
)
ITEM_MARK: Final = re.compile(r"(?:[-*+•–▪◦‣●○■□·](?=\s)|\(?[A-Za-z0-9]{1,4}[.)](?=\s)|\([A-Za-z0-9]{1,5}\))\s*")
RULE_LABEL: Final = re.compile(
    r"(?:(?:rule|section|article|clause|regel|artikel|§)\s?)?(?:[A-Z]{"
    r"1,3}\d{1,3}|\d{1,3}|[A-Z])(?:\.\d{1,3}){1,4}[.)]?\s+",
    re.IGNORECASE,
)
RULE_NUMBER: Final = re.compile(r"(?:[A-Z]{1,3}\d{1,3}|\d{1,3})\.?\s+(?=[A-Z\"“„'‘«*_])")
# "In these Rules, unless the context requires otherwise,"
LEAD_IN: Final = re.compile(
    r"(?:(?:and|but)\s+)?(?:in|for|within|throughout|under|(?:as|when|where)\s+used(?:\s+(?:in|here|herein))?|herein|hereinafter"
    r"|unless|"
    r"except\s+where|save\s+where|wherever|solely\s+for|with\s+regard\s+to|where\s+the\s+context)\b[^,;:.!?]{1,140}[,:]\s+",
    re.IGNORECASE,
)
SHORT_LEAD_IN: Final = re.compile(
    rf"(?:in|for\s+the\s+purposes?\s+of|throughout|within|under)\s+(?:these|this|our|the\s+present|the)\s+"
    rf"(?:[A-Z]?[a-z]{{2,20}}\s+)?{DOCUMENTS}(?:\s+[A-Z]?\d{{0,3}}(?=\s))?\s+",
    re.IGNORECASE,
)
# "The term", "any reference to"
NAMED: Final = re.compile(
    r"(?:(?:the|a|an|any|each|every|der|die|das)\s+)?(?:(?:begriffe?|ausdr(?:uck|ücke)|bezeichnung(?:en)?|terms?|words?|expressions?|phrases?|abbreviations?|acronyms?|notion\s+of"
    r"|concept\s+of)|references?\s+(?:in\s+[^,;:.\"“]{3,60}\s)?to(?:\s+the\s+(?:term|word))?)\s+(?:of\s+)?",
    re.IGNORECASE,
)
ARTICLE: Final = re.compile(
    r"(?:an?|the|any|each|every|der|die|das|ein|eine|einem|einer|den|dem)\s+(?=\S)", re.IGNORECASE
)
OTHER_NAME: Final = re.compile(
    r"[\s,(]{0,9}\b(?:also\s+(?:known\s+as|called|referred\s+to\s+as|termed)|otherwise\s+known\s+as|formerly|"
    r"sometimes\s+(?:called|known\s+as)|or\s+simply|abbreviated(?:\s+(?:to|as))?|auch|also|kurz|in\s+short|or):?\s+"
    r"(?:an?\s+|the\s+|as\s+)?([^,;:()]{1,80}?)[\s),]{0,9}$",
    re.IGNORECASE,
)
QUALIFIER: Final = re.compile(
    r"\s{0,9},?\s{0,9}(?:in\s+relation\s+to|in\s+respect\s+of|with\s+respect\s+to|in\s+the\s+context\s+of|in\s+connection\s+with"
    r"|as\s+used|when\s+used|where\s+used|for\s+the\s+purposes?\s+of|for\s+(?=these|this)|in\s+(?=these|this|our)|when"
    r"\s+applied\s+to|as\s+applied\s+to|im\s+sinne|in\s+bezug\s+auf)\b[^;:.!?]{1,140}$",
    re.IGNORECASE,
)
CONTEXT_IN_BRACKETS: Final = re.compile(r"\s{0,9}\(([^()]{1,80})\)\s{0,9}$")

# "Registered", of a club,
OF_WHAT: Final = re.compile(r"\s{0,9},\s{0,9}of\s{1,9}(?:an?|the|any)\s[^,;:.!?\"“”]{1,80}$", re.IGNORECASE)

# Verbs that end a subject; the name of the group is the kind of verb.
VERB: Final = re.compile(
    r"""(?<![\w-])(?:
      (?P<meaning>(?:shall\s+have|shall\s+bear|has|have|will\s+have|bears?|carry|carries)\s+the\s+(?:same\s+|following\s+)?
        meanings?\b(?:\s+of\b)?)
    | (?P<means>(?:(?:shall|will)\s+)?(?:also\s+)?means?(?:\s+and\s+includes?)?
        (?!\s+(?:of|by|to|test|tests|tested|for|whereby|through|in\s+which|necessary|and\s+ends?|available)\b)(?![\w-]))
    | (?P<defined>(?:is|are)\s+defined\s+as(?!\w))
    | (?P<construed>(?:is|are|shall\s+be|be|will\s+be|(?:is|are)\s+to\s+be)\s+(?:hereby\s+)?(?:defined|understood|taken|
        construed|interpreted|considered|read|deemed)\s+(?:as|to\s+mean|to\s+refer\s+to|to\s+include|to\s+be
        |as\s+meaning)(?!\w))
    | (?P<used>(?:is|are)\s+used\s+(?:here\s+)?(?:to\s+(?:mean|refer\s+to|denote|describe)|for)(?!\w))
    | (?P<refers>(?:shall\s+)?(?:refers?|relates?)\s+to(?!\w)|denotes?(?!\w)|signif(?:y|ies)(?!\w)|stands?\s+for(?!\w)
        |(?:is|are)\s+(?:short|an?\s+(?:abbreviation|acronym))\s+(?:for|of)(?!\w)
        |describes?(?=\s+(?:an?|any|the)\s)|designates?(?!\w))
    | (?P<includes>(?:shall\s+)?includes?(?!\w)|excludes?(?!\w))
    | (?P<covers>(?:also\s+)?(?:covers?|encompass(?:es)?|comprises?|embraces?|indicates?|umfass(?:t|en))(?!\w))
    | (?P<when>(?:exists?|arises?|occurs?)(?=\s(?:if|when|where)\s))
    | (?P<german>bezeichnet|bezeichnen|bedeutet|bedeuten|steht\s+für|stehen\s+für
        |(?:ist|sind|wird|werden)\s+definiert\s+als
        |meint(?!\w)|meinen(?!\w))
    | (?P<is>is|are|ist|sind)(?!\w)
    )""",
    re.VERBOSE,
)

# A subject that starts with one of these names nothing that could be defined.
NOT_FIRST: Final = frozenset(
    """
    this that these those it its it's he she they we you i there here what which who whose whom how why where when if
    whether because as so such both all some many most few several none nothing everything anything something someone
    anyone everyone nobody one another other others and or but by with without from not no nor neither either only
    also however therefore thus hence then otherwise instead yet even though although while since until unless once
    his her their our your my in on at to of for about after before during under over
    dies diese dieser dieses das es er sie wir ihr was wer wie wo wenn falls ob damit dass
    """.split()
)
# A subject with one of these is a clause.
NOT_WITHIN: Final = frozenset(
    """
    is are was were be been being has have had do does did must may might can could shall should will would cannot
    that which who whom whose if when where because whether what how why not never this these those it they he she we
    you then than so just simply usually often normally typically generally probably actually really sometimes always
    therefore thereby thus only by means mean meant says said ist sind wird werden hat haben muss kann soll nicht dass
    """.split()
)
STRUCTURE: Final = language_words("document_parts")
# Bodies of idioms and of consequences.
NOT_BODY: Final = re.compile(
    r"(?:that\b|nothing\b|everything\b|something\b|business\b|well\b|trouble\b|war\b|much\b|little\b|more\b|less\b|"
    r"fewer\b|a\s+lot\b|a\s+great\s+deal\b|so\b|it\b|we\b|you\b|they\b|he\b|she\b|there\b|no\b|not\b|what\b|"
    r"having\s+to\b|being\s+able\b|either\b|neither\b|even\b|only\b|harm\b|if\b|when\b|"
    r"different\s+things\b|the\s+same\b|the\s+world\b|the\s+end\b|the\s+loss\b|a\s+loss\b|"
    r"an?\s+(?:fine|penalty|delay|ban|suspension|forfeit|replay|increase|decrease|reduction|rise|drop|lower|higher|"
    r"longer|shorter|better|worse|greater|smaller|fresh|further|new|second|late|warning|loss|long|chance)\b|"
    r"(?:dass|nichts|alles|viel|wenig|mehr|weniger|nicht|kein|keine)\b)",
    re.IGNORECASE,
)
# "A late return is a matter for the board."
PREDICATE: Final = re.compile(
    r"eine?\s+(?:\w{1,20}\s)?(?:aufgabe|sache|frage|pflicht|recht|problem|grund|beispiel|zeichen|weg|anliegen)\b|"
    r"(?:an?|the|one)\s+(?:\w{1,20}\s)?(?:matter|breach|offence|offense|responsibility|duty|condition|requirement|right|"
    r"privilege|"
    r"subject|cause|reason|problem|question|case|decision|task|job|good|bad|best|worst|most|least|first|only|last|next|same|"
    r"better|great|oldest|nuisance|pleasure|mistake|sign|example|reference|phrase|word|virtue|gift|promise|way|challenge|fact|saying|greeting|business|result|consequence|pity|shame|serious)\b",
    re.IGNORECASE,
)
# Narrower, for "A Thing is a ...": "a proud thing to own" is no definition.
STRONGLY_DISTINGUISHING: Final = re.compile(
    r"\b(?:that|which|who|whose|whom|where|of|for|from|by|with|without|between|other\s+than|used|made|given|held|lodged"
    r"|signed|kept|issued|set|sent|paid|taken|drawn|played|under"
    r"|von|für|mit|ohne|durch|aus|an|zum|zur|die|der|das|dem|den|deren|dessen)\b",
    re.IGNORECASE,
)
# "A valuable asset which can inform"
PRAISING: Final = re.compile(
    r"(?:an?|the|any)\s+(?:\w{1,20}ly\s+)?(?:valuable|important|key|essential|vital|crucial|critical|useful|powerful|popular"
    r"|significant|central|great|good|big|huge|proud|common|typical|natural|necessary|real|simple|strange|sad|fine|nice"
    r"|busy|famous|major|unique|excellent|interesting|perfect|living|welcome|costly|expensive|cheap)\b",
    re.IGNORECASE,
)
# "The practice of reading", "the placing of boards"
PRACTICE: Final = re.compile(
    r"(?:an?|the)\s+(?:\w{1,20}\s+){0,2}(?:practice|act|process|activity|procedure|method|technique|operation|placing|removal"
    r"|[a-z]{3,20}ing)\s+(?:of|by\s+which|in\s+which|whereby)\s",
    re.IGNORECASE,
)
# "A letter by which", "events that"
KIND: Final = re.compile(
    r"(?:(?:an?|any|every|the|those)\s+)?(?:[\w'’/-]{1,30},?\s+){1,9}?(?:(?:by|on|in|at|to|for|from|during|with|of|under|through)\s+"
    r"(?:which|whom|whose)|which|that|whose|worth)\s",
    re.IGNORECASE,
)
GERMAN_KIND: Final = re.compile(
    r"(?:ein|eine|einen|jede[nmrs]?|die|der|das)\s+(?:[\w-]{1,40},?\s+){1,6}?(?:(?:in|mit|bei|durch|für|von|auf|zu|aus)\s+)?"
    r"(?:der|die|das|dem|den|deren|dessen|welche[rs]?)\s",
    re.IGNORECASE,
)
# "Words here have the same meaning as "Site"."
SAME_AS: Final = re.compile(
    r"as\s+(?:the\s+)?(?:(?:term|word)\s+)?[\"“'‘*]{1,3}(?P<target>[^\"“”'‘’*\n]{2,60})", re.IGNORECASE
)
FINITE: Final = re.compile(rf"\b(?:{alternatives(FINITE_VERBS)})\b", re.IGNORECASE)
# The first words of a definition.
DEFINING: Final = re.compile(
    r"(?:an?|the|any|every|each|all|one|those|that\s+part|such|persons?|anyone|anything|either|both|two|three|"
    r"ein|eine|einen|der|die|das|den|jede[nmrs]?|alle|wer|diejenige[nr]?|dasjenige|derjenige)\b",
    re.IGNORECASE,
)
# Words that distinguish a thing from others of its kind: "a day other than", "a person who".
DISTINGUISHING: Final = re.compile(
    r"\b(?:that|which|who|whose|whom|where|in|of|for|from|by|with|without|to|on|at|under|between|beside|within|behind|near|among|into|during|other\s+than|used|"
    r"made|given|held|when|der|die|das|deren|dessen|welche[rs]?|von|für|mit|ohne|zu|zur|zum|bei|im|in)\b",
    re.IGNORECASE,
)
# The rule or section that a reference leads to; "of this document" adds nothing, "of the Act of 1990" does.
PLACE: Final = re.compile(
    r"((?:rule|regulation|section|article|clause|paragraph|part|chapter|schedule|appendix|annex|regel|artikel|abschnitt|"
    r"anhang|§)s?\s*[A-Z]{0,3}\d{0,4}(?:\.\d{1,4}){0,4}[a-z]?(?:\(\w{1,4}\)){0,3}"
    r"(?:\s+of\s+the\s+(?!handbook|document|manual|rules|code|policy|regulations)\w[^,;]{1,60}?(?=\s(?:and|save|but)\s|,|$))?)",
    re.IGNORECASE,
)
TARGET: Final = re.compile(
    r"(?:that\s+is\s+|which\s+is\s+)?(?:(?:given|set\s+out|assigned|ascribed|defined|stated|laid\s+down|specified|as)\s+)?"
    r"(?:to\s+(?:it|them|that\s+term|this\s+term|the\s+term)\s+)?(?:(?:given|defined|set\s+out)\s+)?"
    r"(?:(?:it\s+has|they\s+have|as)\s+)?(?:in|by|under|at)\s+(?:the\s+)?(?P<target>[^;.!?\n]{1,120}"
    r"(?:\.\d{1,3}){0,4}(?:\(\w{1,4}\)){0,3}[^;.!?\n]{0,100})",
    re.IGNORECASE,
)
SEE: Final = re.compile(
    r"(?:\(?\s*(?:see(?:\s+also|\s+under)?|cf\.|siehe(?:\s+auch)?|vgl\.)\s+|(?:as\s+)?(?:is\s+|are\s+)?defined\s+in\s+|as\s+(?:given|set\s+out|described)\s+in\s+|set\s+out\s+in\s+"
    r"|has\s+the\s+(?:same\s+)?meaning\s+(?:given|set\s+out|as|defined)\s+(?:to\s+it\s+)?in\s+)"
    r"[\"“”'‘’*_]{0,3}(?P<target>[^;!?\n\"“”*()]{1,100}?)[\"“”'‘’*_]{0,3}\s*[.)]{0,2}\s*$",
    re.IGNORECASE,
)

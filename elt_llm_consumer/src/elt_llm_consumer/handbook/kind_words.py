"""Last words of names that tell what kind of thing is named, of no trade in particular; English and German.

A job file adds to them under `handbook: kinds`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from elt_llm_consumer.handbook.grammar import JOINING
from elt_llm_consumer.name_words import name_key
from elt_llm_consumer.sections.handbook import Kind

KIND_WORDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "role": (
        *("officer", "secretary", "manager", "director", "president", "chair", "chairman", "chairperson", "treasurer"),
        *("member", "person", "individual", "someone", "anyone", "registrar", "inspector", "owner", "steward", "lead"),
        *("administrator", "user", "applicant", "candidate", "employee", "worker", "volunteer", "instructor"),
        *("official", "maintainer", "developer", "author", "editor", "auditor", "assessor", "adviser"),
        *("advisor", "agent", "representative", "delegate", "guardian", "parent", "child", "adult", "student", "pupil"),
        *("teacher", "customer", "client", "supplier", "contractor", "subscriber", "holder", "keeper", "custodian"),
        *("controller", "processor", "analyst", "engineer", "clerk", "solicitor", "doctor", "physician", "nurse"),
        *("helper", "assistant", "deputy", "trustee", "partner", "buyer", "seller", "tenant", "visitor"),
        *("supporter", "leader", "head", "executive", "signatory", "witness", "guest", "patron"),
        *(
            "responder",
            "builder",
            "driver",
            "warden",
            "supervisor",
            "coordinator",
            "founder",
            "operator",
            "packager",
            "man",
        ),
        *("woman", "people", "mitglied", "leiter", "leiterin", "vorsitzende", "beauftragte", "nutzer"),
    ),
    "organisation": (
        *("committee", "board", "council", "commission", "panel", "association", "club", "department", "agency"),
        *("authority", "body", "company", "federation", "union", "society", "organisation", "organization", "team"),
        *("office", "unit", "division", "institution", "institute", "university", "school", "bank", "court"),
        *(
            "tribunal",
            "ministry",
            "government",
            "working group",
            "steering group",
            "task group",
            "party",
            "trust",
            "charity",
            "firm",
            "subsidiary",
            "branch",
        ),
        *("staff", "police", "service provider", "bureau", "secretariat", "assembly", "district", "region"),
        *("ausschuss", "vorstand", "verein", "behörde", "amt", "abteilung", "verband", "rat", "gesellschaft"),
    ),
    "document": (
        *(
            "form",
            "certificate",
            "report",
            "document",
            "licence",
            "license",
            "contract",
            "agreement",
            "sheet",
            "notice",
        ),
        *("policy", "handbook", "manual", "guide", "letter", "statement", "declaration", "minutes", "invoice", "bill"),
        *("plan", "schedule", "programme", "charter", "constitution", "memorandum", "ticket", "card", "passport"),
        *("return", "receipt", "application form", "specification", "standard", "code", "book", "file", "page"),
        *(
            "documentation",
            "changelog",
            "message",
            "email",
            "publication",
            "script",
            "badge",
            "permit",
            "warrant",
            "deed",
            "template",
            "order form",
        ),
        *("formular", "bericht", "vertrag", "bescheinigung", "zeugnis", "ausweis", "satzung", "protokoll"),
    ),
    "event": (
        *("meeting", "hearing", "match", "event", "game", "final", "conference", "session", "election", "vote"),
        *("tournament", "competition", "season", "ceremony", "incident", "accident", "injury"),
        *(
            "deadline",
            "release",
            "holiday",
            "occurrence",
            "decision",
            "award",
            "breach",
            "offence",
            "misconduct",
            "postponement",
            "visit",
        ),
        *("abandonment", "dismissal", "expulsion", "emergency", "failure", "error", "interval", "window", "round"),
        *("sitzung", "versammlung", "wahl", "spiel", "ereignis", "vorfall"),
    ),
    "rule": (
        *("rule", "regulation", "law", "requirement", "condition", "criterion", "principle", "guideline", "clause"),
        *("limit", "restriction", "prohibition", "right", "duty", "obligation", "sanction", "penalty", "fine"),
        *("suspension", "ban", "byelaw", "bylaw", "provision", "exemption", "exception", "threshold", "entitlement"),
        *("regel", "pflicht", "recht", "vorschrift", "bedingung", "strafe"),
    ),
    "process": (
        *("registration", "appeal", "application", "process", "procedure", "transfer", "inspection", "audit", "review"),
        *("approval", "affiliation", "appointment", "assessment", "investigation", "consultation", "vetting", "check"),
        *("examination", "arbitration", "mediation", "promotion", "relegation", "selection", "nomination", "complaint"),
        *("protest", "challenge", "recall", "replacement", "upgrade", "removal", "training", "grading"),
        *(
            "testing",
            "treatment",
            "clearance",
            "installation",
            "configuration",
            "management",
            "authorisation",
            "authorization",
        ),
        *("publication process", "enquiry", "inquiry", "screening", "disposal", "deletion", "retention", "loan"),
        *("test", "safeguarding", "refund", "payment", "activity", "operation", "method", "scheme"),
        *("verfahren", "antrag", "prüfung", "anmeldung", "genehmigung", "beschwerde"),
    ),
    "data": (
        *(
            "register",
            "list",
            "record",
            "database",
            "data",
            "dataset",
            "data set",
            "number",
            "identifier",
            "id",
            "score",
        ),
        *("table", "index", "catalogue", "catalog", "inventory", "field", "metadata", "log", "archive", "figure"),
        *("code number", "address", "grade", "category", "class", "classification", "status", "fee", "price", "amount"),
        *("balance", "budget", "account", "deposit", "point", "result", "statistic", "entry", "version", "file name"),
        *(
            "information",
            "signature",
            "photograph",
            "image",
            "copy",
            "key",
            "keyword",
            "flag",
            "path",
            "directory",
            "symbol",
            "variable",
            "format",
        ),
        *("verzeichnis", "liste", "daten", "nummer", "datensatz", "akte"),
    ),
}


class KindWords:
    """Knows by the last words of a name what kind of thing it is."""

    def __init__(self, kinds: Mapping[Kind, Iterable[str]]) -> None:
        """`kinds` go before the words that ship."""
        self._by_key: dict[str, Kind] = {}
        for kind, heads in (*kinds.items(), *KIND_WORDS.items()):
            for head in heads:
                self._by_key.setdefault(phrase_key(head), kind)

    def of(self, name: str) -> tuple[Kind, str] | None:
        """The kind and the words that tell it; of "Register of Interests" the word before "of" does."""
        words = name.replace("-", " ").split()
        joined = next((number for number, word in enumerate(words) if number and word in JOINING), len(words))
        words = words[:joined]
        for number in range(len(words)):
            kind = self._by_key.get(phrase_key(" ".join(words[number:])))
            if kind is not None:
                return kind, " ".join(words[number:])
        return None


def phrase_key(name: str) -> str:
    """What a name is known by: its words folded, without number, article and hyphen."""
    return "".join(name_key(name))

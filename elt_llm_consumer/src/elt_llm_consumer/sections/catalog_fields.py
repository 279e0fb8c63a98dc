"""The fields that a catalog has unless it is told otherwise, and the words that tell them in English texts."""

from collections.abc import Mapping
from typing import Any

RULE_WORDS = (
    *("must", "shall", "may", "should", "cannot", "can not", "need not", "needs", "is to be", "are to be"),
    *("required", "requires", "permitted", "allowed", "forbidden", "prohibited", "entitled", "obliged"),
    *("only if", "unless", "no more than", "not more than", "at least", "at most", "not less than", "no later than"),
    *(
        "not later than",
        "within",
        "limited to",
        "up to",
        "no fewer than",
        "not fewer than",
        "never",
        "no one",
        "nobody",
    ),
)

SHIPPED_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "fact_sheet_id": {"kind": "model", "column": "fact_sheet_id"},
    "type": {"kind": "model", "column": "type"},
    "domain": {"kind": "model", "column": "domain"},
    "subgroup": {"kind": "model", "column": "subgroup"},
    "inventory_description": {"kind": "inventory", "column": "description"},
    "formal_definition": {"kind": "definition"},
    "domain_context": {
        "question": "What is {entity}, what is it for and what does it belong to?",
        "cues": ("is", "are", "consist*", "compris*", "includ*", "contain*", "cover*", "serv*", "has", "have"),
        "definitions": True,
        "prompt": "Describe in at most three sentences what {entity} is, what it is for and what it belongs to.",
    },
    "governance_rules": {
        "question": "Who decides, approves, owns or is responsible for {entity}?",
        "listed_under": (
            *("duties", "looks after", "responsible for", "responsibilities", "responsibility", "remit", "tasks"),
            *("answers for", "in charge of", "accountable for", "competence", "competences", "functions"),
        ),
        "cues": (
            *("approv*", "appoint*", "decid*", "decision*", "responsible", "answerable", "owner", "owns", "owned"),
            *("authoris*", "authoriz*", "oversee*", "supervis*", "review*", "keeps", "maintain*", "grant*", "only by"),
            *(
                "refus*",
                "delegat*",
                "permission",
                "consent*",
                "monitor*",
                "audit*",
                "administer*",
                "issue*",
                "inspect*",
            ),
            *(
                "in charge of",
                "corrected",
                "elected",
                "accepted",
                "accepts",
                "checks",
                "checked",
                "awards",
                "awarded",
                "imposes",
            ),
        ),
        "prompt": "State who decides on, approves, owns or answers for {entity}, and under which conditions.",
    },
    "business_rules": {
        "question": "What must, may or must not happen with {entity}, and within which limits?",
        "rule": True,
        "at_most": 5,
        "prompt": "List the rules for {entity}: what must, may or must not be done, with all numbers and periods.",
    },
    "lifecycle_states": {
        "question": "How does {entity} begin, change its state and end?",
        "cues": (
            *("begin*", "start*", "ends", "end of", "ended", "lapse*", "expir*", "valid", "renew*", "cancel*"),
            *("suspended", "terminat*", "postpone*", "becom*", "lasts", "lasting", "withdraw*", "withdrawn", "draft"),
            *("pending", "closed", "closes", "opens", "opened", "abandoned", "replayed", "released", "archived"),
            *("runs out", "run out", "ceases", "replaced", "restored", "in force", "takes effect", "completed"),
            *("lodged", "issued", "destroyed", "erased", "returned", "published", "registered", "status", "removed"),
        ),
        "prompt": "Name the states of {entity} and what leads from one to the next.",
    },
    "data_classification": {
        "question": "How is information about {entity} classified, and who may see it?",
        "headers": (
            *("class", "classification", "data class", "data classification", "information class", "confidentiality"),
            *("sensitivity", "security class", "security classification", "protection level", "confidentiality level"),
        ),
        "cues": ("classified", "classification", "confidential", "restricted", "encrypted"),
        "at_most": 1,
        "prompt": "State how information about {entity} is classified.",
    },
    "data_owner": {
        "question": "Who is the owner of the information about {entity}?",
        "headers": ("owner", "data owner", "information owner", "record owner", "business owner", "asset owner"),
        "cues": ("data owner of", "owner of", "owned by"),
        "at_most": 1,
        "prompt": "State who owns the information about {entity}.",
    },
    "retention": {
        "question": "How long is information about {entity} kept, and when is it destroyed?",
        "headers": ("kept for", "retention", "retention period", "period of retention", "keep for", "retained for"),
        "cues": ("kept for", "kept until", "retained", "retention", "destroyed", "erased", "deleted"),
        "at_most": 2,
        "prompt": "State how long information about {entity} is kept and when it is destroyed.",
    },
    "regulatory_context": {
        "question": "Which laws, regulators or outside authorities govern {entity}?",
        "cues": (
            *("law", "laws", "legal", "legally", "Act", "Acts", "statut*", "regulator*", "directive", "legislation"),
            *(
                "a court",
                "courts",
                "court of",
                "authority",
                "authorities",
                "federation",
                "government",
                "ombudsman",
                "criminal record",
            ),
            *("licence", "licensed", "license", "insurer*", "compliance", "public liability"),
        ),
        "prompt": "Name the laws, regulators and outside authorities that govern {entity}, and how.",
    },
    "associated_agreements": {
        "question": "Which agreements, contracts, forms or consents go with {entity}?",
        "cues": (
            *("agreement*", "contract*", "written consent", "consent of", "declaration*", "undertaking*", "memorandum"),
            *("licence", "on the form", "on a form", "form issued", "form in", "forms", "signed", "terms of", "bond"),
        ),
        "prompt": "Name the agreements, contracts, forms and consents that go with {entity}.",
    },
}

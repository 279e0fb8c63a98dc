"""The domain to which a term may belong that nobody drew: that of the entities it is told with, or a new one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elt_llm_consumer.catalog.known import Known, Term
from elt_llm_consumer.fields.about import About, most_common_headings
from elt_llm_consumer.fields.structured_fields import told
from elt_llm_consumer.rows import Cell, Evidence, absent

_IN_DEFINITION, _IN_STATEMENT = 3, 1
_LEAST_VOTES = 3
_LEAST_SHARE = 0.5
_LEAST_STATEMENTS = 3
_PLACES = 3


@dataclass(frozen=True)
class Proposal:
    """The domain, empty if none can be told, and the cells that say why."""

    domain: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class _Vote:
    domain: str
    entity: str
    weight: int
    evidence: Evidence


def propose(known: Known, term: Term) -> Proposal:
    """The domain of most entities that its definition (which counts threefold) and its other statements name.

    An existing one needs half of the votes and three of them; where the votes are spread, or none, but three
    statements speak of the term, the title above most of them is proposed as a new one.
    """
    abouts = known.subjects.of(term.name)
    votes = _votes(known, term, abouts)
    counted: Counter[str] = Counter()
    for vote in votes:
        counted[vote.domain] += vote.weight
    total = counted.total()
    best, weight = min(counted.items(), key=lambda it: (-it[1], it[0])) if counted else ("", 0)
    if weight >= _LEAST_VOTES and weight >= _LEAST_SHARE * total:
        return _existing(best, weight / total, [vote for vote in votes if vote.domain == best])
    titles = most_common_headings(abouts)
    if len(abouts) >= _LEAST_STATEMENTS and titles:
        return _new(titles[0], abouts)
    reason = "Too little is said of it with entities of any domain."
    return Proposal("", {"proposed_domain": absent(reason), "domain_status": _status("unknown", (), reason)})


def _existing(domain: str, share: float, votes: Sequence[_Vote]) -> Proposal:
    entities = list(dict.fromkeys(vote.entity for vote in votes))
    evidence = tuple(dict.fromkeys(vote.evidence for vote in votes))[:_PLACES]
    named = ", ".join(entities[:_PLACES])
    reason = f"It is told with {named} of this domain ({share:.0%} of what it is told with)."
    return Proposal(domain, _cells(domain, "existing", evidence, round(share, 4), reason))


def _new(title: str, abouts: Sequence[About]) -> Proposal:
    under = [one for one in abouts if one.statement.headings and one.statement.headings[0] == title]
    evidence = tuple(one.statement.document.evidence(one.statement.start, one.statement.end, 0.5) for one in under)
    reason = f"Entities of no one domain stand beside it; {len(under)} statements of it stand under '{title}'."
    share = round(len(under) / len(abouts) / 2, 4)
    return Proposal(title, _cells(title, "new proposed", evidence[:_PLACES], share, reason))


def _cells(domain: str, status: str, evidence: Sequence[Evidence], sure: float, reason: str) -> dict[str, Cell]:
    proposed = told(domain, evidence, reason)
    proposed = proposed.model_copy(update={"verdict": "inferred", "confidence": sure, "note": reason})
    return {"proposed_domain": proposed, "domain_status": _status(status, evidence, reason, sure)}


def _status(status: str, evidence: Sequence[Evidence], reason: str, sure: float = 1.0) -> Cell:
    return Cell(value=status, verdict="inferred", evidence=tuple(evidence), confidence=sure, note=reason)


def _votes(known: Known, term: Term, abouts: Sequence[About]) -> list[_Vote]:
    domains = {one.name: one.domain for one in known.drawn.values() if one.domain}
    found = []
    for definition in term.definitions:
        named = dict.fromkeys(mention.name for mention in known.subjects.names.mentions(definition.text))
        found += [
            _Vote(domains[one], one, _IN_DEFINITION, definition.evidence)
            for one in named
            if one in domains and one != term.name
        ]
    defined = {definition.evidence.span for definition in term.definitions}
    for about in abouts:
        statement = about.statement
        if any(start <= statement.start and statement.end <= end for start, end in defined):
            continue
        evidence = statement.document.evidence(statement.start, statement.end, 0.6)
        others = known.subjects.names_in(statement)
        found += [_Vote(domains[one], one, _IN_STATEMENT, evidence) for one in others if one in domains]
    return found

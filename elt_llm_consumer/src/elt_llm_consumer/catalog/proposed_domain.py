"""The domain to which a term may belong that nobody drew: that of the entities it is told with, or a new one."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_consumer.catalog.known import Known, Term
from elt_llm_consumer.fields.about import About, most_common_heading
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell, Evidence, absent

_IN_DEFINITION, _KIND_OF, _IN_STATEMENT = 3, 3, 1
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
    """`count` votes for a domain; `weight` is what they weigh: less, the more statements name the entity."""

    domain: str
    entity: str
    count: int
    weight: float
    evidence: Evidence


def propose(known: Known, term: Term) -> Proposal:
    """The domain of the entities that its name, its definition (both threefold) and its other statements name.

    An existing one needs half of the weight and three votes. Else the title over most statements of the term is taken,
    if there are three and half of them or more stand under it: the domain that it names, or a new one.
    """
    abouts = known.subjects.of(term.name)
    votes = list(_votes(known, term, abouts))
    weights: dict[str, float] = defaultdict(float)
    for vote in votes:
        weights[vote.domain] += vote.weight
    best, weight = min(weights.items(), key=lambda it: (-round(it[1], 6), it[0])) if weights else ("", 0.0)
    mine = [vote for vote in votes if vote.domain == best]
    total = sum(weights.values())
    if sum(vote.count for vote in mine) >= _LEAST_VOTES and weight >= _LEAST_SHARE * total:
        return _by_entities(best, weight / total, mine)
    title, under = most_common_heading(abouts)
    if len(abouts) >= _LEAST_STATEMENTS and len(under) >= _LEAST_SHARE * len(abouts):
        return _by_title(known, title, under, len(abouts))
    reason = "Too little is said of it with entities of one domain, or under one title."
    unknown = Cell(value="unknown", verdict="inferred", confidence=1.0, note=reason)
    return Proposal("", {"proposed_domain": absent(reason), "domain_status": unknown})


def _by_entities(domain: str, share: float, votes: Sequence[_Vote]) -> Proposal:
    entities = list(dict.fromkeys(vote.entity for vote in votes))
    evidence = tuple(dict.fromkeys(vote.evidence for vote in votes))[:_PLACES]
    named = ", ".join(entities[:_PLACES])
    reason = f"It is told with {named} of this domain ({share:.0%} of what it is told with)."
    return _proposal(domain, "existing", evidence, share, reason)


def _by_title(known: Known, title: str, under: Sequence[About], total: int) -> Proposal:
    places = [one.statement for one in under[:_PLACES]]
    evidence = [one.document.evidence(one.start, one.end, 0.5) for one in places]
    share = len(under) / total
    reason = f"{len(under)} of {total} statements about it stand under '{title}'."
    domains = Names(sorted({one.domain for one in known.drawn.values() if one.domain}))
    named = domains.mentions(title)
    return _proposal(
        named[0].name if named else title, "existing" if named else "new proposed", evidence, share, reason
    )


def _proposal(domain: str, status: str, evidence: Sequence[Evidence], share: float, reason: str) -> Proposal:
    def inferred(value: str) -> Cell:
        sure = round(share, 4)
        return Cell(value=value, verdict="inferred", evidence=tuple(evidence), confidence=sure, note=reason)

    return Proposal(domain, {"proposed_domain": inferred(domain), "domain_status": inferred(status)})


def _votes(known: Known, term: Term, abouts: Sequence[About]) -> Iterator[_Vote]:
    domains = {one.name: one.domain for one in known.drawn.values() if one.domain}

    def vote(entity: str, count: int, evidence: Evidence) -> _Vote:
        weight = count / math.log2(2 + len(known.subjects.of(entity)))
        return _Vote(domains[entity], entity, count, weight, evidence)

    own = known.names.key(term.name)
    for name in domains:
        key = known.names.key(name)
        if len(key) < len(own) and own[-len(key) :] == key:
            yield vote(name, _KIND_OF, term.definitions[0].evidence)
    for definition in term.definitions:
        named = dict.fromkeys(mention.name for mention in known.subjects.names.mentions(definition.text))
        yield from (vote(one, _IN_DEFINITION, definition.evidence) for one in named if one in domains)
    defined = {definition.evidence.span for definition in term.definitions}
    for statement in (about.statement for about in abouts):
        if not any(start <= statement.start and statement.end <= end for start, end in defined):
            evidence = statement.document.evidence(statement.start, statement.end, 0.6)
            others = known.subjects.names_in(statement)
            yield from (vote(one, _IN_STATEMENT, evidence) for one in others if one in domains)

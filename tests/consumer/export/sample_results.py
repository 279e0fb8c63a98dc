"""A small job result with everything that is difficult to export: lists, quotes, formulas, unusual names."""

from elt_llm_consumer.evidence import Cell, Curation, Evidence, JobResult, Review, Row, Table, absent_cell, found_cell
from elt_llm_consumer.jobs.corpus import quote_hash


def evidence_of(quote: str, page: int | None = 8, source: str = "handbook.pdf") -> Evidence:
    return Evidence(
        collection="rules",
        source=source,
        document_id="d" * 32,
        document_hash="f" * 64,
        page=page,
        section="Part A > A3 Definitions",
        span=(10, 10 + len(quote)),
        quote=quote,
        quote_hash=quote_hash(quote),
        score=0.9,
    )


def glossary_result() -> JobResult:
    first = 'A club that is affiliated; see Rule A2, "Membership".'
    rows = (
        Row(
            key="term/member-club",
            name="Member Club",
            cells={
                "definition": found_cell(first, [evidence_of(first)]),
                "abbreviation": found_cell("MC", [evidence_of("MC | Member Club", page=9)]),
                "synonyms": found_cell(("Affiliated Club", "Board"), [evidence_of("also called Affiliated Club")]),
                "see_also": found_cell(("Board", "Nowhere Defined"), [evidence_of("elected by the Board")]),
            },
            review=Review(status="APPROVED", reviewer="Registrar", comment="=fine", reviewed_at="2026-11-01"),
        ),
        Row(
            key="term/board",
            name="Board",
            cells={
                "definition": Cell(
                    value=("Five directors.", "Seven directors."),
                    verdict="conflict",
                    evidence=(evidence_of("Five directors."), evidence_of("Seven directors.", None, "policy.md")),
                    confidence=0.8,
                    note="The two differ in a number.",
                ),
                "abbreviation": absent_cell("No abbreviation is given."),
            },
        ),
        Row(
            key="term/rate_of_pay",
            name="Rate_of; Pay v1.2",
            cells={"definition": found_cell('=HYPERLINK("http://x")', [evidence_of('=HYPERLINK("http://x")')])},
            review=Review(status="REJECTED"),
        ),
        Row(
            key="term/fee",
            name="Fee",
            cells={
                "definition": Cell(
                    value="What is paid.",
                    verdict="found",
                    method="curated",
                    confidence=1.0,
                    curation=Curation(by="Treasurer", at="2026-10-01"),
                )
            },
            review=Review(status="NEEDS_CLARIFICATION"),
            notes=("-1 is not a fee",),
        ),
    )
    table = Table(name="terms", columns=("definition", "abbreviation", "synonyms", "see_also"), rows=rows)
    return JobResult(job="words", kind="glossary", tables=(table,), figures={"terms": 4}, notes=("A note.",))


def catalog_result() -> JobResult:
    def entity(name: str, *group: str) -> Row:
        text = f"{name} is kept by the office."
        cells = {"formal_definition": found_cell(text, [evidence_of(text)])}
        return Row(key=f"entity/{name}", name=name, group=group, cells=cells)

    entities = Table(
        name="entities",
        columns=("formal_definition",),
        rows=(
            entity("Member", "People_and Places", "Clubs"),
            entity("Member", "People_and Places", "Clubs"),
            entity("Town", "People_and Places"),
            entity("Address"),
        ),
    )
    relationship = Row(
        key="relationship/1",
        name="Member lives in Town",
        cells={"cardinality": found_cell("many to one", [evidence_of("Member lives in Town (many to one).", None)])},
    )
    relationships = Table(name="relationships", columns=("cardinality",), rows=(relationship,))
    return JobResult(job="things", kind="catalog", tables=(entities, relationships))

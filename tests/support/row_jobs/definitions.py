"""Find the definitions in a text, as short tuples."""

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.jobs.sections import GlossarySection
from row_jobs.contexts import corpus_of


def definitions_in(text: str, settings: GlossarySection | None = None) -> list[Definition]:
    """Return the definitions in one document; Markdown headings start sections and form feeds start pages.

    Each definition is checked: its evidence can be read back, and its spans contain its text.
    """
    corpus = corpus_of({"text.md": text})
    found = find_definitions(corpus, settings or GlossarySection())
    for one in found:
        assert corpus.holds(one.evidence)
        assert one.term in " ".join(text[slice(*one.term_span)].replace("**", "").split())
        assert one.evidence.span[0] <= min(one.term_span[0], one.definition_span[0])
        assert one.evidence.span[1] >= max(one.term_span[1], one.definition_span[1])
        assert text[slice(*one.definition_span)].strip() == text[slice(*one.definition_span)]
    return found


def defined(text: str, settings: GlossarySection | None = None) -> list[tuple[str, str]]:
    """Return the terms and their definitions in text order."""
    return [(one.term, one.text) for one in definitions_in(text, settings)]


def terms_in(text: str) -> list[str]:
    """Return only the terms."""
    return [one.term for one in definitions_in(text)]

"""What a glossary job may be told."""

from elt_llm_core.settings_section import Section


class GlossarySection(Section):
    """Settings of a glossary job."""

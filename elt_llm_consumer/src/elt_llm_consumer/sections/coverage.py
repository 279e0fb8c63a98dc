"""What a coverage job may be told."""

from elt_llm_core.settings_section import Section


class CoverageSection(Section):
    """Settings of a coverage job."""

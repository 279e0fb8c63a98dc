"""What a handbook job may be told."""

from elt_llm_core.settings_section import Section


class HandbookSection(Section):
    """Settings of a handbook job."""

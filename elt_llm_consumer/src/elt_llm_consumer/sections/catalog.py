"""What a catalog job may be told."""

from elt_llm_core.settings_section import Section


class CatalogSection(Section):
    """Settings of a catalog job."""

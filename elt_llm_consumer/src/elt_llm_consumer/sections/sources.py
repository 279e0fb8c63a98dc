"""What a job reads: collections of texts, a model, an inventory, other names, and what reviewers put right."""

from elt_llm_core.settings_section import Section
from pydantic import Field


class Sources(Section):
    """Where the texts, the model and the inventory are. Files are seen from the folder that holds config/."""

    handbook: tuple[str, ...] = Field((), description="Collections with the texts to be read.")
    model: str | None = Field(None, description="The collection that holds the enterprise model.")
    inventory: tuple[str, ...] = Field((), description="Collections that hold the inventory.")
    aliases: str | None = Field(None, description="A file of other names, like config/aliases.yaml, added to those.")
    alias_columns: tuple[str, ...] = Field(
        ("Alias", "Aliases", "Synonym", "Synonyms", "Also known as", "Other names", "Acronym"),
        description="Labels of inventory columns that hold other names, parted by semicolons.",
    )
    curated: str | None = Field(None, description="A file of values that reviewers put in place of what is found.")

    @property
    def collections(self) -> tuple[str, ...]:
        """Every collection that is read, each once: of texts, of the model, of the inventory."""
        return tuple(dict.fromkeys([*self.handbook, *([self.model] if self.model else []), *self.inventory]))

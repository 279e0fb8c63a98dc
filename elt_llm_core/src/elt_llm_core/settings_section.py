"""What every section of the settings is."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Immutable, and closed: an unknown key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

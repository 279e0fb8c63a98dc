"""Where a job's results go, and in which forms."""

from typing import Literal

from elt_llm_core.settings_section import Section
from pydantic import Field

Format = Literal["json", "csv", "xlsx", "html", "purview", "openmetadata", "datahub"]


class Outputs(Section):
    """Files in one folder, named after the job."""

    folder: str = Field("out", description="Seen from the folder that holds config/; made where it is not there.")
    formats: tuple[Format, ...] = Field(("json", "csv", "xlsx", "html"), min_length=1, description="Forms to write.")
    glossary_name: str = Field("Glossary", min_length=1, max_length=100, description="Name of the glossary elsewhere.")

"""The arguments that several tools take, each described once."""

from dataclasses import dataclass
from typing import Annotated

from elt_llm_core.settings import StrategyName
from pydantic import Field

from elt_llm_api.serve.actions.asking import LONGEST_QUESTION
from elt_llm_api.serve.actions.batch_jobs import NAME

Collections = Annotated[
    tuple[Annotated[str, Field(max_length=63)], ...],
    Field(max_length=200, description="Names of collections to look in; none: those of the profile, else all."),
]
CollectionName = Annotated[str, Field(min_length=1, max_length=63, description="Name of a collection.")]
DocumentName = Annotated[
    str, Field(min_length=1, max_length=4000, description="A document: its id, path, file name or title.")
]
JobName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=NAME, description="Name of a job file of the server, no path.")
]


@dataclass(frozen=True)
class Asked:
    """A question, and where and how to look for what answers it."""

    question: Annotated[
        str, Field(min_length=1, max_length=LONGEST_QUESTION, description="The question, in words, in any language.")
    ]
    collections: Collections = ()
    prefixes: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        Field(max_length=50, description="Collections whose names begin so are looked in as well."),
    ] = ()
    profile: Annotated[
        str, Field(max_length=200, description="A way of asking: default, classic, fast, thorough, or one of your own.")
    ] = "default"
    where: Annotated[
        tuple[Annotated[str, Field(max_length=500)], ...],
        Field(
            max_length=50, description="Conditions on metadata, such as year>=2020 or organisations=Board; all hold."
        ),
    ] = ()
    strategy: Annotated[
        StrategyName | None, Field(description="How to search; unset: as the profile says, which is best for most.")
    ] = None

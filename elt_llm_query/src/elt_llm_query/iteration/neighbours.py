"""Around an entity of an enterprise model: the names next to the one that is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.enterprise_model import EnterpriseModel
from elt_llm_core.generation import Generation
from elt_llm_core.model_graph import ModelGraph
from elt_llm_core.text.normalise import words

ARTEFACT = "enterprise_model"
_MOST = 12


@dataclass(frozen=True)
class Around:
    """An entity, and the names of those that a relationship joins it with."""

    name: str
    names: tuple[str, ...]


def around(asked: str, generations: Sequence[Generation]) -> Around | None:
    """The entity whose name is asked for or, of several, the longest name within what is asked; None for none."""
    wanted = words(asked)
    best: tuple[int, EnterpriseModel, str, str] | None = None
    for model in _models(generations):
        for entity in model.entities:
            name = words(entity.name)
            if _holds(wanted, name) and (best is None or len(name) > best[0]):
                best = (len(name), model, entity.id, entity.name)
    if best is None:
        return None
    _, model, entity_id, name_asked = best
    names = {entity.id: entity.name for entity in model.entities}
    beside = ModelGraph(model).neighbours(entity_id)
    return Around(name_asked, tuple(names[one] for one in beside[:_MOST]))


def _models(generations: Sequence[Generation]) -> list[EnterpriseModel]:
    return [
        EnterpriseModel.model_validate(value)
        for generation in generations
        if ARTEFACT in generation.artefact_names
        for value in generation.artefacts(ARTEFACT).values()
    ]


def _holds(wanted: Sequence[str], name: Sequence[str]) -> bool:
    return bool(name) and any(
        list(wanted[start : start + len(name)]) == list(name) for start in range(len(wanted) - len(name) + 1)
    )

"""Answers written by a language model: prompts, what fits into them, and the ways to reason an answer out."""

from typing import TYPE_CHECKING, get_args

from elt_llm_core.settings import SynthesisName

if TYPE_CHECKING:
    from elt_llm_query.synthesis.drafting import Synthesis

SYNTHESES: tuple[SynthesisName, ...] = get_args(SynthesisName)


def create_synthesis(name: SynthesisName, *, by_collection: bool = False) -> "Synthesis":
    """The way of writing of this name; `by_collection` has it answer each collection, then makes the answers one."""
    from elt_llm_query.synthesis.by_collection import ByCollection

    return ByCollection(_one(name)) if by_collection else _one(name)


def _one(name: SynthesisName) -> "Synthesis":
    match name:
        case "simple":
            from elt_llm_query.synthesis.simple import Simple

            return Simple()
        case "cot":
            from elt_llm_query.synthesis.chain_of_thought import ChainOfThought

            return ChainOfThought()
        case "tot":
            from elt_llm_query.synthesis.tree_of_thoughts import TreeOfThoughts

            return TreeOfThoughts()
        case "reflect":
            from elt_llm_query.synthesis.reflection import Reflection

            return Reflection()

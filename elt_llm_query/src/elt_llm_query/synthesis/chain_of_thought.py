"""Reasoning first, then the answer.

Source: Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022.
"""

from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Draft, Task, ask_with_sources
from elt_llm_query.synthesis.reasoning import AnswerPieces, split_reasoning


class ChainOfThought:
    """Asks once for steps and an answer, and keeps them apart; only the answer is passed on as it is written."""

    name = "cot"

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """The answer with its steps. A reply that does not keep to the form is an answer without steps."""
        pieces = AnswerPieces(on_piece)
        asked = ask_with_sources(task, calls, "reasoned answer", task.prompts["cot"], task.values(), pieces)
        steps, text = split_reasoning(asked.written.text, task.most_steps)
        if not pieces.begun and text:
            on_piece(text)
        return Draft(text, asked.read, asked.dropped, steps=steps, whole=asked.whole)

"""One prompt, one answer."""

from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Draft, Task, ask_with_sources


class Simple:
    """Asks once and takes what is written."""

    name = "simple"

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """The answer as the model writes it."""
        asked = ask_with_sources(task, calls, "answer", task.prompts["simple"], task.values(), on_piece)
        return Draft(asked.written.text.strip(), asked.read, asked.dropped, whole=asked.whole)

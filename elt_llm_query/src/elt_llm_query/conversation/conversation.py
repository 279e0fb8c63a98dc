"""A conversation: every question is made to stand by itself, asked, and kept with its answer."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from elt_llm_core.errors import StoreError
from elt_llm_core.models.prompt_size import fewest_tokens
from elt_llm_core.results import QueryResult, Trace, TraceStage
from elt_llm_core.state.sessions import EARLIER_TURNS, Turn

from elt_llm_query.answer.statements import without_marks
from elt_llm_query.conversation.follow_up import Before, Rewritten, rewrite
from elt_llm_query.conversation.follow_up_by_model import rewrite_by_model, turns_read
from elt_llm_query.conversation.history import history
from elt_llm_query.events import Understood, unheard

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from elt_llm_query.synthesis.prompts import Prompt

STAGE = "follow up"
_TURNS_LOOKED_AT = 8
_BUDGET = 400  # tokens of earlier turns, counted as the fewest they may be: the passages need the room
_SHARE = 8  # of the window at most one part in so many


class Asked(Protocol):
    """Whatever answers one question at a time, such as an engine."""

    @property
    def ask(self) -> Callable[..., QueryResult]:
        """Given a question and options by name, gives the answer. Raises EltError."""
        ...


class KeepsTurns(Protocol):
    """Whatever knows the turns of a conversation so far, such as `Sessions`."""

    def turns(self, session_id: str, last: int | None = None) -> list[Turn]:
        """The turns in order; `last` gives the latest so many."""
        ...

    def add(self, session_id: str, asked: str, result: QueryResult) -> Turn:
        """Append a turn. Raises StoreError, UsageError."""
        ...


class Conversation:
    """One conversation over an engine. Its turns are read anew for each question: several may hold the same one.

    With a language model and the prompt `follow_up`, the model makes of a question that leans on earlier turns one that
    stands by itself; the rules decide whether it does, and are the fallback. The answer to such a question is written
    with the last turns before the model's eyes; one that stands by itself is answered as if it were the first.
    """

    def __init__(
        self,
        engine: Asked,
        sessions: KeepsTurns,
        session_id: str,
        *,
        llm: "LLM | None" = None,
        prompt: "Prompt | None" = None,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._session_id = session_id
        self._llm = llm
        self._prompt = prompt

    def ask(self, question: str, **options: Any) -> QueryResult:
        """The answer to the question as it is understood, which `result.question` has; `options` are the engine's.

        The notes say what was understood, and if the turn could not be kept. Raises what the engine does, keeping
        nothing then; UsageError if the conversation is gone.
        """
        started = time.perf_counter()
        turns = self._sessions.turns(self._session_id, last=_TURNS_LOOKED_AT)
        understood, notes = self._understood(question, turns, options.get("cancelled"))
        took_ms = (time.perf_counter() - started) * 1000
        if understood.rule:
            options.get("listen", unheard)(Understood(understood.text))
        shown = self._shown(turns) if understood.rule else ()
        if shown:
            options = {**options, "history": tuple((turn.understood, _said(turn)) for turn in shown)}
        result = self._engine.ask(understood.text, **options)
        if turns:
            result = _told(result, question, understood, notes, took_ms)
        if read := self._read(turns, shown) if understood.rule else ():
            result = result.model_copy(update={"metadata": {**result.metadata, EARLIER_TURNS: read}})
        try:
            self._sessions.add(self._session_id, question, result)
        except StoreError as error:
            result = result.model_copy(update={"notes": (*result.notes, f"This turn could not be kept: {error}")})
        return result

    def _shown(self, turns: list[Turn]) -> tuple[Turn, ...]:
        """The last turns that were answered, as far as there is room for them; none where no model writes."""
        if self._llm is None:
            return ()
        budget = min(_BUDGET, self._llm.metadata.context_window // _SHARE)
        return history([turn for turn in turns if turn.result.answered], budget, fewest_tokens)

    def _read(self, turns: list[Turn], shown: tuple[Turn, ...]) -> list[int]:
        """Numbers of the turns that a model read, to word the question or to answer it: they go together."""
        worded = turns_read(turns) if self._llm is not None and self._prompt is not None else ()
        return sorted({turn.number for turn in (*worded, *shown)})

    def _understood(
        self, question: str, turns: list[Turn], cancelled: Callable[[], bool] | None
    ) -> tuple[Rewritten, list[str]]:
        by_rules = rewrite(question, [before(turn) for turn in turns])
        if not by_rules.rule or self._llm is None or self._prompt is None:
            return by_rules, []
        understood, note = rewrite_by_model(self._llm, self._prompt, question, turns, by_rules, cancelled=cancelled)
        return understood, [note] if note else []


def _said(turn: Turn) -> str:
    """An answer without its numbers: they are those of other sources."""
    return " ".join(without_marks(turn.answer).split())


def before(turn: Turn) -> Before:
    """An earlier turn as the rules see it; its topics are the headings right above what was cited."""
    sections = [citation.section.rsplit(" > ", 1)[-1] for citation in turn.result.citations if citation.section]
    return Before(turn.understood, tuple(dict.fromkeys(sections)))


def _told(result: QueryResult, question: str, understood: Rewritten, notes: list[str], took_ms: float) -> QueryResult:
    """The result with what was understood in its notes, and how in its trace."""
    rule = understood.rule or "stands by itself"
    details = {"asked": question, "understood": understood.text, "rule": rule}
    told = [f"Understood as: {understood.text}"] if understood.rule else []
    return result.model_copy(
        update={
            "notes": (*told, *notes, *result.notes),
            "trace": Trace(
                stages=(TraceStage(name=STAGE, took_ms=took_ms, kept=1, details=details), *result.trace.stages)
            ),
        }
    )

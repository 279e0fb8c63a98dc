"""Looking further, a step at a time: the model says what to look for, and the passages found are added.

Source: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023; here the acts are four and
a gate by code says when to begin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_core.results import RetrievedChunk

from elt_llm_query.iteration.gate import Quality
from elt_llm_query.iteration.steps import Step, read_step
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.synthesis.calls import ModelCalls
from elt_llm_query.synthesis.prompts import Prompt

Look = Callable[[Step], Sequence[RetrievedChunk]]
Measure = Callable[[Sequence[RetrievedChunk]], Quality]
MOST_ADDED = 4  # passages that a step adds


@dataclass(frozen=True)
class Looking:
    """How passages are looked for, `measure` of them how well they cover the question, and at most so many steps."""

    look: Look
    measure: Measure
    prompt: Prompt
    most_steps: int


def look_further(
    question: str,
    chunks: Sequence[RetrievedChunk],
    quality: Quality,
    looking: Looking,
    calls: ModelCalls,
    log: StageLog,
) -> list[RetrievedChunk]:
    """The passages with those that the steps found added, each once, as they came; every step is a stage of the log.

    Ends when the model is done, when nothing of the question is missing that was, or when the steps are used up.
    Raises ModelError as the model fails, RetrievalError as the search does.
    """
    found = list(chunks)
    lacked = quality.missing
    taken: list[str] = []
    for number in range(1, looking.most_steps + 1):
        with log.stage(f"step {number}") as stage:
            stage.details["quality"] = quality.as_dict()
            values = {"question": question, "found": _listed(found), "missing": ", ".join(quality.missing) or "nothing"}
            values["taken"] = "\n".join(taken) or "none yet"
            step = read_step(calls.ask(f"step {number}", looking.prompt, values).text)
            stage.details |= {"step": step.kind, "text": step.text, "call": calls.ledger[-1].as_dict()}
            added = _new(looking.look(step), found) if step.kind != "DONE" else []
            found += added
            stage.kept = len(added)
            stage.details["added"] = [chunk.node_id for chunk in added]
        taken.append(f"{step.kind}: {step.text} ({len(added)} new passages)")
        if step.kind == "DONE":
            break
        quality = looking.measure(found)
        if lacked and not quality.missing:
            break
    return found


def _new(looked: Sequence[RetrievedChunk], known: Sequence[RetrievedChunk]) -> list[RetrievedChunk]:
    ids = {(chunk.collection, chunk.node_id) for chunk in known}
    return [chunk for chunk in looked if (chunk.collection, chunk.node_id) not in ids][:MOST_ADDED]


def _listed(chunks: Sequence[RetrievedChunk]) -> str:
    """The places found, without their words: what to look for next is asked, not what they say."""
    places = dict.fromkeys(" > ".join(filter(None, (chunk.source_title, chunk.section))) for chunk in chunks)
    # On one line each: a title with a line end in it must not look like what is said to the model.
    return "\n".join(f"- {' '.join(place.split())}" for place in places)

import time

from elt_llm_core.results import QueryResult
from elt_llm_query.synthesis.events import Event, SourcesFound, replay_events
from model_servers.scripted_model import CHUNKS


def test_a_cached_answer_that_is_replayed_lists_its_sources_under_the_numbers_it_cites() -> None:
    heard: list[Event] = []
    known = QueryResult(question="How long?", answer="Four weeks [1].", answered=True, chunks=CHUNKS)
    replay_events(known, heard.append, time.perf_counter())
    assert isinstance(heard[0], SourcesFound)
    assert [chunk.score for chunk in heard[0].chunks] == [0.9, 0.4, 0.2]

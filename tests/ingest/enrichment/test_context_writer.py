"""A reply of the language model becomes at most one context sentence, short enough for its chunk."""

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM, ScriptedReply
from elt_llm_core.settings.tree import ChunkingSettings
from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.run.enrichment import ContextWriter, context_sentence
from hypothesis import given
from hypothesis import strategies as st
from stored.shelf import new_document


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ("The rule says who may play.", "The rule says who may play."),
        ("Here is the sentence:\n\n**The rule says who may play.**", "The rule says who may play."),
        ("<think>Let me see.</think>\n“The rule says who may play.” And so on.", "The rule says who may play."),
        ("The rule\tsays \u202ewho may play", "The rule says who may play"),
        ("", ""),
        ("...", ""),
        ("No.", ""),
        ("<think>It could be that", ""),
    ],
)
def test_the_first_meaningful_sentence_of_a_reply_is_returned(reply: str, sentence: str) -> None:
    assert context_sentence(reply) == sentence


def test_a_truncated_reply_of_the_language_model_is_requested_once_more() -> None:
    document = new_document("a.md", ["Rain falls on the hill."])
    broken = ScriptedReply("The rule rule rule rule", finish="cut off")
    llm = ScriptedLLM([broken, "The rule says who may play."])
    assert ContextWriter(llm, FakeEmbedding()).write(document, document.nodes[0]) == "The rule says who may play."
    llm = ScriptedLLM([broken, broken, "The rule says who may play."])
    ContextWriter(llm, FakeEmbedding()).write(document, document.nodes[0])
    assert len(llm.prompts) == 2


@given(reply=st.text(max_size=300))
def test_every_reply_of_the_language_model_gives_at_most_one_storable_line(reply: str) -> None:
    sentence = context_sentence(reply)
    assert len(sentence.splitlines()) <= 1
    assert sentence.strip() == sentence
    sentence.encode()


@given(
    words=st.lists(st.sampled_from(["harbour", "of", "C++", "3.5", "(so)"]), min_size=1, max_size=300),
    reply=st.lists(st.sampled_from(["about", "tides,", "x" * 80, "and", "U-21"]), max_size=90).map(" ".join),
)
def test_a_written_context_is_cut_to_the_tokens_that_its_chunk_leaves_free(words: list[str], reply: str) -> None:
    counter = FakeEmbedding()
    text = " ".join(words)
    [node] = new_document("a.md", [text[:1200].strip()]).nodes
    fitted = ContextWriter(ScriptedLLM(), counter).fitted(reply, node)
    assert reply.startswith(fitted)
    assert len(counter.token_spans(fitted)) <= 48
    assert not fitted or len(counter.token_spans(f"{fitted}\n{node.text}")) <= max(
        counter.token_limit, len(counter.token_spans(node.text))
    )


def test_chunks_leave_room_for_the_written_context_sentence() -> None:
    text = "The harbour lies in the north of the bay and is deep. " * 60
    settings = ChunkingSettings.model_validate({"chunk_size": 250, "enrichment": "llm"})
    counter = FakeEmbedding()
    chunker = create_chunker(settings, counter)
    assert chunker.fingerprint != create_chunker(ChunkingSettings(chunk_size=250), counter).fingerprint
    for span in chunker.spans(ParsedDocument(text, "A title of several words " * 20)):
        assert len(counter.token_spans(f"{span.context}\n{text[span.start : span.end]}")) <= counter.token_limit - 48

"""Write fields with a language model from numbered chunks, and check each sentence against the chunks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import compress

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.token_counts import TokenUpperBound
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import GroundedSentence, ground_answer
from elt_llm_query.synthesis.calls import ContextWindow, context_window_of
from elt_llm_query.synthesis.refusals import is_blank, is_refusal

from elt_llm_consumer.catalog.mentions import FieldSubject
from elt_llm_consumer.catalog.text_fields import FieldFacts
from elt_llm_consumer.evidence import Cell, Evidence, absent_cell, with_note
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.jobs.row_keys import model_name
from elt_llm_consumer.jobs.sections import CatalogField
from elt_llm_consumer.jobs.tasks import AskModel
from elt_llm_consumer.sentences.claims import check_word_overlap, makes_claim, separate_headings

_PROMPT = files("elt_llm_consumer.catalog").joinpath("field_prompt.txt").read_text(encoding="utf-8")
_SURE = 0.85
"""A quoted cell of at least this confidence is kept even if the language model replies that it found nothing."""


@dataclass(frozen=True)
class FieldWriter:
    """Lets a language model write fields, and checks the written text against the chunks in the prompt.

    `model` is the name of the language model. `context` is a text from the job file that is put before each prompt.
    """

    corpus: Corpus
    embedding: EmbeddingModel
    tokeniser: KeywordTokeniser
    model: str
    window: ContextWindow
    context: str = ""

    def prompt(
        self, name: str, field: str, settings: CatalogField, forms: Sequence[str], facts: FieldFacts
    ) -> tuple[str, FieldFacts]:
        """Return the prompt, and the facts with only the chunks in the prompt.

        These are the best chunks that fit completely into the model's context window. The prompt is empty if none fits,
        if there are no chunks (for instance because a table already gives the value), or if the field has no prompt.
        """
        if not settings.prompt or not facts.chunks:
            return "", facts
        before = f"{self.context.strip()}\n\n" if self.context.strip() else ""
        empty = before + _prompt(name, field, settings, forms, [])
        left = min(self.window.to_read - self.window.count(empty), self.window.most_sources)
        kept: list[RetrievedChunk] = []
        for chunk in facts.chunks:
            tokens = self.window.count(_numbered_chunk(len(kept) + 1, chunk))
            if tokens <= left:
                kept.append(chunk)
                left -= tokens
        if not kept:
            return "", replace(facts, cell=with_note(facts.cell, "No chunk fits into the model's context window."))
        return before + _prompt(name, field, settings, forms, kept), replace(facts, chunks=tuple(kept))

    def cell(self, facts: FieldFacts, prompt: str, ask: AskModel, topic: FieldSubject) -> Cell:
        """Return a cell with the sentences of the reply that the chunks support; without any, the cell in `facts`.

        If the quotes of a sentence are not about the entity or term, the verdict is only `inferred`. Raises the
        errors of `ask`, except UnusableReply.
        """
        try:
            reply = ask(prompt)
        except UnusableReply as error:
            return with_note(facts.cell, f"The language model's reply could not be used: {error}")
        if is_blank(reply):
            return with_note(facts.cell, "The language model's reply was empty.")
        if is_refusal(reply):
            note = "The language model found nothing about this field in the chunks."
            if facts.cell.verdict != "absent" and facts.cell.confidence >= _SURE:
                return with_note(facts.cell, note)
            cell = absent_cell(note, method="llm", model=self.model, confidence=1 - facts.cell.confidence)
            return with_note(cell, facts.also)
        return self._checked_cell(reply, facts, topic)

    def _checked_cell(self, reply: str, facts: FieldFacts, topic: FieldSubject) -> Cell:
        grounded = ground_answer(separate_headings(reply), facts.chunks, self.embedding, self.tokeniser, strict=True)
        sentences = check_word_overlap(grounded.sentences, self.tokeniser)
        supported = [one.verdict in {"supported", "partly"} and bool(one.quotes) for one in sentences]
        empty = [is_kept and not self._makes_claim(one) for one, is_kept in zip(sentences, supported, strict=True)]
        stays = [is_kept and not is_empty for is_kept, is_empty in zip(supported, empty, strict=True)]
        kept = list(compress(sentences, stays))
        if not kept:
            heading = "The model wrote a heading, or words without a verb, which make no claim."
            return with_note(facts.cell, heading if any(empty) else "The chunks do not support the model's text.")
        off_topic = sum(not is_about for is_about in compress(topic.are_about(sentences, stays), stays))
        partly = sum(one.verdict == "partly" for one in kept)
        counts = {
            "Unsupported sentences left out": sum(one.verdict != "no claim" for one in sentences) - sum(supported),
            "Headings and words without a verb left out": sum(empty),
            "Partly supported sentences": partly,
            "Sentences whose quotes are not about the entity": off_topic,
        }
        cell = Cell(
            value=" ".join(one.text for one in kept),
            verdict="inferred" if partly or off_topic else "found",
            evidence=self._evidence(kept),
            method="llm",
            model=self.model,
            confidence=round(sum(one.score for one in kept) / len(kept), 4),
            note=" ".join(f"{what}: {count}." for what, count in counts.items() if count),
        )
        return with_note(cell, facts.also)

    def _makes_claim(self, sentence: GroundedSentence) -> bool:
        """Return whether a sentence makes a claim instead of only repeating a heading from the quoted chunks."""
        titles: list[str] = []
        for quote in sentence.quotes:
            document = self.corpus.document(quote.chunk.collection, quote.chunk.source_id)
            if document is not None:
                first, last = quote.chunk.span
                titles += document.outline.section_path(quote.span[0])
                titles += [one.title for one in document.outline.sections if first <= one.start < last]
        return makes_claim(sentence.text, titles)

    def _evidence(self, sentences: Sequence[GroundedSentence]) -> tuple[Evidence, ...]:
        places: dict[tuple[str, str, tuple[int, int]], Evidence] = {}
        for sentence in sentences:
            for quote in sentence.quotes:
                document = self.corpus.document(quote.chunk.collection, quote.chunk.source_id)
                key = quote.chunk.collection, quote.chunk.source_id, quote.span
                if document is not None and key not in places:
                    about = sentence.text if len(sentences) > 1 else ""
                    places[key] = document.evidence(*quote.span, min(1.0, sentence.score), about)
        return tuple(places.values())


def field_writer(context: JobContext) -> FieldWriter | None:
    """Return a FieldWriter for the job's language model; None if the job has no language model."""
    if context.llm is None:
        return None
    tokeniser = context.engine.generations[0].tokeniser if context.engine else KeywordTokeniser()
    window = context_window_of(context.llm, TokenUpperBound(), context.settings.llm.max_context_tokens)
    preface = context.file.spec.catalog.context
    return FieldWriter(context.corpus, context.embedding, tokeniser, model_name(context), window, preface)


def _prompt(
    name: str, field: str, settings: CatalogField, forms: Sequence[str], chunks: Sequence[RetrievedChunk]
) -> str:
    return _PROMPT.format(
        entity=name,
        others=f" (also called: {', '.join(forms[1:])})" if len(forms) > 1 else "",
        task=settings.prompt.replace("{entity}", name),
        passages="\n".join(_numbered_chunk(number, one) for number, one in enumerate(chunks, start=1)),
        field=field.replace("_", " ").capitalize(),
    )


def _numbered_chunk(number: int, chunk: RetrievedChunk) -> str:
    title = " > ".join(filter(None, [chunk.source_title, chunk.section])).replace('"', "'")
    return f'<passage number="{number}" title="{title}">\n{chunk.text.strip()}\n</passage>'

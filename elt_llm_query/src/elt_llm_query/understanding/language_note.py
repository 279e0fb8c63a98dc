"""A note on a question in another language than the texts, if the embedding model knows only English."""

from collections.abc import Sequence

from elt_llm_core.models.embedded import MODEL_NAME as ENGLISH_MODEL
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.multilingual import MODEL_NAME as MULTILINGUAL_MODEL
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import languages
from elt_llm_core.utilities import install_command

from elt_llm_query.understanding.question import shown_language


def language_notes(question: str, chunks: Sequence[RetrievedChunk], models: Sequence[EmbeddingModel]) -> list[str]:
    """Return a note with the extra that would help, or an empty list.

    There is a note if all models are all-MiniLM-L6-v2, and all chunks are in other languages than the question.
    Nothing is known about the languages of the models of a server.
    """
    asked, found = shown_language(question), {chunk.metadata.get("language") for chunk in chunks}
    names = {(model.fingerprint.provider, model.fingerprint.model) for model in models}
    is_english = names == {("embedded", ENGLISH_MODEL)}
    if not (asked and found and is_english) or asked in found or not found <= set(languages()):
        return []
    rebuilt = (f"elt-llm ingest -c {name} --rebuild" for name in sorted({chunk.collection for chunk in chunks}))
    return [
        f"The question is in another language than the closest chunks, and the embedding model {ENGLISH_MODEL} was"
        f" trained on English texts. To search across languages, run {install_command('multilingual')}, set"
        f" embedding.model to {MULTILINGUAL_MODEL}, and run {', '.join(rebuilt)}."
    ]

"""A note on collections whose language the embedding model was not trained on."""

from collections.abc import Iterable

from elt_llm_core.models import embedded, multilingual
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.store.records import StoredDocument
from elt_llm_core.text.languages import languages
from elt_llm_core.utilities import install_command


def language_notes(collection: str, documents: Iterable[StoredDocument], model: EmbeddingModel) -> tuple[str, ...]:
    """Return a note if the model is all-MiniLM-L6-v2 and most of a collection's documents are not in English.

    Nothing is known about the languages of the models of a server.
    """
    if (model.fingerprint.provider, model.fingerprint.model) != ("embedded", embedded.MODEL_NAME):
        return ()
    found = [document.metadata.get("language") for document in documents if document.nodes]
    others = sum(language in languages() and language != "en" for language in found)
    if others * 2 <= len(found):
        return ()
    return (
        f"Most documents ({others} of {len(found)}) are not in English, but the embedding model {embedded.MODEL_NAME}"
        f" was trained on English texts. To find more, run {install_command('multilingual')}, set embedding.model to"
        f" {multilingual.MODEL_NAME}, and run elt-llm ingest -c {collection} --rebuild.",
    )

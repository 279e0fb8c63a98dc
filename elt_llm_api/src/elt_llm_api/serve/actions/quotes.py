"""Quotes within the words around them, as their documents have them now."""

from elt_llm_consumer.rows import Evidence, Row
from elt_llm_core.store.store import Store

from elt_llm_api.serve.actions.row_shapes import QuoteShown

AROUND = 240  # characters on either side


class QuoteReader:
    """Reads documents as they are published now, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[str, dict[str, int]] = {}
        self._texts: dict[int, str] = {}

    def of(self, row: Row) -> list[QuoteShown]:
        """Every piece of evidence of a row, in the order of its cells."""
        return [self._shown(field, it) for field, cell in row.cells.items() for it in cell.evidence]

    def _shown(self, field: str, evidence: Evidence) -> QuoteShown:
        text = self._text(evidence.collection, evidence.document_id)
        start, end = evidence.span
        stands = text[start:end] == evidence.quote
        before = text[max(0, start - AROUND) : start] if stands else ""
        after = text[end : end + AROUND] if stands else ""
        return QuoteShown(field=field, evidence=evidence, stands=stands, before=before, after=after)

    def _text(self, collection: str, document_id: str) -> str:
        """Empty where the document is not there any more."""
        version = self._of_collection(collection).get(document_id)
        if version is None:
            return ""
        if version not in self._texts:
            self._texts[version] = self._store.documents.text(version)
        return self._texts[version]

    def _of_collection(self, name: str) -> dict[str, int]:
        if name not in self._versions:
            record = self._store.collections.find(name)
            listed = (
                self._store.documents.in_generation(record.id, record.published)
                if record is not None and record.published is not None
                else []
            )
            self._versions[name] = {document.document_id: document.version for document in listed}
        return self._versions[name]

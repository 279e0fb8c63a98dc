"""Whether agents may have files of this machine read: only where both settings say so."""

from elt_llm_core.settings_loader import LoadedSettings

from elt_llm_api.serve.access.principal import Forbidden


def require_ingest(loaded: LoadedSettings) -> None:
    """Raises Forbidden unless `serve.agents_may_ingest` is set and `ingest.roots` names folders.

    What an agent has read decides what later answers say, and an agent does what documents talk it into.
    """
    if not loaded.settings.serve.agents_may_ingest:
        raise Forbidden(
            "Agents may not ingest here.", hint="Whoever runs the server sets serve.agents_may_ingest: true."
        )
    if not loaded.settings.ingest.roots:
        raise Forbidden(
            "Agents may not ingest here: no folder is named that may be read.",
            hint="Whoever runs the server names folders in ingest.roots.",
        )

"""Checks of the configuration: settings, profiles, aliases, reranker, file readers, the server's address and keys."""

import errno
from contextlib import closing
from functools import partial
from importlib.util import find_spec

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.profiles import load_profile, profile_names
from elt_llm_core.settings.tree import IngestSettings
from elt_llm_core.state.database import STATE_NAME, has_state, open_state
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.store.database import SqliteDatabase
from elt_llm_core.utilities import install_command, installed_version

from elt_llm_api.doctor.check import Check, CheckVerdict, DoctorFacts, failure, ok, warning, with_settings


def settings(facts: DoctorFacts) -> CheckVerdict:
    """Check that the settings file and the environment can be read, and that every value is allowed."""
    if facts.loaded is None:
        return failure(str(facts.settings_error), "Correct these lines; elt-llm init writes an example to compare with")
    return ok(str(facts.loaded.source or "built-in defaults (no config/rag_config.yaml here or above)"))


@with_settings
def profiles(loaded: LoadedSettings) -> CheckVerdict:
    """Check that every profile can be read."""
    names = profile_names(loaded)
    wrong: list[str] = []
    for name in names:
        try:
            load_profile(name, loaded)
        except UsageError as error:
            wrong.append(str(error))
    return failure("\n".join(wrong), "Correct these lines") if wrong else ok(", ".join(names))


@with_settings
def aliases(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the alias file can be read, if it exists."""
    from elt_llm_query.understanding.aliases import load_aliases

    try:
        groups = load_aliases(loaded).groups
    except UsageError as error:
        return failure(str(error), "Correct these lines")
    return ok(f"{len(groups)} groups of names with the same meaning" if groups else "none")


@with_settings
def reranker(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the configured reranker can be opened: its model exists, is allowed and is intact."""
    from elt_llm_core.models.factory import create_llm
    from elt_llm_core.models.model_files import with_models_dir
    from elt_llm_query.rerank import create_reranker
    from elt_llm_query.rerank.reranker import ModelSources, reranker_identity

    chosen = with_models_dir(loaded.settings, loaded.data_dir)
    llm = create_llm(chosen) if chosen.query.reranker_strategy == "llm" else None
    opened = create_reranker(chosen.query, ModelSources.of(chosen, llm))
    if chosen.query.reranker_strategy == "auto" and opened.name == "embedding" and opened.notes:
        hint = "Correct query.reranker_model, or set query.reranker_strategy to embedding"
        return warning(" ".join(opened.notes), hint)
    return ok(", ".join(reranker_identity(opened)))


SETTINGS_CHECKS = {"settings": settings, "profiles": profiles, "aliases": aliases, "reranker": reranker}


def network_guard(_: DoctorFacts) -> CheckVerdict:
    """Check that file-parsing processes can be denied network access."""
    from elt_llm_ingest.sandbox.guards import can_leave_network

    if can_leave_network():
        return ok("files are read without a network")
    return warning(
        "no network namespace is available here: a file that exploits its reader could reach the network",
        "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or block the network of this machine",
    )


def sandbox_worker(_: DoctorFacts) -> CheckVerdict:
    """Check that a sandboxed process, which parses files, can be started and responds."""
    from elt_llm_ingest.sandbox.guards import ParseLimits
    from elt_llm_ingest.sandbox.pool import ParsePool

    with ParsePool(ParseLimits(), 1) as pool:
        pool.check()
    return ok("works")


def ocr(facts: DoctorFacts) -> CheckVerdict:
    """Check that Tesseract and the configured languages are installed. Tesseract may be missing while OCR is off."""
    from elt_llm_ingest.readers.tesseract import installed_languages, installed_version

    settings = _ingest_settings(facts)
    version = installed_version()
    if not version:
        detail = "tesseract is not installed: pages that are images are reported but not read"
        return warning(detail, "Run: apt-get install tesseract-ocr") if settings.ocr else ok(detail)
    languages = installed_languages()
    found = f"{version} with {', '.join(sorted(languages)) or 'no languages'}"
    if missing := [name for name in settings.ocr_languages.split("+") if name not in languages]:
        cure = f"Run: apt-get install {' '.join('tesseract-ocr-' + name.replace('_', '-') for name in missing)}"
        return warning(f"{found}, but not {', '.join(missing)}", cure)
    if "osd" not in languages:
        detail = f"{found}, but not osd, which detects rotation: rotated pages are not read"
        return warning(detail, "Run: apt-get install tesseract-ocr-osd")
    return ok(found if settings.ocr else f"{found}; off (ingest.ocr)")


def pdf_reader(facts: DoctorFacts) -> CheckVerdict:
    """Check that the configured PDF reader is installed."""
    chosen = _ingest_settings(facts).pdf_reader
    if chosen == "docling" and find_spec("docling") is None:
        return failure("docling is not installed", "Run: uv pip install docling; or set ingest.pdf_reader: pdfium")
    return ok(chosen)


def _ingest_settings(facts: DoctorFacts) -> IngestSettings:
    return facts.loaded.settings.ingest if facts.loaded else IngestSettings()


READER_CHECKS = {"network guard": network_guard, "reading files": sandbox_worker, "ocr": ocr, "pdf reader": pdf_reader}


_EXTRAS = (
    ("pages for browsers", "ui", "gradio"),
    ("tools for agents", "mcp", "mcp"),
    ("traces elsewhere", "otel", "opentelemetry-exporter-otlp-proto-http"),
)


def installed_extra(name: str, distribution: str, _: DoctorFacts | None = None) -> CheckVerdict:
    """Report the installed version of an optional package. Without it, only its own feature is missing."""
    version = installed_version(distribution)
    return ok(f"{distribution} {version}" if version else f"not installed; install it with: {install_command(name)}")


@with_settings
def server_address(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the server can listen at its configured address. A port in use may belong to a running server."""
    from elt_llm_api.exposure import bind

    serve = loaded.settings.serve
    where = f"{serve.host}, port {serve.port}"
    try:
        bind(serve.host, serve.port).close()
    except UsageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE:
            return ok(f"{where}: in use, by a running server or by another program")
        return warning(str(error), error.hint)
    return ok(f"{where}: free")


@with_settings
def server_keys(loaded: LoadedSettings) -> CheckVerdict:
    """Report the number of API keys. Without any key or token, the server accepts requests from everybody."""
    count, path = 0, loaded.data_dir / STATE_NAME
    if loaded.workspace.is_shared:
        if has_state(loaded.workspace):
            with closing(open_state(loaded.workspace)) as state:
                count = len(KeyTable(state).all())
    elif path.exists():
        with closing(SqliteDatabase(path, for_writing=False)) as database:
            has_table = database.row("SELECT 1 FROM sqlite_master WHERE name = 'api_keys'") is not None
            count = len(KeyTable(database).all()) if has_table else 0
    return ok(str(count) if count else "none: without a token every user of this machine may ask questions")


SERVER_CHECKS: dict[str, Check] = {
    "server's address": server_address,
    "server's keys": server_keys,
    **{title: partial(installed_extra, name, distribution) for title, name, distribution in _EXTRAS},
}

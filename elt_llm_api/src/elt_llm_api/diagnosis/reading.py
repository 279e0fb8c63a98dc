"""Checks of how files are read: the guard around it, and the programs and libraries that are there by choice."""

from importlib.util import find_spec

from elt_llm_core.settings import IngestSettings

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning


def network_guard(_: Facts) -> Verdict:
    """Processes that read files can be kept from the network."""
    from elt_llm_ingest.sandbox.guards import network_can_be_left

    if network_can_be_left():
        return ok("files are read without a network")
    return warning(
        "no network namespace is to be had here: a file that takes its reader over could reach the network",
        "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or cut the network off from outside",
    )


def worker(_: Facts) -> Verdict:
    """A process that reads files starts and answers."""
    from elt_llm_ingest.sandbox.pool import ParseLimits, ParsePool

    with ParsePool(ParseLimits(), 1) as pool:
        pool.check()
    return ok("works")


def ocr(facts: Facts) -> Verdict:
    """Tesseract is there with the languages asked for; only a warning where it is not asked for."""
    from elt_llm_ingest.readers.tesseract import installed_languages, installed_version

    settings = _settings(facts)
    version = installed_version()
    if not version:
        detail = "tesseract is not installed: pages that are pictures are named, not read"
        return warning(detail, "Run: apt-get install tesseract-ocr") if settings.ocr else ok(detail)
    languages = installed_languages()
    found = f"{version} with {', '.join(sorted(languages)) or 'no languages'}"
    if missing := [name for name in settings.ocr_languages.split("+") if name not in languages]:
        cure = f"Run: apt-get install {' '.join('tesseract-ocr-' + name.replace('_', '-') for name in missing)}"
        return warning(f"{found}, but not {', '.join(missing)}", cure)
    if "osd" not in languages:
        return warning(f"{found}, but not osd: turned pages are not seen", "Run: apt-get install tesseract-ocr-osd")
    return ok(found if settings.ocr else f"{found}; off (ingest.ocr)")


def pdf_reader(facts: Facts) -> Verdict:
    """What the settings want PDFs read with is installed."""
    chosen = _settings(facts).pdf_reader
    if chosen == "docling" and find_spec("docling") is None:
        return failure("docling is not installed", "Run: uv pip install docling; or set ingest.pdf_reader: pdfium")
    return ok(chosen)


def _settings(facts: Facts) -> IngestSettings:
    return facts.loaded.settings.ingest if facts.loaded else IngestSettings()


CHECKS = (
    Check("network guard", network_guard),
    Check("reading files", worker),
    Check("ocr", ocr),
    Check("pdf reader", pdf_reader),
)
"""In the order they are shown."""

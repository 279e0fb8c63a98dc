"""Write all requested output formats of a result to one folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from elt_llm_consumer.evidence import JobResult
from elt_llm_consumer.export.csv import write_csv
from elt_llm_consumer.export.glossary_tools import write_datahub, write_openmetadata, write_purview
from elt_llm_consumer.export.html import write_html
from elt_llm_consumer.export.json import write_json
from elt_llm_consumer.export.xlsx import write_xlsx
from elt_llm_consumer.jobs.sections import OutputFormat, OutputsSection


def write_outputs(result: JobResult, outputs: OutputsSection, folder: Path, name: str) -> list[Path]:
    """Write the result in every format of `outputs` to `folder`, in files named after `name`; return their paths.

    Each file is written atomically, and equal results give equal bytes. Raises StoreError if a file cannot be written.
    """
    glossary = outputs.glossary_name
    writers: Mapping[OutputFormat, tuple[str, Callable[[JobResult, Path], list[Path]]]] = {
        "json": (".json", write_json),
        "csv": (".csv", write_csv),
        "xlsx": (".xlsx", write_xlsx),
        "html": (".html", write_html),
        "purview": (".purview.csv", write_purview),
        "openmetadata": (".openmetadata.csv", lambda result, path: write_openmetadata(result, path, glossary)),
        "datahub": (".datahub.yaml", lambda result, path: write_datahub(result, path, glossary)),
    }
    chosen = [writers[form] for form in dict.fromkeys(outputs.formats)]
    return [path for ending, write in chosen for path in write(result, folder / f"{name}{ending}")]

"""Every form of a result that a job file asks for, in one folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from elt_llm_consumer.export.csv import write_csv
from elt_llm_consumer.export.datahub import write_datahub
from elt_llm_consumer.export.html import write_html
from elt_llm_consumer.export.json import write_json
from elt_llm_consumer.export.openmetadata import write_openmetadata
from elt_llm_consumer.export.purview import write_purview
from elt_llm_consumer.export.xlsx import write_xlsx
from elt_llm_consumer.rows import JobResult
from elt_llm_consumer.sections.outputs import Format, Outputs


def write_outputs(result: JobResult, outputs: Outputs, folder: Path, name: str) -> list[Path]:
    """Write the result in every form of `outputs` into `folder`, files named after `name`; returns their paths.

    Each file is there whole or not at all, and equal results give equal bytes. Raises StoreError.
    """
    writers = _writers(outputs)
    written: list[Path] = []
    for form in dict.fromkeys(outputs.formats):
        ending, write = writers[form]
        written.extend(write(result, folder / f"{name}{ending}"))
    return written


def _writers(outputs: Outputs) -> Mapping[Format, tuple[str, Callable[[JobResult, Path], list[Path]]]]:
    """Ending of the file's name, and what writes it, by form."""
    glossary = outputs.glossary_name
    return {
        "json": (".json", write_json),
        "csv": (".csv", write_csv),
        "xlsx": (".xlsx", write_xlsx),
        "html": (".html", write_html),
        "purview": (".purview.csv", write_purview),
        "openmetadata": (".openmetadata.csv", lambda result, path: write_openmetadata(result, path, glossary)),
        "datahub": (".datahub.yaml", lambda result, path: write_datahub(result, path, glossary)),
    }

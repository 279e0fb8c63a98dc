"""Read what people have entered into a PDF: filled form fields, and text boxes on a page. The text layer lacks both."""

from collections.abc import Callable
from ctypes import c_uint16
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from elt_llm_ingest.readers.pdf.layout import readable_text

_INVISIBLE = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13  # a flag of text fields whose value is not shown
_BUTTONS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)


def page_entries(page: pypdfium2.PdfPage) -> list[str]:
    """Return the visible text boxes of a page, and its filled form fields as `name: value`, each once."""
    entries = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if annotation and not pdfium.FPDFAnnot_GetFlags(annotation) & _INVISIBLE:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_FREETEXT:
                entries.append(_text(lambda *to, of=annotation: pdfium.FPDFAnnot_GetStringValue(of, b"Contents", *to)))
            elif kind == pdfium.FPDF_ANNOT_WIDGET and page.formenv:
                entries.append(_field_entry(page.formenv, annotation))
        pdfium.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(filter(None, entries)))


def _field_entry(form: pypdfium2.PdfFormEnv, field: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
    value = ""
    if kind in _BUTTONS and pdfium.FPDFAnnot_IsChecked(form, field):
        value = _text(lambda *to: pdfium.FPDFAnnot_GetFormFieldExportValue(form, field, *to))
    elif kind in _CHOICES:
        value = _chosen_options(form, field)
    elif kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
        value = _text(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, field, *to))
    if not value or (kind not in _CHOICES and pdfium.FPDFAnnot_GetFormFieldFlags(form, field) & _PASSWORD):
        return ""
    label = _text(lambda *to: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, field, *to))
    name = _text(lambda *to: pdfium.FPDFAnnot_GetFormFieldName(form, field, *to)).rpartition(".")[2]
    return f"{(label or name).rstrip(': ')}: {value}"


def _chosen_options(form: pypdfium2.PdfFormEnv, field: Any) -> str:
    """Return the labels of the chosen options of a list, or a value that was typed instead."""
    options = range(pdfium.FPDFAnnot_GetOptionCount(form, field))
    chosen = [option for option in options if pdfium.FPDFAnnot_IsOptionSelected(form, field, option)]
    labels = [_text(lambda *to, of=option: pdfium.FPDFAnnot_GetOptionLabel(form, field, of, *to)) for option in chosen]
    return ", ".join(labels) or _text(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, field, *to))


def _text(read: Callable[..., int]) -> str:
    """Return the text that a function of pdfium writes into a buffer of the length that it returns."""
    length = read(None, 0)
    buffer = (c_uint16 * (length // 2))()
    read(buffer, length)
    return readable_text(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").replace("\r", " "))

"""Build workbooks and e-books that contain only what a test needs."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
Value = str | int | float | bool | None


def package(members: Mapping[str, str], first: str = "") -> bytes:
    """Return a zip package of text members; `first` is stored uncompressed at its start as `mimetype`."""
    target = BytesIO()
    with ZipFile(target, "w") as archive:
        if first:
            archive.writestr(ZipInfo("mimetype"), first, ZIP_STORED)
        for name, content in members.items():
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return target.getvalue()


def column_name(number: int) -> str:
    """Return the letters of a column: A, B, ..., Z, AA for 0, 1, ..., 25, 26."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name


def xlsx(
    sheets: Mapping[str, Sequence[Sequence[Value]] | str], *, hidden: Sequence[str] = (), properties: str = ""
) -> bytes:
    """An XLSX of sheets given as rows, or as the XML within `<worksheet>`; None is an empty cell, `#` an error."""
    members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": (
            f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": _workbook(list(sheets), hidden),
        "xl/_rels/workbook.xml.rels": _relations(len(sheets)),
    }
    for number, content in enumerate(sheets.values(), 1):
        inner = content if isinstance(content, str) else f"<sheetData>{sheet_rows(content)}</sheetData>"
        members[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{_MAIN}">{inner}</worksheet>'
    if properties:
        members["docProps/core.xml"] = properties
    return package(members)


def sheet_rows(rows: Sequence[Sequence[Value]]) -> str:
    """The `<row>` elements of an XLSX sheet."""
    written = []
    for number, row in enumerate(rows, 1):
        cells = [_cell(f"{column_name(column)}{number}", value) for column, value in enumerate(row)]
        written.append(f'<row r="{number}">{"".join(cells)}</row>')
    return "".join(written)


def _cell(place: str, value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case str() if value.startswith("#"):
            return f'<c r="{place}" t="e"><f>1/0</f><v>{value}</v></c>'
        case str():
            return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
        case _:
            return f'<c r="{place}"><v>{value!r}</v></c>'


def _workbook(names: Sequence[str], hidden: Sequence[str]) -> str:
    states = ("visible", "hidden")
    written = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" state="{states[name in hidden]}" r:id="rId{number}"/>'
        for number, name in enumerate(names, 1)
    )
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{written}</sheets></workbook>'


def _relations(count: int) -> str:
    written = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, count + 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}">{written}</Relationships>'


def ods(sheets: Mapping[str, str], styles: str = "") -> bytes:
    """An ODS of sheets given as their `<table:table-row>` elements, with these automatic styles."""
    tables = "".join(f'<table:table table:name="{escape(name)}">{rows}</table:table>' for name, rows in sheets.items())
    content = (
        f'<office:document-content xmlns:office="{_OPEN}:office:1.0" xmlns:table="{_OPEN}:table:1.0" '
        f'xmlns:text="{_OPEN}:text:1.0" xmlns:style="{_OPEN}:style:1.0"><office:automatic-styles>{styles}'
        f"</office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    manifest = f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0"/>'
    members = {"content.xml": content, "META-INF/manifest.xml": manifest}
    return package(members, "application/vnd.oasis.opendocument.spreadsheet")


def epub(chapters: Mapping[str, str], *, opf: str = "", extra: Mapping[str, str] | None = None) -> bytes:
    """An EPUB of XHTML bodies by file name, in that order; `opf` and `extra` replace or add members."""
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    plain = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    members = {"META-INF/container.xml": container, "OEBPS/book.opf": opf or plain}
    for name, body in chapters.items():
        members[f"OEBPS/{name}"] = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
    return package({**members, **(extra or {})}, "application/epub+zip")

"""Generate valid files of every format, from which malformed files are made."""

import base64
import zlib
from io import BytesIO
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from file_formats.workbooks import Value, xlsx
from optional import needs

Members = dict[str, bytes]
WORDS = "The keeper of the lighthouse writes down every ship that passes, by name, flag and hour."


def pdf(objects: list[bytes], *, offsets_off_by: int = 0, trailer: bytes = b"") -> bytes:
    """Return a PDF of these objects, the first of which is the catalogue; `trailer` is added to its trailer."""
    data, offsets = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data) + offsets_off_by)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    end = b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, len(data))
    return data + table + end


def stream(content: bytes, entries: bytes = b"", *, packed: bool = True) -> bytes:
    """Return a stream object, compressed with deflate unless its entries define another encoding."""
    if packed:
        content, entries = zlib.compress(content), entries + b"/Filter/FlateDecode"
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(content), entries, content)


FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"
RESOURCES = b"/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R" + RESOURCES + b">>"


def one_page(content: bytes, form: bytes = b"null") -> list[bytes]:
    """The objects of a PDF with one page; `form` is what its content draws by `/X Do`."""
    return [CATALOGUE, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE, content, FONT, form]


def pdf_objects() -> list[bytes]:
    """Three pages of text in one PDF, with an outline and metadata."""
    pages = [6, 8, 10]
    kids = b" ".join(b"%d 0 R" % number for number in pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Outlines 3 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count 3>>" % kids,
        b"<</Type/Outlines/First 4 0 R/Last 4 0 R/Count 1>>",
        b"<</Title(Ships)/Parent 3 0 R/Dest[6 0 R/XYZ 0 792 0]>>",
        FONT,
    ]
    for number in pages:
        lines = b" 0 -16 Td ".join(b"(%d. %s) Tj" % (line, WORDS.encode()) for line in range(1, 30))
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F 5 0 R>>>>>>"
            % (number + 1),
            stream(b"BT /F 11 Tf 40 740 Td " + lines + b" ET"),
        ]
    return objects


def docx_members() -> Members:
    """A text with headings, a list and a table."""
    needs("docx")
    import docx

    document = docx.Document()
    document.add_heading("Ships", 1)
    document.add_paragraph(WORDS)
    document.add_paragraph("By name", style="List Bullet")
    table = document.add_table(rows=4, cols=3)
    for number, row in enumerate(table.rows):
        for cell in row.cells:
            cell.text = f"Cell {number}"
    target = BytesIO()
    document.save(target)
    return members_of(target.getvalue())


def pptx_members() -> Members:
    """Three slides with titles and text."""
    needs("pptx")
    import pptx

    show = pptx.Presentation()
    for number in range(1, 4):
        slide = show.slides.add_slide(show.slide_layouts[1])
        title = slide.shapes.title
        assert title is not None
        title.text = f"Ship {number}"
        slide.placeholders[1].text = WORDS
    target = BytesIO()
    show.save(target)
    return members_of(target.getvalue())


def xlsx_members() -> Members:
    """A sheet of thirty rows and a small one."""
    rows: list[list[Value]] = [["Ship", "Flag", "Hour"]]
    rows += [[f"Ship {n}", "Free", float(n)] for n in range(30)]
    return members_of(xlsx({"Ships": rows, "Words": [[WORDS]]}))


def odt_members() -> Members:
    """An OpenDocument text."""
    spaces = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    body = f'<text:h text:outline-level="1">Ships</text:h><text:p>{WORDS}</text:p>' * 4
    content = f"<office:document-content{spaces}><office:body><office:text>{body}</office:text></office:body>"
    return {
        "mimetype": b"application/vnd.oasis.opendocument.text",
        "content.xml": f"{content}</office:document-content>".encode(),
    }


def epub_members() -> Members:
    """A book of two chapters."""
    chapter = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>C</title></head><body><h1>C</h1><p>{WORDS}</p>'
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in (1, 2))
    package_file = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Ships</dc:title><dc:identifier id="i">x</dc:identifier>'
        f'</metadata><manifest>{items}</manifest><spine><itemref idref="c1"/><itemref idref="c2"/></spine></package>'
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    texts = {"META-INF/container.xml": container, "b.opf": package_file}
    chapters = {f"c{n}.xhtml": f"{chapter}</body></html>" for n in (1, 2)}
    return {"mimetype": b"application/epub+zip"} | {name: text.encode() for name, text in (texts | chapters).items()}


HTML = (
    f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Ships</title></head><body><h1>Ships</h1>'
    f"<p>{WORDS}</p><ul><li>One<li>Two</ul><table><tr><th>Ship<th>Flag<tr><td>A<td>B</table><h2>More</h2><p>{WORDS}</p>"
    "</body></html>"
) * 3
CELLS = "".join(
    f'<mxCell id="s{n}" value="Ship {n} &amp;lt;b&amp;gt;" vertex="1" parent="1"><mxGeometry x="{n}" as="geometry"/>'
    f'</mxCell><mxCell id="e{n}" edge="1" source="s{n}" target="s{n + 1}" parent="1"/>'
    for n in range(12)
)
MODEL = f'<mxGraphModel><root><mxCell id="0"/><mxCell id="1" parent="0"/>{CELLS}</root></mxGraphModel>'


def drawio(model: str | bytes = MODEL, *, deflated: bool = False) -> bytes:
    """Return a draw.io file of one diagram, compressed or not; an uncompressed diagram can be any bytes."""
    if deflated:
        text = model if isinstance(model, bytes) else quote(model, safe="").encode()
        packer = zlib.compressobj(9, wbits=-15)
        content: bytes = base64.b64encode(packer.compress(text) + packer.flush())
    else:
        content = model if isinstance(model, bytes) else model.encode()
    return b'<mxfile><diagram id="d" name="Ships">' + content + b"</diagram></mxfile>"


CSV = "Ship;Flag;Hour\n" + "".join(f'Ship {n};"The free; one";{n},5\n' for n in range(40))
MARKDOWN = f"---\ntitle: Ships\n---\n# Ships\n\n{WORDS}\n\n- one\n- two\n\n| a | b |\n|---|---|\n| c | d |\n" * 3


def members_of(data: bytes) -> Members:
    """The members of a zip package by name."""
    with ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packages_by_suffix() -> dict[str, Members]:
    """Return one file of each format that is a zip package."""
    return {
        ".docx": docx_members(),
        ".pptx": pptx_members(),
        ".xlsx": xlsx_members(),
        ".odt": odt_members(),
        ".epub": epub_members(),
    }


def plain_files() -> dict[str, bytes]:
    """Return one file of each format that is no zip package."""
    return {
        ".pdf": pdf(pdf_objects()),
        ".html": HTML.encode(),
        ".drawio": drawio(),
        ".xml": drawio(deflated=True),
        ".csv": CSV.encode(),
        ".md": MARKDOWN.encode(),
        ".txt": (WORDS + "\n\n").encode() * 20,
    }


def good_files() -> dict[str, bytes]:
    """Return one valid file of each format, by suffix."""
    return plain_files() | {suffix: packed(members) for suffix, members in packages_by_suffix().items()}


def packed(members: Members) -> bytes:
    """Compress the members to a zip package, always with the same bytes; `mimetype` is stored uncompressed."""
    target = BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(ZipInfo(name), content, ZIP_STORED if name == "mimetype" else ZIP_DEFLATED)
    return target.getvalue()

"""Build Word files, presentations and OpenDocument texts from the XML that a test is about."""

from collections.abc import Mapping, Sequence

from file_formats.workbooks import package

_BASE = "http://schemas.openxmlformats.org"
_OFFICE = f"{_BASE}/officeDocument/2006/relationships"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_CORE = f"{_BASE}/package/2006/metadata/core-properties"
NAMES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "w": f"{_BASE}/wordprocessingml/2006/main",
        "p": f"{_BASE}/presentationml/2006/main",
        "a": f"{_BASE}/drawingml/2006/main",
        "c": f"{_BASE}/drawingml/2006/chart",
        "dgm": f"{_BASE}/drawingml/2006/diagram",
        "m": f"{_BASE}/officeDocument/2006/math",
        "r": _OFFICE,
        "mc": f"{_BASE}/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)
OPEN_NAMES = " ".join(
    f'xmlns:{prefix}="{_OPEN}:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "style": "style",
        "draw": "drawing",
        "fo": "xsl-fo-compatible",
        "meta": "meta",
    }.items()
)


def relations(targets: Mapping[str, str]) -> str:
    """Return the XML of a relations part. The key of each target is its kind, such as `slide`, after an optional id:

    `rId1:slide`.
    """
    written = "".join(
        f'<Relationship Id="{key.partition(":")[0]}" Target="{target}" '
        f'Type="{_CORE if key == "core-properties" else _OFFICE + "/" + key.rpartition(":")[2]}"/>'
        for key, target in targets.items()
    )
    return f'<Relationships xmlns="{_BASE}/package/2006/relationships">{written}</Relationships>'


def core(title: str = "", creator: str = "", modified: str = "") -> str:
    """The core properties of an office file."""
    return (
        f'<cp:coreProperties xmlns:cp="{_CORE}" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        f'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>{title}</dc:title><dc:creator>{creator}</dc:creator>'
        f"<dcterms:modified>{modified}</dcterms:modified></cp:coreProperties>"
    )


def docx(body: str, *, properties: str = "", pages: int | None = None, **parts: str) -> bytes:
    """Return a DOCX with this body; `parts` are the contents of styles, numbering, footnotes and endnotes."""
    members = {
        "_rels/.rels": relations(
            {
                "officeDocument": "word/document.xml",
                "core-properties": "docProps/core.xml",
                "extended-properties": "docProps/app.xml",
            }
        ),
        "word/document.xml": f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations({name: f"{name}.xml" for name in parts}),
    }
    members |= {f"word/{name}.xml": f"<w:{name} {NAMES}>{inner}</w:{name}>" for name, inner in parts.items()}
    if properties:
        members["docProps/core.xml"] = properties
    if pages is not None:
        members["docProps/app.xml"] = (
            f'<Properties xmlns="{_BASE}/officeDocument/2006/extended-properties"><Pages>{pages}</Pages></Properties>'
        )
    return package(members)


def paragraph(text: str, properties: str = "", *, run: str = "") -> str:
    """A Word paragraph of one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def style(style_id: str, name: str, inner: str = "", kind: str = "paragraph") -> str:
    """A Word style."""
    return f'<w:style w:type="{kind}" w:styleId="{style_id}"><w:name w:val="{name}"/>{inner}</w:style>'


def cell(content: str, properties: str = "") -> str:
    """A cell of a Word table: a text, or elements."""
    inner = content if content.startswith("<") else paragraph(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def pptx(slides: Sequence[str], *, properties: str = "", extra: Mapping[str, str] | None = None) -> bytes:
    """Return a PPTX of slides, each given by its shapes; a slide that starts with `hidden ` is hidden.

    `extra` members may name relations of slide n in `ppt/slides/_rels/slide<n>.xml.rels`.
    """
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in range(1, len(slides) + 1))
    targets = {f"rId{number}:slide": f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)}
    members = {
        "_rels/.rels": relations({"officeDocument": "ppt/presentation.xml", "core-properties": "docProps/core.xml"}),
        "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(targets),
    }
    for number, inner in enumerate(slides, 1):
        show = ' show="0"' if inner.startswith("hidden ") else ""
        tree = inner.removeprefix("hidden ")
        members[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {NAMES}{show}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
        )
    if properties:
        members["docProps/core.xml"] = properties
    return package({**members, **(extra or {})})


def shape(text: str, *, kind: str = "", top: int = 0, left: int = 0) -> str:
    """Return a shape with a text or `<a:p>` elements; `kind` is its placeholder type, `top` and `left` are inches."""
    held = f'<p:ph type="{kind}"/>' if kind else ""
    inner = text if text.startswith("<a:p>") else f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{held}</p:nvPr></p:nvSpPr><p:spPr><a:xfrm>"
        f'<a:off x="{left * 914_400}" y="{top * 914_400}"/></a:xfrm></p:spPr><p:txBody>{inner}</p:txBody></p:sp>'
    )


def frame(inner: str) -> str:
    """A graphic frame of a slide, which holds a table, a chart or a diagram."""
    return f"<p:graphicFrame><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></p:graphicFrame>"


def odt(body: str, *, automatic: str = "", styles: str = "", meta: str = "", manifest: str = "") -> bytes:
    """Return an OpenDocument text; `automatic` are its automatic styles, `styles` are those of styles.xml."""
    content = (
        f"<office:document-content {OPEN_NAMES}><office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    members = {
        "content.xml": content,
        "styles.xml": (
            f"<office:document-styles {OPEN_NAMES}><office:styles>{styles}</office:styles></office:document-styles>"
        ),
        "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0">{manifest}'
        "</manifest:manifest>",
    }
    if meta:
        members["meta.xml"] = (
            f'<office:document-meta {OPEN_NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<office:meta>{meta}</office:meta></office:document-meta>"
        )
    return package(members, "application/vnd.oasis.opendocument.text")

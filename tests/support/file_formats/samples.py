"""One small file of every supported format, by suffix, for the contracts of readers and chunkers."""

from file_formats.office import cell, docx, frame, odt, paragraph, pptx, shape, style
from file_formats.workbooks import epub, ods, xlsx

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 62>>stream\nBT /F1 12 Tf 72 700 Td (The ball is round and so on.) Tj ET   \nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R/Size 6>>\n%%EOF"
)
ODS_ROWS = (
    '<table:table-row><table:table-cell office:value-type="string"><text:p>Words</text:p></table:table-cell>'
    '<table:table-cell office:value-type="float" office:value="1"/></table:table-row>'
)
DRAWIO = (
    b'<mxfile><diagram name="One"><mxGraphModel><root><mxCell id="0"/><mxCell id="1" parent="0"/>'
    b'<mxCell id="2" value="Club" vertex="1" parent="1"/><mxCell id="3" value="Player" vertex="1" parent="1"/>'
    b'<mxCell id="4" value="signs" edge="1" parent="1" source="2" target="3"/></root></mxGraphModel></diagram></mxfile>'
)
DOCX = docx(
    paragraph("A", '<w:pStyle w:val="h"/>')
    + paragraph("Words.")
    + paragraph("item", '<w:numPr><w:numId w:val="1"/></w:numPr>')
    + f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr><w:tr>{cell('c')}{cell('d')}</w:tr></w:tbl>",
    styles=style("h", "heading 1"),
    numbering='<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>',
)
PPTX_TABLE = "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>c</a:t></a:r></a:p></a:tc><a:tc/></a:tr></a:tbl>"
PPTX = pptx([shape("A", kind="title") + shape("Words.", top=2) + frame(PPTX_TABLE), shape("More words.")])
ODT = odt(
    '<text:h text:outline-level="1">A</text:h><text:p>Words.<text:s text:c="2"/>More.</text:p>'
    "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list><table:table><table:table-row>"
    "<table:table-cell><text:p>c</text:p></table:table-cell><table:table-cell><text:p>d</text:p></table:table-cell>"
    "</table:table-row></table:table>"
)
SAMPLES: dict[str, bytes] = {
    ".md": b"---\ntitle: T\n---\n# A\n\nWords.\n\n| a | b |\n|---|---|\n| c | d |\n\n[x]: /y\n",
    ".txt": b"A\n=\n\nFirst words.\n\fSecond page.\n- item\n- item\n",
    ".html": b"<title>T</title><body><h1>A</h1><p>Words <b>bold</b></p><table><tr><th>a<th>b<tr><td>c<td>d</table>",
    ".pdf": PDF,
    ".csv": b'Club;Town;Since\nA;"B; by\nthe lake";1,5\nC;D;2\n',
    ".xlsx": xlsx({"Clubs": [["Club", "Since"], ["A", 1901.0], ["B", True], ["C", "#N/A"]], "Words": [["One."]]}),
    ".epub": epub({"a.xhtml": "<h1>A</h1><p>Words.</p>", "b.xhtml": "<p>More words.</p><ul><li>item</li></ul>"}),
    ".ods": ods({"Words": ODS_ROWS}),
    ".docx": DOCX,
    ".pptx": PPTX,
    ".odt": ODT,
    ".drawio": DRAWIO,
}

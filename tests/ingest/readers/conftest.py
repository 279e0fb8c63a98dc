"""A fixture that writes PDFs by hand, so that the position and size of each line are known."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Placed = tuple[float, float, float, str]
WritePdf = Callable[..., Path]


@pytest.fixture
def write_pdf(tmp_path: Path) -> WritePdf:
    """Write pages of (left, height, size, text) in Helvetica on paper of 600 x 800 points.

    `annotations`, such as form fields, are on each page; `form` has further entries of the form.
    """

    def write(pages: Sequence[Sequence[Placed]], annotations: Sequence[str] = (), form: str = "") -> Path:
        noted = "".join(f"<</Type/Annot/Rect[9 9 99 29]{annotation}>>" for annotation in annotations)
        catalog = f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[]{form}>>>>"
        objects = [catalog, "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
        kids = []
        for lines in pages:
            content = "".join(f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n" for x, y, size, text in lines)
            objects.append(f"<</Length {len(content)}>>stream\n{content}endstream")
            objects.append(
                f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {len(objects)} 0 R"
                f"/Resources<</Font<</F1 3 0 R>>>>/Annots[{noted}]>>"
            )
            kids.append(f"{len(objects)} 0 R")
        objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
        body, offsets = "%PDF-1.4\n", []
        for number, content in enumerate(objects, 1):
            offsets.append(len(body))
            body += f"{number} 0 obj\n{content}\nendobj\n"
        table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
        count = len(objects) + 1
        body += f"xref\n0 {count}\n0000000000 65535 f \n{table}"
        tail = f"trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{body.index('xref')}\n%%EOF\n"
        path = tmp_path / "written.pdf"
        path.write_text(body + tail, encoding="latin-1")
        return path

    return write

"""Slides as blocks: a page each, its title as heading, then what stands on it, then what the speaker says."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.ooxml import CHART, DIAGRAM, DRAWING, RELATION, SLIDE, Package
from elt_llm_ingest.readers.pptx_graphics import chart_grid, chart_title, diagram_texts, has_header, table_grid
from elt_llm_ingest.readers.pptx_shapes import TITLES, Models, in_order, kind_of
from elt_llm_ingest.readers.pptx_text import lines_of, plain_text
from elt_llm_ingest.readers.table_rows import write_rows

if TYPE_CHECKING:
    from lxml.etree import _Element

_TREE = f"{SLIDE}cSld/{SLIDE}spTree"
_NOTES = "Speaker notes: "


class SlideWriter:
    """Puts slides into a document. `title` is that of the first slide with one."""

    def __init__(self, package: Package) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self._package = package
        self._models: dict[str, Models] = {}

    def write(self, name: str, slide: "_Element", number: int) -> None:
        """Append a slide as the page of that number, from 1."""
        models = self._models_of(name)
        tree = slide.find(_TREE)
        shapes = [] if tree is None else list(in_order(tree, models))
        titles = [shape for shape in shapes if kind_of(shape) in TITLES]
        title = " ".join(" ".join(plain_text(shape) for shape in titles).split())
        self.title = self.title or title
        self.builder.begin_page()
        # Without a heading of its own the slide would seem to belong to the one before.
        self.builder.add_heading(title or f"Slide {number}", 1)
        for shape in shapes:
            if shape not in titles:
                self._shape(name, shape, models)
        self._notes(name)

    def _shape(self, name: str, shape: "_Element", models: Models) -> None:
        body = shape.find(f"{SLIDE}txBody")
        if body is not None:
            before = ""
            for line in lines_of(body, models.list_styles(shape)):
                self.builder.add(line.text, line.kind, tight=line.kind == before == "list")
                before = line.kind
        for table in shape.iter(f"{DRAWING}tbl"):
            write_rows(self.builder, table_grid(table), 1 if has_header(table) else 0)
        relations = self._package.relations(name)
        for chart in shape.iter(f"{CHART}chart"):
            if (relation := relations.get(chart.get(f"{RELATION}id", ""))) is not None:
                self._chart(self._package.part(relation.target))
        for diagram in shape.iter(f"{DIAGRAM}relIds"):
            if (relation := relations.get(diagram.get(f"{RELATION}dm", ""))) is not None:
                for text in diagram_texts(self._package.part(relation.target)):
                    self.builder.add(f"\u2022 {text}", "list", tight=True)

    def _chart(self, chart: "_Element") -> None:
        if title := chart_title(chart):
            self.builder.add(f"Chart: {title}")
        write_rows(self.builder, chart_grid(chart), 1)

    def _notes(self, name: str) -> None:
        notes = self._package.related_part(name, "notesSlide")
        for shape in () if notes is None else notes.iter(f"{SLIDE}sp"):
            if kind_of(shape) == "body" and (text := plain_text(shape)):
                self.builder.add(_NOTES + text)

    def _models_of(self, name: str) -> Models:
        layouts = self._package.related(name, "slideLayout")[:1]
        key = layouts[0] if layouts else ""
        if key not in self._models:
            masters = self._package.related(key, "slideMaster")[:1] if key else []
            self._models[key] = Models([self._package.part(part) for part in (*layouts, *masters)])
        return self._models[key]

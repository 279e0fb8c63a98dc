"""Read presentations from their XML: a page for each slide with its title, shapes, tables, charts and notes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lxml.etree import _Element

from elt_llm_ingest.parsing.document_builder import (
    EMBEDDED,
    STRUCK_OUT,
    DocumentBuilder,
    blank_for,
    collapse_blanks,
    is_power,
)
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.readers.equations import EQUATION, linear_equation
from elt_llm_ingest.readers.headings import bullet_of_level, format_number, kind_of_line
from elt_llm_ingest.readers.office_package import (
    CHART,
    COMPATIBILITY,
    DIAGRAM,
    DRAWING,
    RELATION,
    SLIDE,
    OfficePackage,
    choose_alternatives,
    open_package,
    parse_number,
    read_properties,
)
from elt_llm_ingest.readers.tables import MAX_COLUMNS, write_grid

_SKIPPED_ELEMENTS = frozenset((f"{DRAWING}pPr", f"{DRAWING}rPr", f"{DRAWING}endParaRPr"))
# Fields that show the slide number or the date.
_RUNNING_FIELDS = ("slidenum", "datetime")
_COUNTED = (("arabic", "decimal"), ("alphaLc", "a"), ("alphaUc", "A"), ("romanLc", "i"), ("romanUc", "I"))
_BULLETS = tuple(f"{DRAWING}{name}" for name in ("buNone", "buChar", "buAutoNum", "buBlip"))
_TRUE_VALUES = frozenset(("1", "true"))
_STRIKES = frozenset(("sngStrike", "dblStrike"))
_TITLES = frozenset(("title", "ctrTitle"))
_RUNNING_PLACEHOLDERS = frozenset(("dt", "ftr", "sldNum", "hdr", "sldImg"))
_GROUP = f"{SLIDE}grpSp"
_SHAPES = frozenset((f"{SLIDE}sp", f"{SLIDE}graphicFrame", _GROUP, f"{SLIDE}cxnSp", f"{SLIDE}pic"))
_PLACES = (f"{SLIDE}spPr/{DRAWING}xfrm", f"{SLIDE}grpSpPr/{DRAWING}xfrm", f"{SLIDE}xfrm")
# Shapes whose tops differ by at most this count as side by side. In English Metric Units, 914,400 per inch.
_SAME_ROW = 180_000


def blank_struck_text(part: _Element) -> bool:
    """Empty the struck-out text of a slide, its notes or a diagram. Return whether there was any."""
    runs = (look.getparent() for look in part.iter(f"{DRAWING}rPr") if look.get("strike") in _STRIKES)
    texts = [text for run in runs if run is not None for text in run.findall(f"{DRAWING}t") if text.text]
    for text in texts:
        text.text = blank_for(text.text or "")
    return bool(texts)


def plain_text(paragraphs: _Element) -> str:
    """Return all text in an element, one line for each paragraph."""
    return "\n".join(filter(None, map(paragraph_text, paragraphs.iter(f"{DRAWING}p"))))


def paragraph_text(paragraph: _Element) -> str:
    """Return the text of a paragraph with its line breaks."""
    pieces = [""]
    pending = [paragraph]
    is_raised = False
    while pending:
        element = pending.pop()
        if element.tag == f"{DRAWING}t":
            was_raised, is_raised = is_raised, _is_raised(element.getparent())
            power = is_raised and not was_raised and is_power(pieces[-1], element.text or "")
            pieces += ["^" if power else "", element.text or ""]
        elif element.tag == EQUATION:
            pieces.append(linear_equation(element))
        elif element.tag == f"{DRAWING}br":
            pieces.append("\n")
        elif element.tag == f"{COMPATIBILITY}AlternateContent":
            pending += reversed(choose_alternatives(element))
        elif element.tag not in _SKIPPED_ELEMENTS and not (
            element.tag == f"{DRAWING}fld" and element.get("type", "").startswith(_RUNNING_FIELDS)
        ):
            pending += reversed(element)
    # A vertical tab is a line break in a title.
    return collapse_blanks("".join(pieces).replace("\v", "\n"))


def _is_raised(run: _Element | None) -> bool:
    look = None if run is None else run.find(f"{DRAWING}rPr")
    return look is not None and (parse_number(look.get("baseline")) or 0) > 0


def slide_lines(body: _Element, styles: Sequence[_Element]) -> Iterator[tuple[str, BlockKind]]:
    """Yield each paragraph of a text body with its block kind. `styles` are the body's list styles, nearest first."""
    counts: dict[int, int] = {}
    for paragraph in body.findall(f"{DRAWING}p"):
        text = paragraph_text(paragraph)
        if not text:
            continue
        properties = paragraph.find(f"{DRAWING}pPr")
        level = min(parse_number(properties.get("lvl")) or 0, 8) if properties is not None else 0
        sign = _bullet_style(properties, level, styles)
        marker = "" if sign is None else _line_marker(sign, level, counts)
        counts = {own: count for own, count in counts.items() if own < level or (own == level and marker)}
        marked = f"{marker} {text}".strip()
        yield marked, kind_of_line(marked, is_item=bool(marker))


def _bullet_style(properties: _Element | None, level: int, styles: Sequence[_Element]) -> _Element | None:
    """Return the bullet element of a paragraph, or of the nearest style that has one for the paragraph's level."""
    inherited = (style.find(f"{DRAWING}lvl{level + 1}pPr") for style in styles)
    for source in (properties, *inherited):
        for element in () if source is None else source:
            if element.tag in _BULLETS:
                return element
    return None


def _line_marker(sign: _Element, level: int, counts: dict[int, int]) -> str:
    if sign.tag == f"{DRAWING}buNone":
        return ""
    if sign.tag != f"{DRAWING}buAutoNum":
        return bullet_of_level(level)
    counts[level] = counts[level] + 1 if level in counts else parse_number(sign.get("startAt")) or 1
    kind = sign.get("type", "")
    number_format = next((number_format for name, number_format in _COUNTED if kind.startswith(name)), "decimal")
    number = format_number(counts[level], number_format)
    if kind.endswith("ParenBoth"):
        return f"({number})"
    return number + (")" if kind.endswith("ParenR") else "" if kind.endswith("Plain") else ".")


def table_grid(table: _Element) -> list[list[str]]:
    """Return the texts of all rows. The text of a merged cell is repeated in each position that it covers."""
    rows: list[list[str]] = []
    for row in table.findall(f"{DRAWING}tr"):
        above = rows[-1] if rows else []
        texts: list[str] = []
        for cell in row.findall(f"{DRAWING}tc")[:MAX_COLUMNS]:
            text = " ".join(plain_text(cell).split())
            if cell.get("hMerge") in _TRUE_VALUES and texts:
                text = texts[-1]
            elif cell.get("vMerge") in _TRUE_VALUES and len(texts) < len(above):
                text = above[len(texts)]
            texts.append(text)
        rows.append(texts)
    return rows


def chart_grid(chart: _Element) -> list[list[str]]:
    """Return the values stored with a chart: a row of series names, then a row for each category."""
    series = list(chart.iter(f"{CHART}ser"))[: MAX_COLUMNS - 1]
    columns = [_series_points(one, "val") or _series_points(one, "yVal") for one in series]
    categories: dict[int, str] = {}
    for one in series:
        categories = _series_points(one, "cat") or _series_points(one, "xVal") | categories
    places = sorted(set(categories).union(*columns))
    names = [" ".join(text for text in _series_points(one, "tx").values()) for one in series]
    rows = [[categories.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
    return [["", *names], *rows] if rows or any(names) else []


def _series_points(series: _Element, role: str) -> dict[int, str]:
    """Return a chart series' stored points by index. Nested category names are joined, outermost first: "2024 May"."""
    points: dict[int, str] = {}
    for source in series.findall(f"{CHART}{role}"):
        for point in source.iter(f"{CHART}pt"):
            place = parse_number(point.get("idx")) or 0
            text = " ".join((point.findtext(f"{CHART}v") or "").split())
            points[place] = f"{text} {points[place]}" if place in points else text
    return points


@dataclass(frozen=True)
class PlaceholderModels:
    """The layout and master of a slide, nearest first. They define the placeholders that the slide's shapes fill."""

    roots: Sequence[_Element] = ()

    def of(self, shape: _Element) -> list[_Element]:
        """Return the placeholders in the layout and master from which a shape inherits."""
        own = placeholder_element(shape)
        if own is None:
            return []
        models = []
        for root in self.roots:
            candidates = [(model, placeholder_element(model)) for model in root.iter(f"{SLIDE}sp")]
            matching = [model for model, other in candidates if other is not None and _fills_placeholder(own, other)]
            models += matching[:1]
        return models

    def list_styles(self, shape: _Element) -> list[_Element]:
        """Return the list styles for the paragraphs of a shape, nearest first."""
        styles = [style for source in (shape, *self.of(shape)) for style in source.iter(f"{DRAWING}lstStyle")]
        if placeholder_kind(shape) in {"body", "obj"}:
            styles += [style for root in self.roots for style in root.iter(f"{SLIDE}bodyStyle")]
        return styles


def placeholder_element(shape: _Element) -> _Element | None:
    """Return the element of a shape that names the placeholder it fills, or None."""
    return next(iter(shape.findall(f"*/{SLIDE}nvPr/{SLIDE}ph")), None)


def placeholder_kind(shape: _Element) -> str:
    """Return the kind of placeholder that a shape fills, such as "title" or "body", or "" if it fills none."""
    element = placeholder_element(shape)
    return "" if element is None else element.get("type", "obj")


def shapes_in_order(parent: _Element, models: PlaceholderModels) -> Iterator[_Element]:
    """Yield the visible shapes from top to bottom and left to right. The shapes of a group stay together."""
    shapes = [shape for shape in _direct_shapes(parent) if placeholder_kind(shape) not in _RUNNING_PLACEHOLDERS]
    placed = sorted(((_shape_position(shape, models), number) for number, shape in enumerate(shapes)))
    row_top = 0
    keyed: list[tuple[int, int, int]] = []
    for (top, left), number in placed:
        if not keyed or top - row_top > _SAME_ROW:
            row_top = top
        keyed.append((row_top, left, number))
    for _, _, number in sorted(keyed):
        if shapes[number].tag == _GROUP:
            yield from shapes_in_order(shapes[number], models)
        else:
            yield shapes[number]


def _direct_shapes(parent: _Element) -> Iterator[_Element]:
    for element in parent:
        if element.tag == f"{COMPATIBILITY}AlternateContent":
            yield from (inner for inner in choose_alternatives(element) if inner.tag in _SHAPES)
        elif element.tag in _SHAPES:
            yield element


def _shape_position(shape: _Element, models: PlaceholderModels) -> tuple[int, int]:
    """Return the top and left of a shape, or (0, 0) for a shape without a position."""
    for source in (shape, *models.of(shape)):
        for path in _PLACES:
            offset = source.find(f"{path}/{DRAWING}off")
            if offset is not None:
                return _parse_coordinate(offset.get("y")), _parse_coordinate(offset.get("x"))
    return 0, 0


def _parse_coordinate(text: str | None) -> int:
    digits = (text or "").removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdecimal() and len(digits) < 16 else 0


def _fills_placeholder(own: _Element, other: _Element) -> bool:
    same_index = own.get("idx") is not None and own.get("idx") == other.get("idx")
    kinds = {own.get("type", "obj"), other.get("type", "obj")}
    return same_index or len(kinds) == 1 or kinds in ({"title", "ctrTitle"}, {"obj", "body"})


class SlideWriter:
    """Appends slides to a document. `title` is the first slide title that was found, `notes` what is not read."""

    def __init__(self, package: OfficePackage) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self.notes: list[str] = []
        self._has_struck = False
        self._package = package
        self._models: dict[str, PlaceholderModels] = {}

    def write(self, name: str, slide: _Element, number: int) -> None:
        """Append a slide as page `number`, counted from 1."""
        self._has_struck = blank_struck_text(slide)
        models = self._models_of(name)
        tree = slide.find(f"{SLIDE}cSld/{SLIDE}spTree")
        shapes = [] if tree is None else list(shapes_in_order(tree, models))
        titles = [shape for shape in shapes if placeholder_kind(shape) in _TITLES]
        title = " ".join(" ".join(plain_text(shape) for shape in titles).split())
        self.title = self.title or title
        self.builder.start_page()
        # Without its own heading, the slide would belong to the section of the previous slide.
        self.builder.add_heading(title or f"Slide {number}", 1)
        for shape in shapes:
            if shape not in titles:
                self._write_shape(name, shape, models)
        for part in self._package.related(name, "notesSlide")[:1]:
            for shape in self._read_part(part).iter(f"{SLIDE}sp"):
                if placeholder_kind(shape) == "body" and (text := plain_text(shape)):
                    self.builder.add(f"Speaker notes: {text}")
        if next(slide.iter(f"{SLIDE}oleObj"), None) is not None:
            self.notes.append(f"slide {number} {EMBEDDED}")
        if self._has_struck:
            self.notes.append(f"slide {number} {STRUCK_OUT}")

    def _read_part(self, name: str) -> _Element:
        """Return a part of the package without its struck-out text."""
        part = self._package.part(name)
        self._has_struck |= blank_struck_text(part)
        return part

    def _write_shape(self, name: str, shape: _Element, models: PlaceholderModels) -> None:
        body = shape.find(f"{SLIDE}txBody")
        if body is not None:
            before = ""
            for text, kind in slide_lines(body, models.list_styles(shape)):
                self.builder.add(text, kind, tight=kind == before == "list")
                before = kind
        for table in shape.iter(f"{DRAWING}tbl"):
            properties = table.find(f"{DRAWING}tblPr")
            has_header = properties is not None and properties.get("firstRow") in _TRUE_VALUES
            write_grid(self.builder, table_grid(table), int(has_header))
        relations = self._package.relations(name)
        for chart in shape.iter(f"{CHART}chart"):
            if (relation := relations.get(chart.get(f"{RELATION}id", ""))) is not None:
                self._write_chart(self._read_part(relation.target))
        for diagram in shape.iter(f"{DIAGRAM}relIds"):
            if (relation := relations.get(diagram.get(f"{RELATION}dm", ""))) is not None:
                for point in self._read_part(relation.target).iter(f"{DIAGRAM}pt"):
                    if text := " ".join(plain_text(point).split()):
                        self.builder.add(f"\u2022 {text}", "list", tight=True)

    def _write_chart(self, chart: _Element) -> None:
        title = chart.find(f"{CHART}chart/{CHART}title")
        if title is not None and (text := " ".join(plain_text(title).split())):
            self.builder.add(f"Chart: {text}")
        write_grid(self.builder, chart_grid(chart), 1)

    def _models_of(self, name: str) -> PlaceholderModels:
        layouts = self._package.related(name, "slideLayout")[:1]
        key = layouts[0] if layouts else ""
        if key not in self._models:
            masters = self._package.related(key, "slideMaster")[:1] if key else []
            self._models[key] = PlaceholderModels([self._package.part(part) for part in (*layouts, *masters)])
        return self._models[key]


class PptxReader(DocumentReader):
    """Reads .pptx, .pptm, .ppsx and .potx, without footers, comments and struck-out text.

    Hidden slides are read and noted.
    """

    name: ClassVar[str] = "pptx"
    version: ClassVar[int] = 3

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, encrypted or not a presentation."""
        with open_package(path, f"{SLIDE}presentation") as (package, presentation):
            writer = SlideWriter(package)
            relations = package.relations(package.main)
            for number, entry in enumerate(presentation.iter(f"{SLIDE}sldId"), 1):
                relation = relations.get(entry.get(f"{RELATION}id", ""))
                if relation is None:
                    writer.builder.start_page()
                    writer.notes.append(f"slide {number} is missing")
                    continue
                slide = package.part(relation.target)
                if slide.get("show") in {"0", "false"}:
                    writer.notes.append(f"slide {number} is hidden")
                writer.write(relation.target, slide, number)
            title, metadata = read_properties(package.related_part("", "core-properties"))
        title = title or writer.title or path.stem
        return writer.builder.build(title, {**metadata, "page_unit": "slide"}, tuple(writer.notes))

"""Write what was entered into the fields of a web page as text: values, chosen options and checked boxes."""

import re

from selectolax.lexbor import LexborNode

_FIELDS = "input, textarea, select"
_MOST_FIELDS = 20_000
_WITHOUT_TEXT = frozenset(
    ("button", "color", "file", "hidden", "image", "password", "range", "reset", "search", "submit")
)
_BOXES = frozenset(("checkbox", "radio"))
_SEARCHES = re.compile(r"(?:^| )(?:keywords?|q|query|s)(?:$| )|search|suche", re.IGNORECASE)
# Forms with which a website is used. Their entries are not part of the page's text.
_OF_WEBSITE = re.compile(r"search|suche|filter|cookie|consent|login|signin|newsletter|subscribe", re.IGNORECASE)
_ENDS_NAME = re.compile(r"[\w)]\s*$")


def write_entries(body: LexborNode) -> set[int]:
    """Write the entries of fields beside them, as in PDF and Word forms: `Fee: 40`, `☒ Member`. The fields stay.

    Return the ids of the filled forms.
    """
    labels = {it.attributes.get("for"): " ".join(it.text().split()) for it in body.css("label[for]")[:_MOST_FIELDS]}
    in_forms, filled = set(), set()
    for form in body.css("form")[:_MOST_FIELDS]:
        fields = form.css(_FIELDS)[:_MOST_FIELDS]
        in_forms |= {field.mem_id for field in fields}
        # A list has an option from the start, so that its entry alone does not show that the form is filled.
        if not _is_of_website(form) and any(field.tag != "select" and _entry(field) for field in fields):
            filled.add(form.mem_id)
            for field in fields:
                _write_entry(field, labels)
    for field in body.css(_FIELDS)[:_MOST_FIELDS]:
        # Outside forms, boxes and lists mostly choose what a page shows.
        if field.mem_id not in in_forms and field.tag != "select" and _kind(field) not in _BOXES:
            _write_entry(field, labels)
    return filled


def _is_of_website(form: LexborNode) -> bool:
    described = (form.attributes.get(name) or "" for name in ("action", "class", "id", "name", "role"))
    return bool(_OF_WEBSITE.search(" ".join(described))) or form.css_first("[type=password], [type=search]") is not None


def _kind(field: LexborNode) -> str:
    return (field.attributes.get("type") or "text").casefold() if field.tag == "input" else ""


def _entry(field: LexborNode) -> str:
    """Return what was entered into a field: its value, the chosen options, ☒ for a checked box, or ""."""
    attributes, kind = field.attributes, _kind(field)
    if field.tag == "select":
        chosen = (option for option in field.css("option[selected]") if option.attributes.get("value") != "")
        return ", ".join(filter(None, (" ".join(option.text().split()) for option in chosen)))
    if kind in _BOXES:
        return "\u2612" if "checked" in attributes else ""
    names = " ".join(attributes.get(name) or "" for name in ("name", "id", "class"))
    if kind in _WITHOUT_TEXT or _SEARCHES.search(names):
        return ""
    return " ".join((field.text() if field.tag == "textarea" else attributes.get("value") or "").split())


def _write_entry(field: LexborNode, labels: dict[str | None, str]) -> None:
    entry, before, parent = _entry(field), field.prev, field.parent
    if not entry or parent is None:
        return
    if before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    name = labels.get(field.attributes.get("id") or "-") or field.attributes.get("aria-label") or ""
    if _kind(field) in _BOXES or parent.tag in ("td", "th"):
        pass
    elif before is not None and before.tag == "-text":
        text = before.text_content or ""
        if parent.tag == "label" and _ENDS_NAME.search(text):
            before.replace_with(f"{text.rstrip()}:")
    elif before is not None and before.tag == "label":
        if _ENDS_NAME.search(before.text()) and before.css_first(_FIELDS) is None:
            before.insert_child(":")
    elif name:
        entry = f"{name.rstrip(' :')}: {entry}"
    field.insert_before(f" {entry} ")

"""Write equations of Office files (Office MathML, ECMA-376 part 1, section 22.1) as one line of plain text.

The notation is the linear format of Unicode Technical Note 28, as Word shows it: `(a+b)/2`, `x^2`, `a_i`, `√(b^2-4ac)`.
"""

from lxml.etree import _Element

from elt_llm_ingest.readers.office_package import MATH

EQUATION = f"{MATH}oMath"
_MOST_LEVELS = 60


def linear_equation(equation: _Element) -> str:
    """Return an `m:oMath` element as text in one line. Parts nested deeper than 60 levels become unstructured text."""
    return " ".join(_inside(equation, 0).split())


def _inside(element: _Element | None, depth: int) -> str:
    return "" if element is None else "".join(_written(child, depth + 1) for child in element)


def _written(element: _Element, depth: int) -> str:
    name = str(element.tag).rsplit("}", 1)[-1]
    if name == "t":
        return element.text or ""
    if name.endswith("Pr"):  # properties
        return ""
    if depth > _MOST_LEVELS:
        return "".join(text.text or "" for text in element.iter(f"{MATH}t"))
    write = _FORMS.get(name)
    return write(element, depth) if write else _inside(element, depth)


def _part(element: _Element, name: str, depth: int) -> str:
    return _inside(element.find(f"{MATH}{name}"), depth)


def _group(text: str) -> str:
    """Put a part of an equation in parentheses, unless it is a single name or number or already in brackets."""
    bare = text.strip()
    is_single = bare.replace(".", "", 1).isalnum() or len(bare) < 2
    return bare if is_single or _is_bracketed(bare) else f"({bare})"


def _is_bracketed(text: str) -> bool:
    """Return whether the first character is a bracket that the last character closes."""
    if text[0] not in "([{|" or text[-1] not in ")]}|":
        return False
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and position < len(text) - 1:
            return False
    return True


def _value(element: _Element, properties: str, name: str, default: str) -> str:
    """Return a property, such as the character of a bracket. An empty value means that no character is drawn."""
    found = element.find(f"{MATH}{properties}/{MATH}{name}")
    return default if found is None else found.get(f"{MATH}val", "")


def _fraction(element: _Element, depth: int) -> str:
    above, below = _part(element, "num", depth), _part(element, "den", depth)
    if _value(element, "fPr", "type", "bar") == "noBar":
        return f"({above} ¦ {below})"
    return f"{_group(above)}/{_group(below)}"


def _limits(element: _Element, depth: int) -> str:
    below, above = _part(element, "sub", depth), _part(element, "sup", depth)
    return (f"_{_group(below)}" if below.strip() else "") + (f"^{_group(above)}" if above.strip() else "")


def _scripts(element: _Element, depth: int) -> str:
    return _group(_part(element, "e", depth)) + _limits(element, depth)


def _scripts_before(element: _Element, depth: int) -> str:
    return f"{_limits(element, depth)} {_group(_part(element, 'e', depth))}"


def _root(element: _Element, depth: int) -> str:
    degree, inner = _part(element, "deg", depth).strip(), _part(element, "e", depth)
    return f"√({degree}&{inner})" if degree else f"√({inner})"


def _operator(element: _Element, depth: int) -> str:
    sign = _value(element, "naryPr", "chr", "∫")
    return f"{sign}{_limits(element, depth)} {_part(element, 'e', depth)}"


def _brackets(element: _Element, depth: int) -> str:
    opening, closing = _value(element, "dPr", "begChr", "("), _value(element, "dPr", "endChr", ")")
    separator = _value(element, "dPr", "sepChr", "|")
    parts = [_inside(part, depth) for part in element.findall(f"{MATH}e")]
    return opening + separator.join(parts) + closing


def _function(element: _Element, depth: int) -> str:
    argument = _part(element, "e", depth).strip()
    space = "" if argument[:1] in "([{" else " "
    return f"{_part(element, 'fName', depth).strip()}{space}{argument}"


def _limit(element: _Element, depth: int) -> str:
    sign = "_" if str(element.tag).endswith("limLow") else "^"
    return f"{_part(element, 'e', depth).strip()}{sign}{_group(_part(element, 'lim', depth))}"


def _matrix(element: _Element, depth: int) -> str:
    rows = [
        " & ".join(_inside(cell, depth) for cell in row.findall(f"{MATH}e")) for row in element.findall(f"{MATH}mr")
    ]
    return f"[{'; '.join(rows)}]"


def _lines(element: _Element, depth: int) -> str:
    return "; ".join(_inside(part, depth) for part in element.findall(f"{MATH}e"))


def _accent(element: _Element, depth: int) -> str:
    return _part(element, "e", depth) + _value(element, "accPr", "chr", "\u0302")


_FORMS = {
    **dict.fromkeys(("sSub", "sSup", "sSubSup"), _scripts),
    **dict.fromkeys(("limLow", "limUpp"), _limit),
    "f": _fraction,
    "sPre": _scripts_before,
    "rad": _root,
    "nary": _operator,
    "d": _brackets,
    "func": _function,
    "m": _matrix,
    "eqArr": _lines,
    "acc": _accent,
}

"""How many of one end belong to one of the other: read from the ends of lines and from what is written there."""

import re

from elt_llm_core.enterprise_model import Cardinality

_ARROWS: dict[str, Cardinality] = {
    "erone": "1",
    "ermandone": "1",
    "ermany": "*",
    "eronetomany": "1..*",
    "erzerotomany": "0..*",
    "erzerotoone": "0..1",
}
_WORDS: dict[str, Cardinality] = {
    **dict.fromkeys(("1", "1..1", "one", "exactly one"), "1"),
    **dict.fromkeys(("0..1", "0-1", "zero or one"), "0..1"),
    **dict.fromkeys(("*", "n", "m", "many"), "*"),
    **dict.fromkeys(("0..*", "0..n", "0..m", "0-*", "0-n", "zero or many"), "0..*"),
    **dict.fromkeys(("1..*", "1..n", "1..m", "1+", "one or many"), "1..*"),
}
_LONGEST = 30
_PAIR = re.compile(r"([^:/\u2013-]{1,12}?) ?(?:[:/\u2013-]|\bto\b) ?([^:/\u2013-]{1,12})")


def arrow_cardinality(arrow: str) -> Cardinality:
    """Of a line's end by the name of its arrow, such as ERzeroToMany; "" if it tells nothing."""
    return _ARROWS.get(arrow.lower(), "")


def label_cardinality(label: str) -> Cardinality:
    """Of a label such as `0..n` or `[1..*]`; "" if it is something else."""
    return _WORDS.get(_bare(label), "")


def pair_of_cardinalities(label: str) -> tuple[Cardinality, Cardinality] | None:
    """Source and target of a label such as `1:n` or `one to many`; None if it is something else."""
    match = _PAIR.fullmatch(_bare(label))
    if match is None:
        return None
    source, target = label_cardinality(match[1]), label_cardinality(match[2])
    return (source, target) if source and target else None


def _bare(label: str) -> str:
    """Without brackets, and nothing at all where it is too long to be a cardinality."""
    if len(label) > _LONGEST:
        return ""
    bare = " ".join(label.strip(" ()[]{}").lower().split())
    return bare.replace("...", "..").replace(" ..", "..").replace(".. ", "..")

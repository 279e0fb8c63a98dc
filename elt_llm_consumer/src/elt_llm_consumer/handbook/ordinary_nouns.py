"""Nouns that stand in rules of any kind and are nothing that a model would hold; English and German."""

from typing import Final

# Nouns of measure, manner and reference: they stand in rules of any kind and are nothing that a model would hold.
ORDINARY_NOUNS: Final = (
    *("day", "week", "month", "year", "hour", "minute", "time", "date", "morning", "evening", "afternoon", "noon"),
    *("case", "way", "part", "number", "reason", "purpose", "place", "thing", "kind", "type", "sort", "form of"),
    *("example", "order", "end", "beginning", "start", "side", "point", "line", "word", "sentence", "paragraph"),
    *("section", "chapter", "page", "figure", "use", "need", "fact", "matter", "question", "answer", "result"),
    *("effect", "amount", "rest", "half", "quarter", "third", "per cent", "percent", "total", "sum", "rate", "size"),
    *("length", "width", "height", "set", "group", "pair", "series", "range", "level", "degree", "extent", "respect"),
    *("manner", "means", "basis", "circumstance", "event that", "instance", "situation", "condition", "period"),
    *("detail", "information", "issue", "problem", "change", "difference", "advantage", "possibility", "ability"),
    *("right", "left", "top", "bottom", "front", "back", "outside", "inside", "middle", "lot", "bit", "item", "aspect"),
    *("attention", "account", "advance", "addition", "force", "favour", "absence", "presence", "behalf", "care"),
    *("something", "anything", "nothing", "everything", "everyone", "anyone", "someone", "nobody", "other", "person"),
    *("people", "subject", "above", "below", "following", "previous", "same", "doubt", "mind", "hand", "name"),
    *("note", "description"),
    *("value", "text", "content", "character", "letter", "age", "sex", "approach", "step", "idea", "option", "choice"),
    *("opportunity", "user need", "benefit", "chance", "risk", "interest", "sense", "view", "role", "area", "field"),
    *("access", "action", "behavior", "behaviour", "functionality", "consideration", "responsibility", "scope"),
    *("support", "portion", "mechanism", "function", "location", "structure", "development", "sense", "knowledge"),
    *("alternative", "exception", "existence", "argument", "extension", "invocation", "syntax", "understanding"),
    *("rule", "schedule", "annex", "appendix", "article", "clause", "room", "source", "output", "input", "work"),
    *("decision", "request", "look", "space", "world", "life", "good", "practice", "context", "environment"),
    *("tag", "zeit", "jahr", "monat", "woche", "fall", "weise", "teil", "zahl", "grund", "zweck", "absatz", "satz"),
)

"""What looks like a definition and is none, whatever pattern found it."""

import re

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.spans import one_line
from elt_llm_consumer.definitions.terms import term_key
from elt_llm_consumer.definitions.wording import PLACE
from elt_llm_consumer.sections.glossary import GlossarySection

_QUESTION = re.compile(r"[?]\W{0,3}$")
_NUMBERED = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,5}\.?\s")
_VARIABLE = re.compile(r"<[^<>]{1,80}>$")
_ONLY_NUMBERS = re.compile(r"[\W\d_]{1,200}$")
_RULE_NAME = re.compile(r"(?:[A-Z]{0,2}\d{1,3}(?:\.\d{1,3}){0,3}|\W{1,5}|(?:page|seite)\s\d{1,4})$", re.IGNORECASE)

# ""Month" is defined in the Interpretation Act." defines nothing here, "is defined in Rule A3" leads to a rule.
_ELSEWHERE = re.compile(
    r"(?:defined|set\s{1,9}out)\s{1,9}(?:in|by|under)\s{1,9}(?:the\s{1,9})?(?P<target>[^;!?\n]{1,120}?)[\s.]{0,9}$",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(?:is|are)\s{0,9}$", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"\s{1,9}of\s{1,9}(?!(?:this|these|our)\b|the\s{1,9}(?:handbook|document|manual|rules|code|policy|regulations)\b)"
)
_OURS = re.compile(r"(?:this|these|our)\s", re.IGNORECASE)


class Filters:
    """Keeps drafts that the settings want and that define something."""

    def __init__(self, layout: Layout, settings: GlossarySection) -> None:
        self._layout = layout
        self._settings = settings
        self._skipped = frozenset(term_key(term) for term in settings.skip_terms)

    def keep(self, draft: Draft) -> bool:
        """Whether a draft is a definition."""
        text = self._layout.text
        term, body = one_line(text[slice(*draft.term)]), one_line(text[slice(*draft.body)])
        settings = self._settings
        if (
            not term
            or len(term) > settings.longest_term
            or _RULE_NAME.match(term)
            or _ONLY_NUMBERS.match(term)
            or _VARIABLE.match(term)
        ):
            return False
        if not settings.shortest_definition <= len(body) <= settings.longest_definition:
            return False
        if _NUMBERED.match(term) and _NUMBERED.match(body):  # rows of contents
            return False
        if self._is_elsewhere(draft, body):
            return False
        if _ONLY_NUMBERS.match(body) or _QUESTION.search(term) or (_QUESTION.search(body) and draft.pattern != "table"):
            return False
        return term_key(term) not in self._skipped and term_key(term) != term_key(body)

    def _is_elsewhere(self, draft: Draft, body: str) -> bool:
        """Whether all that is said is that a text defines the term which is not among those that are read."""
        found = _ELSEWHERE.match(body)
        before = self._layout.text[max(0, draft.body[0] - 12) : draft.body[0]]
        if found is None or not _IS.search(before):
            return False
        target = found["target"]
        place = PLACE.match(target)
        if place is not None and any(map(str.isdigit, place[1])):
            return _OF_OTHERS.search(target) is not None
        titles = (fold(section.title) for section in self._layout.document.outline.sections)
        return not _OURS.match(target) and not any(title.endswith(fold(target)) for title in titles)

"""Understanding a question before it is searched for, with all that the collections asked tell about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from elt_llm_core.settings import QuerySettings

from elt_llm_query.filters import Condition
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.wording import OtherNames, Wording
from elt_llm_query.understand import Question, QuestionReader
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.understanding.dates import dates_of, years_of
from elt_llm_query.understanding.intent import asked_language, intent_of
from elt_llm_query.understanding.likeness import keyword_likeness
from elt_llm_query.understanding.named import AliasIndex
from elt_llm_query.understanding.spelling import AllowedNodes, Correction, Speller, all_nodes, corrected
from elt_llm_query.understanding.suggested import Suggestions


@dataclass(frozen=True)
class Understood:
    """What is made of a question. `text` is what is searched for: the question with mistyped words put right."""

    text: str
    language: str
    question: Question
    likeness: float
    names: tuple[OtherNames, ...] = ()
    corrections: tuple[Correction, ...] = ()
    suggested: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each word that was taken for another."""
        return tuple(
            f"No document has the word '{one.typed}'; '{one.meant}' was looked for instead." for one in self.corrections
        )

    def details(self) -> dict[str, Any]:
        """For the trace."""
        asked = self.question
        return {
            "language": self.language,
            "intent": intent_of(asked, self.language),
            "expects": asked.expects,
            "entities": list(asked.names),
            "years": list(years_of(asked.text)),
            "dates": list(dates_of(asked.text)),
            "numbers": list(asked.numbers),
            "keyword likeness": self.likeness,
            "corrected": {one.typed: one.meant for one in self.corrections},
            "aliases": {held.name: list(held.others) for held in self.names},
            "could be narrowed with --where": list(self.suggested),
        }


class Understanding:
    """Understands the questions that are put to some generations; built once, safe to share between threads."""

    def __init__(self, generations: Sequence[Searchable], query: QuerySettings, aliases: Aliases = NO_ALIASES) -> None:
        languages = tuple(dict.fromkeys(one.keyword.tokeniser.language for one in generations))
        self._aliases = AliasIndex(aliases, generations)
        self._speller = Speller(generations, languages, aliases.words)
        self._suggestions = Suggestions(generations) if query.filters_from_question != "off" else None
        self._reader = QuestionReader()
        self._tokenisers = tuple(one.keyword.tokeniser for one in generations)

    def of(self, text: str, conditions: Sequence[Condition] = (), allowed: AllowedNodes = all_nodes) -> Understood:
        """What is made of a question, whose white space is in order, that is asked under these conditions.

        Mistyped words are only taken for those of nodes that `allowed` returns masks of; it is called if there are any.
        """
        asked = self._reader.read(text)
        language = asked_language(text, asked.language)
        corrections = self._speller.corrections(text, language, allowed)
        question = self._reader.read(corrected(text, corrections)) if corrections else asked
        taken = frozenset(one.field for one in conditions)
        return Understood(
            text=question.text,
            language=language,
            question=question,
            likeness=keyword_likeness(question),
            names=self._aliases.in_question(question.text),
            corrections=corrections,
            suggested=self._suggestions.of(question.text, taken) if self._suggestions else (),
        )

    def worded(self, wording: Wording) -> Wording:
        """A way to put the question with the other names of what it names, and how far it is keywords."""
        also, names = list(wording.also), []
        for held in self._aliases.in_question(wording.keywords):
            if any(each.stems(held.name) for each in self._tokenisers):
                names.append(held)
            else:  # a small word otherwise, which is not looked for: its first other name stands for it
                also.append(held.others[0])
                names += [OtherNames(held.others[0], held.others[1:])] if held.others[1:] else []
        return replace(
            wording, also=tuple(also), names=tuple(names), likeness=keyword_likeness(self._reader.read(wording.text))
        )

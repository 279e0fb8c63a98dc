"""Which questions a measurement of refusals asks, and what is right: of a labelled set, or of a collection itself."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from elt_llm_core.store.records import sha256

from elt_llm_query.answer.extractive import Answer
from elt_llm_query.evaluate.datasets import Dataset, read_answers, read_unanswerable
from elt_llm_query.evaluate.own_questions import OwnQuestion, Place
from elt_llm_query.evaluate.quoting import ANSWERABLE, FOREIGN, TAKEN_OUT, UNANSWERABLE, Posed


def posed_of_set(dataset: Dataset, directory: Path) -> list[Posed]:
    """Its judged questions and, where it has any, its unanswerable ones.

    Right is an answer with one of the question's answers in it; for a question without, one that cites a document
    judged relevant.
    """
    answers = read_answers(directory)
    answerable = [
        Posed(identity, text, ANSWERABLE, _right(answers.get(identity, ()), grades))
        for identity, text, grades in dataset.identified()
    ]
    unanswerable = read_unanswerable(directory)
    return answerable + [Posed(identity, text, UNANSWERABLE) for identity, text in unanswerable.items()]


def posed_of_own(questions: Sequence[OwnQuestion]) -> list[Posed]:
    """Each question as it is and again with its documents taken out; right is an answer from one of its places."""
    posed: list[Posed] = []
    for number, question in enumerate(questions, 1):
        identity, documents = f"own-{number:04}", {place.document_id for place in question.places}
        posed.append(Posed(identity, question.text, ANSWERABLE, _from_places(question.places)))
        posed.append(Posed(f"{identity}-without", question.text, TAKEN_OUT, without=documents))
    return posed


def posed_foreign(questions: Iterable[str]) -> list[Posed]:
    """Questions that are none of the collection's business, each once."""
    return [Posed(f"foreign-{number:04}", text, FOREIGN) for number, text in enumerate(dict.fromkeys(questions), 1)]


def drawn(posed: Sequence[Posed], number: int | None, seed: int) -> list[Posed]:
    """At most `number` of each kind, the same for the same seed, in their order; all of them if there is no number."""
    if number is None:
        return list(posed)
    order = sorted(posed, key=lambda one: sha256(str(seed), one.kind, one.identity))
    kept = {one.identity for kind in {one.kind for one in posed} for one in _first(order, kind, number)}
    return [one for one in posed if one.identity in kept]


def holds_answer(text: str, answers: Collection[str]) -> bool:
    """Whether a text has one of the answers in it, letter by letter but for case and white space."""
    said = _plain(text)
    return any(_plain(answer) in said for answer in answers)


def _right(answers: Collection[str], grades: Mapping[str, int]) -> Callable[[Answer], bool]:
    if answers:
        return lambda answer: holds_answer(answer.text, answers)
    return lambda answer: any(citation.source in grades for citation in answer.citations)


def _from_places(places: Sequence[Place]) -> Callable[[Answer], bool]:
    return lambda answer: any(place.is_in(it.source_id, *it.span) for place in places for it in answer.citations)


def _first(order: Iterable[Posed], kind: str, number: int) -> list[Posed]:
    return [one for one in order if one.kind == kind][:number]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()

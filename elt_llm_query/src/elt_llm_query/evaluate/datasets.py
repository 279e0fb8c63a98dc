"""Labelled retrieval sets in the BEIR layout: corpus.jsonl, queries.jsonl and qrels.tsv in one folder.

Source of the layout: Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information
Retrieval Models", NeurIPS Datasets and Benchmarks 2021.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UsageError

from elt_llm_query.retrieve.pipeline import understand

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
UNANSWERABLE = "queries_unanswerable.jsonl"
QRELS_HEADER = ("query-id", "corpus-id", "score")
HIGHEST_GRADE = 1000
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
LAYOUT_HINT = "A dataset is a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv."


@dataclass(frozen=True)
class CorpusDocument:
    """One document to be found."""

    corpus_id: str
    title: str
    text: str

    @property
    def content(self) -> str:
        """Title and text as one document."""
        return f"{self.title}\n\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Dataset:
    """A set of questions with the documents that answer them."""

    name: str
    documents: tuple[CorpusDocument, ...]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]

    def judged(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Each question that has a relevant document, with the grade of each such document (1 or more)."""
        return ((text, grades) for _, text, grades in self.identified())

    def identified(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """As `judged`, each preceded by the question's id."""
        for query_id, text in self.questions.items():
            grades = {corpus_id: grade for corpus_id, grade in self.relevant.get(query_id, {}).items() if grade > 0}
            if grades:
                yield query_id, text, grades


def read_dataset(directory: Path) -> Dataset:
    """Read a set. Raises UsageError, naming file and line, if it is not in the layout or names an unknown id."""
    documents = tuple(_read_corpus(directory / CORPUS))
    questions = read_questions(directory / QUERIES)
    known = {document.corpus_id for document in documents}
    relevant = _read_judgements(directory / QRELS, questions.keys(), known)
    dataset = Dataset(directory.resolve().name, documents, questions, relevant)
    if not any(dataset.judged()):
        raise UsageError(f"{directory / QRELS} judges no document relevant for any question.", hint=LAYOUT_HINT)
    return dataset


def read_unanswerable(directory: Path) -> dict[str, str]:
    """Questions by id that the set's documents do not answer, of a file it may have. Raises UsageError."""
    path = directory / UNANSWERABLE
    return read_questions(path) if path.exists() else {}


def read_answers(directory: Path) -> dict[str, tuple[str, ...]]:
    """By question, any of the words that answer it: `metadata.answers` or `metadata.answer`; often there are none.

    Raises UsageError for an answer that is no text or empty.
    """
    found: dict[str, tuple[str, ...]] = {}
    for place, row in _json_lines(directory / QUERIES):
        metadata = row.get("metadata")
        told = metadata if isinstance(metadata, dict) else {}
        answers = told.get("answers", [told["answer"]] if "answer" in told else [])
        if not isinstance(answers, list) or not all(isinstance(one, str) and one.strip() for one in answers):
            raise UsageError(f"{place}: 'answers' is not a list of texts.", hint='Write {"answers": ["1971"]}.')
        if answers:
            found[_text(place, row, "_id")] = tuple(answers)
    return found


def _read_corpus(path: Path) -> Iterator[CorpusDocument]:
    seen: set[str] = set()
    for place, row in _json_lines(path):
        corpus_id = _text(place, row, "_id")
        if corpus_id in seen:
            raise UsageError(f"{place}: document '{corpus_id}' occurs twice.")
        seen.add(corpus_id)
        title = _text(place, row, "title") if row.get("title") is not None else ""
        yield CorpusDocument(corpus_id, title, _text(place, row, "text"))


def read_questions(path: Path) -> dict[str, str]:
    """Questions by id, in order. Raises UsageError, naming file and line."""
    questions: dict[str, str] = {}
    for place, row in _json_lines(path):
        query_id = _text(place, row, "_id")
        if query_id in questions:
            raise UsageError(f"{place}: question '{query_id}' occurs twice.")
        questions[query_id] = _asked(place, query_id, _text(place, row, "text"))
    return questions


def _asked(place: str, query_id: str, text: str) -> str:
    """The question, unless retrieval would refuse it: better now than after an hour of embedding."""
    try:
        understand(text)
    except UsageError as error:
        raise UsageError(f"{place}: question '{query_id}' cannot be asked. {error}", hint=LAYOUT_HINT) from error
    return text


def _read_judgements(path: Path, questions: Collection[str], documents: Collection[str]) -> dict[str, dict[str, int]]:
    relevant: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if number == 1 and cells == QRELS_HEADER:
            continue
        place = f"{path}:{number}"
        if len(cells) != len(QRELS_HEADER):
            raise UsageError(f"{place}: expected {', '.join(QRELS_HEADER)} between tabs, found {len(cells)} cells.")
        query_id, corpus_id, score = cells
        if query_id not in questions:
            raise UsageError(f"{place}: question '{query_id}' is not in {QUERIES}.")
        if corpus_id not in documents:
            raise UsageError(f"{place}: document '{corpus_id}' is not in {CORPUS}.")
        relevant.setdefault(query_id, {})[corpus_id] = _grade(place, score)
    return relevant


def _grade(place: str, score: str) -> int:
    try:
        grade = int(score)
    except ValueError as error:
        raise UsageError(f"{place}: the score is '{score[:40]}', not a whole number.") from error
    if abs(grade) > HIGHEST_GRADE:
        raise UsageError(f"{place}: the score is {score[:40]}; {HIGHEST_GRADE} is the highest.")
    return grade


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in _lines(path):
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place}: not JSON ({error}).", hint=LAYOUT_HINT) from error
        if not isinstance(row, dict):
            raise UsageError(f"{place}: not a JSON object.", hint=LAYOUT_HINT)
        yield place, row


def _text(place: str, row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or (key == "_id" and not value):
        raise UsageError(f"{place}: '{key}' is missing or not a text.", hint=LAYOUT_HINT)
    if HALF_CHARACTER.search(value):
        raise UsageError(f"{place}: '{key}' holds half of a character (a lone surrogate).", hint=LAYOUT_HINT)
    return value


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint=LAYOUT_HINT) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error.reason}.", hint=LAYOUT_HINT) from error

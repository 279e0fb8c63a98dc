"""Evaluation sets: BEIR folders (corpus.jsonl, queries.jsonl, qrels.tsv) and files of labelled questions.

Source of the folder layout: Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information
Retrieval Models", NeurIPS Datasets and Benchmarks 2021.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UsageError

from elt_llm_query.search import normalise_question

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
UNANSWERABLE = "queries_unanswerable.jsonl"
QRELS_HEADER = ("query-id", "corpus-id", "score")
HIGHEST_GRADE = 1000
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
LAYOUT_HINT = "A dataset is a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv."


@dataclass(frozen=True)
class CorpusDocument:
    """One document of the corpus of a labelled dataset."""

    corpus_id: str
    title: str
    text: str


@dataclass(frozen=True)
class Dataset:
    """A corpus, questions, and for each question the relevant documents with their grades."""

    name: str
    documents: tuple[CorpusDocument, ...]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]

    def identified(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """Yield the id, the text and the relevant documents (with grades) of each question that has any."""
        for query_id, text in self.questions.items():
            grades = {corpus_id: grade for corpus_id, grade in self.relevant.get(query_id, {}).items() if grade > 0}
            if grades:
                yield query_id, text, grades


def read_dataset(directory: Path) -> Dataset:
    """Read a dataset. Raises UsageError, which names the file and line, for a wrong format or an unknown id."""
    documents = tuple(
        CorpusDocument(
            identity, _text(where, row, "title") if row.get("title") is not None else "", _text(where, row, "text")
        )
        for where, identity, row in _identified_rows(directory / CORPUS, "document")
    )
    questions = read_questions(directory / QUERIES)
    known = {document.corpus_id for document in documents}
    relevant = _read_judgements(directory / QRELS, questions.keys(), known)
    dataset = Dataset(directory.resolve().name, documents, questions, relevant)
    if not any(dataset.identified()):
        raise UsageError(f"{directory / QRELS} marks no document as relevant to a question.", hint=LAYOUT_HINT)
    return dataset


def read_unanswerable(directory: Path) -> dict[str, str]:
    """Read the unanswerable questions of a dataset, by id. Without such a file there are none. Raises UsageError."""
    path = directory / UNANSWERABLE
    return read_questions(path) if path.exists() else {}


def read_answers(directory: Path) -> dict[str, tuple[str, ...]]:
    """Read the accepted answers to each question from its `metadata`. Raises UsageError for an answer without text."""
    answers_of: dict[str, tuple[str, ...]] = {}
    for where, row in _json_lines(directory / QUERIES):
        metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
        answers = metadata.get("answers", [metadata["answer"]] if "answer" in metadata else [])
        if not isinstance(answers, list) or not all(isinstance(one, str) and one.strip() for one in answers):
            raise UsageError(f"{where}: 'answers' is not a list of texts.", hint='Write {"answers": ["1971"]}.')
        if answers:
            answers_of[_text(where, row, "_id")] = tuple(answers)
    return answers_of


def read_questions(path: Path) -> dict[str, str]:
    """Read questions by id, in order. Raises UsageError, naming file and line."""
    questions: dict[str, str] = {}
    for where, query_id, row in _identified_rows(path, "question"):
        questions[query_id] = text = _text(where, row, "text")
        try:
            normalise_question(text)  # refuse a bad question now, not after an hour of embedding
        except UsageError as error:
            raise UsageError(f"{where}: question '{query_id}' cannot be asked. {error}", hint=LAYOUT_HINT) from error
    return questions


def _read_judgements(path: Path, questions: Collection[str], documents: Collection[str]) -> dict[str, dict[str, int]]:
    relevant: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if number == 1 and cells == QRELS_HEADER:
            continue
        where = f"{path}:{number}"
        if len(cells) != len(QRELS_HEADER):
            raise UsageError(
                f"{where}: the line has {len(cells)} cells instead of {', '.join(QRELS_HEADER)}, separated by tabs."
            )
        query_id, corpus_id, score = cells
        if query_id not in questions:
            raise UsageError(f"{where}: question '{query_id}' is not in {QUERIES}.")
        if corpus_id not in documents:
            raise UsageError(f"{where}: document '{corpus_id}' is not in {CORPUS}.")
        try:
            grade = relevant.setdefault(query_id, {})[corpus_id] = int(score)
        except ValueError as error:
            raise UsageError(f"{where}: the score is '{score[:40]}', not a whole number.") from error
        if abs(grade) > HIGHEST_GRADE:
            raise UsageError(f"{where}: the score is {score[:40]}; {HIGHEST_GRADE} is the highest.")
    return relevant


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in _lines(path):
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where}: the line is not JSON ({error}).", hint=LAYOUT_HINT) from error
        if not isinstance(row, dict):
            raise UsageError(f"{where}: the line is not a JSON object.", hint=LAYOUT_HINT)
        yield where, row


def _identified_rows(path: Path, noun: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the position (file and line), id and content of each row. Raises UsageError if an id is repeated."""
    seen: set[str] = set()
    for where, row in _json_lines(path):
        identity = _text(where, row, "_id")
        if identity in seen:
            raise UsageError(f"{where}: {noun} '{identity}' occurs twice.")
        seen.add(identity)
        yield where, identity, row


def _text(where: str, row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or (key == "_id" and not value):
        raise UsageError(f"{where}: '{key}' is missing or not a text.", hint=LAYOUT_HINT)
    if HALF_CHARACTER.search(value):
        raise UsageError(f"{where}: '{key}' contains half of a character (a lone surrogate).", hint=LAYOUT_HINT)
    return value


def _lines(path: Path, hint: str = LAYOUT_HINT) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error.reason}.", hint=hint) from error


ANSWERABLE = "answerable"
FORM = 'Each line is JSON: {"id", "question", "kind", "answer", "gold": [{"document", "page", "sentence"}]}.'


@dataclass(frozen=True)
class GoldPlace:
    """A sentence that contains the answer or a part of it. `page` is None if the file has no pages."""

    document: str
    page: int | None
    sentence: str


@dataclass(frozen=True)
class LabelledQuestion:
    """A question with its gold sentences; `kind` is `answerable`, or the reason why there is no answer."""

    identity: str
    question: str
    kind: str
    gold: tuple[GoldPlace, ...]

    @property
    def answerable(self) -> bool:
        """Whether the documents contain the answer."""
        return self.kind == ANSWERABLE


def read_labelled_questions(path: Path) -> list[LabelledQuestion]:
    """Read a file of labelled questions. Raises UsageError, which names the line, if a line is malformed."""
    questions = [_question(f"{path}:{number}", line) for number, line in _lines(path, FORM)]
    if not questions:
        raise UsageError(f"{path} contains no question.", hint=FORM)
    return questions


def _question(where: str, line: str) -> LabelledQuestion:
    try:
        row: dict[str, Any] = json.loads(line)
        gold = tuple(GoldPlace(item["document"], item["page"], item["sentence"]) for item in row["gold"])
        if not all(isinstance(row[key], str) for key in ("question", "kind")):
            raise TypeError("'question' and 'kind' must be texts")
        question = LabelledQuestion(str(row["id"]), row["question"], row["kind"], gold)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{where}: the line is not a labelled question ({error!r}).", hint=FORM) from error
    try:
        normalise_question(question.question)
    except UsageError as error:
        raise UsageError(f"{where}: the question cannot be asked. {error}", hint=FORM) from error
    if question.answerable != bool(gold):
        raise UsageError(
            f"{where}: an answerable question needs gold sentences; an unanswerable one must not have any.", hint=FORM
        )
    return question

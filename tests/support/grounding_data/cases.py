"""Altered and correctly paraphrased sentences of a dataset's paragraphs, each with the chunks to compare it with."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.sentences import sentence_spans
from grounding_data.altered_text import another_name, another_number, names_exchanged, names_in, negated
from grounding_data.honest_rewrites import rewrites, statement
from retrieval.chunks import make_chunk

_SOURCES = 6
_SHORTEST, _LONGEST = 7, 40
_UNTOUCHED = frozenset({"introduced"})


@dataclass(frozen=True)
class GroundingCase:
    """A sentence, whether its chunks support it, how it was made, and those chunks."""

    text: str
    honest: bool
    kind: str
    sources: tuple[RetrievedChunk, ...]


def grounding_cases(folder: Path, random: Random) -> list[GroundingCase]:
    """Every case that can be made from the sentences that hold an answer, in random order."""
    paragraphs, titles = _paragraphs(folder)
    questions = _questions(folder)
    random.shuffle(questions)
    found: list[GroundingCase] = []
    for question, answer, paragraph in questions:
        if paragraph not in paragraphs:
            continue
        sources = _around(paragraph, paragraphs, titles)
        found.extend(_cases(question, answer, sources, random))
    return found


def sample(cases: Sequence[GroundingCase], count: int, *, honest: bool, random: Random) -> list[GroundingCase]:
    """Return about `count` cases, evenly distributed over the kinds."""
    by_kind: dict[str, list[GroundingCase]] = defaultdict(list)
    for case in cases:
        if case.honest is honest and case.kind not in _UNTOUCHED:
            by_kind[case.kind].append(case)
    share = -(-count // len(by_kind))
    return [case for kind in sorted(by_kind) for case in random.sample(by_kind[kind], min(share, len(by_kind[kind])))]


def foreign_sentences(folder: Path, title: str) -> list[str]:
    """Return sentences of the paragraphs under other titles."""
    paragraphs, titles = _paragraphs(folder)
    texts = [text for name, text in paragraphs.items() if titles[name] != title]
    return [
        sentence
        for text in texts
        for start, end in sentence_spans(text)
        if _SHORTEST <= len((sentence := text[start:end]).split()) <= _LONGEST
    ]


def _cases(question: str, answer: str, sources: tuple[RetrievedChunk, ...], random: Random) -> Iterator[GroundingCase]:
    text = sources[0].text
    spans = sentence_spans(text)
    for position, (start, end) in enumerate(spans):
        sentence = " ".join(text[start:end].split())
        if answer not in sentence or not _SHORTEST <= len(sentence.split()) <= _LONGEST:
            continue
        following = " ".join(text[slice(*spans[position + 1])].split()) if position + 1 < len(spans) else ""
        make = partial(GroundingCase, sources=sources)
        for kind, altered in _altered(sentence, text, random).items():
            yield make(altered, honest=False, kind=kind)
        for kind, reworded in rewrites(sentence, following, sources[0].source_title, random).items():
            yield make(reworded, honest=True, kind=kind)
        if claim := statement(question, answer):
            yield make(claim, honest=True, kind="statement")
        return


def _altered(sentence: str, text: str, random: Random) -> dict[str, str]:
    near = [name.group() for name in names_in(text) if name.group() not in sentence]
    made = {
        "number": another_number(sentence, random),
        "name": another_name(sentence, near, random),
        "negation": negated(sentence, random),
        "exchanged": names_exchanged(sentence, random),
    }
    return {kind: altered for kind, altered in made.items() if altered and altered != sentence}


def _around(paragraph: str, paragraphs: dict[str, str], titles: dict[str, str]) -> tuple[RetrievedChunk, ...]:
    """Return the paragraph and the paragraphs that follow it under the same title, as chunks."""
    same = [name for name in paragraphs if titles[name] == titles[paragraph]]
    place = same.index(paragraph)
    chosen = [paragraph, *(same[place + 1 :] + same[:place])[: _SOURCES - 1]]
    return tuple(
        make_chunk(paragraphs[name], name, context=titles[name]).model_copy(update={"source_title": titles[name]})
        for name in chosen
    )


def _paragraphs(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    lines = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    return {line["_id"]: line["text"] for line in lines}, {line["_id"]: line["title"] for line in lines}


def _questions(folder: Path) -> list[tuple[str, str, str]]:
    """Yield each question, its first answer, and the paragraph that contains the answer."""
    judged: dict[str, str] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        fields = [field for field in line.split("\t") if field != "Q0"]
        judged.setdefault(fields[0], fields[1])
    lines = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        (line["text"], line["metadata"]["answers"][0], judged[line["_id"]])
        for line in lines
        if line["metadata"].get("answers") and line["_id"] in judged
    ]

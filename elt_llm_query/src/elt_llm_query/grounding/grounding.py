"""Ground a written answer: compare each sentence with the chunks and give a verdict with citations.

The answer need not contain quotes or citations: this module finds the best source for each sentence, and marks
sentences that the chunks do not support or even contradict.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import Citation, RetrievedChunk
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_core.text.stems import KeywordTokeniser
from numpy.typing import NDArray

from elt_llm_query.grounding.citations import AnswerStatement, Quote, move_marks_inside, number_quotes, split_statements
from elt_llm_query.grounding.claims import (
    Alignment,
    AlignmentSlot,
    ContradictionFinder,
    ParsedSentence,
    SentenceToken,
    align_claim,
    exchange_score,
    parse_sentence,
    roles_swapped,
)
from elt_llm_query.grounding.rules import compare_rules
from elt_llm_query.grounding.sentences import (
    embed_truncated,
    match_term,
    sentence_candidates,
    split_table_rows,
    strip_markup,
)
from elt_llm_query.retrieve.query_variant import stem_weight
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import question_language

_CAPITALISED = re.compile(r"(?<=[a-zß-ÿ,;] )[A-ZÀ-Þ][\w'\u2019-]{1,60}")
_LOWER = re.compile(r"(?<![\w'\u2019-])[a-zß-ÿ][\w'\u2019-]{1,60}")
_PATTERNS = PatternFile(__file__)
_GERMAN_NOUN = re.compile(r"(?:ung|heit|keit|schaft|tion|tat|ismus|nis|ment|ungen|heiten|keiten|tionen)$")


@dataclass(frozen=True)
class SourceSentence:
    """A sentence at start:end of a chunk, with the words of two sentences `before` it and of the headings `over` it.

    `is_item` is true for an item of a list, whose `sentence` starts with the words that introduce the list.
    """

    chunk: int
    start: int
    end: int
    sentence: ParsedSentence
    before: frozenset[str]
    over: frozenset[str]
    is_item: bool = False


class SourceIndex:
    """All sentences of the chunks. Also decides which words are names, and how much weight a word has."""

    def __init__(self, chunks: Sequence[RetrievedChunk], tokeniser: KeywordTokeniser, *, german: bool) -> None:
        self.chunks = chunks
        self.tokeniser = tokeniser
        self.german = german
        whole = " ".join(f"{chunk.source_title} {chunk.context} {chunk.text}" for chunk in chunks)
        self._common = {fold(one.group()) for one in _LOWER.finditer(whole)}
        self._capitalised = {fold(one.group()) for one in _CAPITALISED.finditer(whole)}
        self._nouns = {fold(one.group(1)) for one in _PATTERNS["determined"].finditer(whole)} if german else set[str]()
        self.sentences = [one for number, chunk in enumerate(chunks) for one in self._of_chunk(number, chunk)]
        self._frequency = Counter(stem for one in self.sentences for stem in one.sentence.stems)
        self.stems = frozenset(self._frequency)

    def read(self, text: str) -> ParsedSentence:
        """Parse a text. Words that are names in these chunks count as names."""
        return parse_sentence(text, self.tokeniser, self._is_name)

    def weight(self, stem: str) -> float:
        """Return the inverse document frequency of a stem among the sentences, above 0."""
        return 0.2 + stem_weight(len(self.sentences), self._frequency[stem])

    def _is_name(self, word: str, at_start: bool) -> bool:
        """Return whether a capitalised word is a name, not a German noun or merely the first word of a sentence."""
        folded = fold(word)
        if not self.tokeniser.stems(word) and not word.isupper():
            return False
        if self.german:
            return folded not in self._nouns and folded not in self._common and not _GERMAN_NOUN.search(folded)
        if not at_start:
            return len(word) > 1
        return (folded in self._capitalised and folded not in self._common) or (word.isupper() and len(word) > 1)

    def _of_chunk(self, number: int, chunk: RetrievedChunk) -> list[SourceSentence]:
        over = frozenset(fold(f"{chunk.source_title} {chunk.context} {chunk.section or ''}").replace("-", " ").split())
        candidates = sentence_candidates([chunk])
        leads = {(one.start, one.end): one for one in candidates if one.kind != "prose" or one.under_question}
        sentences: list[SourceSentence] = []
        # Each table row is a sentence of its own: if rows were joined, any of their numbers could support a claim.
        spans = (line for span in sentence_spans(chunk.text) for line in split_table_rows(chunk.text, span))
        for start, end in sorted({*spans, *leads}):
            lead = leads.get((start, end))
            sentence = self.read(lead.readable_with_question if lead else strip_markup(chunk.text[start:end]))
            if sentence.tokens:
                before = frozenset[str]().union(*(one.sentence.words for one in sentences[-2:]))
                is_item = lead is not None and lead.kind == "item"
                sentences.append(SourceSentence(number, start, end, sentence, before, over, is_item))
        return sentences


_DEFINITE, _PRONOUNS = map(_PATTERNS.words, ("definite", "pronouns"))


@dataclass(frozen=True)
class ClaimComparison:
    """The comparison of a claim with source sentences: how much of the claim they contain, and what differs."""

    sentences: tuple[SourceSentence, ...]
    coverage: float  # weighted share of the claim's words, without names and numbers, in the sentences
    elsewhere: float  # weighted share of these words that occurs only in other sentences
    numbers: tuple[str, ...]  # numbers of the claim that the sentences lack
    names: tuple[str, ...]  # names of the claim that neither the sentences nor the text around them contain
    borrowed: tuple[str, ...]  # names of the claim that only the preceding sentences or the headings contain
    contrary: tuple[str, ...]  # words with an antonym in the sentences, and words negated on one side only
    other_force: tuple[str, ...]  # "may" where the sentences state "must", or vice versa
    exchanged: float  # the greatest `exchange_score`
    swapped: bool  # whether two names have changed roles
    replaced: tuple[AlignmentSlot, ...]  # places where the first sentence contains another name, number or noun
    traded: int  # number of names only in the claim, or only in the first sentence, whichever is smaller


def _has_name(words: frozenset[str], stems: frozenset[str], token: SentenceToken) -> bool:
    same_stem = any(match_term(stem, stems) for stem in token.stems)
    return token.word in words or same_stem or any(_same_root(token.word, word) for word in words)


def _is_of_another_item(slot: AlignmentSlot, sentences: Sequence[SourceSentence]) -> bool:
    """Return whether a claim that joins items of a list has words of the second or a later item at this place."""
    joined = len(sentences) > 1 and all(one.is_item for one in sentences) and not any(token.name for token in slot.ours)
    stems = frozenset[str]().union(*(one.sentence.stems for one in sentences[1:])) if joined else frozenset[str]()
    return joined and all(match_term(stem, stems) for token in slot.ours for stem in token.stems)


def _lacking_names(one: ParsedSentence, other: ParsedSentence) -> int:
    return sum(not _has_name(other.words, other.stems, token) for token in one.names)


def _same_root(left: str, right: str) -> bool:
    """Return whether two words have a long common prefix and differ only in short endings: "manage", "manager"."""
    shorter, longer = sorted((left, right), key=len)
    needed = max(4, len(shorter) - 3)
    return len(shorter) >= 4 and longer[:needed] == shorter[:needed] and len(longer) - len(shorter) <= 4


def _spelled_out(token: SentenceToken, text: str) -> bool:
    """Return whether a text contains the full form of an abbreviation: successive words with these initials."""
    letters = r"\w*\W{1,3}(?:of |the |and )?".join(re.escape(letter) for letter in token.word if letter.isalpha())
    return bool(letters) and len(token.word) <= 6 and bool(re.search(rf"\b{letters}", fold(text)))


def _abbreviated(token: SentenceToken, claim: ParsedSentence, source: ParsedSentence) -> bool:
    """Return whether the source contains the abbreviation of the name that includes this token, such as UN."""
    tokens = claim.tokens
    first = last = tokens.index(token)
    while first > 0 and tokens[first - 1].name:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].name:
        last += 1
    initials = "".join(one.word[0] for one in tokens[first : last + 1])
    return len(initials) > 1 and any(one.word.replace(".", "") == initials for one in source.tokens)


# A logistic regression on sentences whose meaning was altered or kept, see docs/decisions/0020-grounding.md.
_WEIGHTS = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
INTERCEPT: Final[float] = _WEIGHTS["intercept"]
WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(_WEIGHTS["weights"])
_COMPARED = 6  # sentences that are embedded: those with the most words of a claim
_ALONE = 3  # sentences, among these, that are compared in detail
_MOST_TOGETHER = 6  # sentences that may support a claim together
_GAIN, _GAIN_ELSEWHERE = 0.12, 0.25  # coverage that a further sentence of the same or of another chunk must add
_RELEVANT = 0.25  # coverage of the claim above which a sentence can contradict it
_OFTEN = 2  # more missing numbers or names than this do not change the feature
_OTHER_FORCE = 0.7  # the feature `contrary` for "may" in place of "must", which is less than an antonym


@dataclass(frozen=True)
class ClaimSupport:
    """The support for a claim: comparison with the best sentences, its features, and the chance they give, 0 to 1."""

    comparison: ClaimComparison
    features: dict[str, float]
    chance: float


class SupportFinder:
    """Finds the sentences, one or several together, that best support a claim. Each text is embedded once."""

    def __init__(self, sources: SourceIndex, embedding: EmbeddingModel, contraries: ContradictionFinder) -> None:
        self._sources = sources
        self._contraries = contraries
        self._embedding = embedding
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def support(self, text: str, chunk: int | None = None) -> ClaimSupport | None:
        """Find the best support for a claim, in all chunks or in one.

        Returns None if there is no sentence to compare or the claim contains no word. At most six sentences of one
        chunk are combined, or two of two chunks if no single sentence supports the claim.
        """
        claim = self._sources.read(text)
        within = [one for one in self._sources.sentences if chunk in {None, one.chunk}]
        ranked = self._ranked(claim, within)
        if not ranked or not claim.tokens:
            return None
        options = [self._option(claim, [one]) for _, one in ranked[:_ALONE]]
        together = [ranked[0][1]]
        while len(together) < _MOST_TOGETHER and (further := self._further(claim, together, within)):
            together.append(further)
            options.append(self._option(claim, together))
        nearest = min(features["distance"] for _, features in options)
        supports = []
        for comparison, features in options:
            features["behind"] = features["distance"] - nearest
            logit = INTERCEPT + sum(weight * features[name] for name, weight in WEIGHTS.items())
            supports.append(ClaimSupport(comparison, features, 1.0 / (1.0 + math.exp(-logit))))
        alone = max(supports[: min(_ALONE, len(ranked))], key=lambda one: one.chance)
        best = max(supports, key=lambda one: one.chance)
        crosses_chunks = len({one.chunk for one in best.comparison.sentences}) > 1
        return alone if crosses_chunks and alone.chance >= _ENOUGH else best

    def _ranked(self, claim: ParsedSentence, within: Sequence[SourceSentence]) -> list[tuple[float, SourceSentence]]:
        covered = [(self._coverage(claim, one.sentence.stems), one) for one in within]
        best = sorted(covered, key=lambda one: -one[0])[:_COMPARED]
        self._embed([claim.text, *(one.sentence.text for _, one in best)])
        near = [(coverage + self._cosine(claim.text, one.sentence.text), one) for coverage, one in best]
        return sorted(near, key=lambda one: -one[0])

    def _further(
        self, claim: ParsedSentence, together: Sequence[SourceSentence], within: Sequence[SourceSentence]
    ) -> SourceSentence | None:
        """Return the sentence with most claim words that those of `together` lack, if any.

        One of the same chunk comes first; a third one and further ones are only taken from the chunk of the others.
        """
        stems = frozenset[str]().union(*(one.sentence.stems for one in together))
        already, chunks = self._coverage(claim, stems), {one.chunk for one in together}
        fitting = []
        for one in within:
            gain = self._coverage(claim, stems | one.sentence.stems) - already
            if one not in together and gain > (_GAIN if chunks == {one.chunk} else _GAIN_ELSEWHERE):
                fitting.append((gain, one))
        beside = [(gain, one) for gain, one in fitting if chunks == {one.chunk}]
        if not beside and len(together) > 1:
            return None
        return max(beside or fitting, key=lambda one: one[0])[1] if fitting else None

    def _option(
        self, claim: ParsedSentence, sentences: Sequence[SourceSentence]
    ) -> tuple[ClaimComparison, dict[str, float]]:
        compared = self._compare(claim, sentences)
        text = " ".join(one.sentence.text for one in sentences)
        self._embed([text])
        distance = 1.0 - self._cosine(claim.text, text)
        if len(claim.tokens) < 4:  # too short for a meaningful embedding
            distance = min(distance, 1.0 - compared.coverage)
        return compared, {
            "lacking": 1.0 - compared.coverage,
            "elsewhere": compared.elsewhere,
            "numbers": float(min(_OFTEN, len(compared.numbers))),
            "names": float(min(_OFTEN, len(compared.names))),
            "borrowed": float(bool(compared.borrowed)),
            "contrary": 1.0 if compared.contrary else _OTHER_FORCE * bool(compared.other_force),
            "exchanged": compared.exchanged,
            "swapped": float(compared.swapped),
            "distance": distance,
            "pair": float(len(sentences) > 1),
            "replaced": float(bool(compared.replaced)),
            "traded": float(bool(compared.traded)),
        }

    def _coverage(self, claim: ParsedSentence, stems: frozenset[str]) -> float:
        """Return the weighted share, 0 to 1, of the claim's words that occur in `stems`."""
        weights = {stem: self._sources.weight(stem) for stem in claim.stems}
        total = sum(weights.values())
        return sum(weight * match_term(stem, stems) for stem, weight in weights.items()) / total if total else 0.0

    def _compare(self, claim: ParsedSentence, sentences: Sequence[SourceSentence]) -> ClaimComparison:
        stems = frozenset[str]().union(*(one.sentence.stems for one in sentences))
        against_rule, other_force = tuple[str, ...](), tuple[str, ...]()
        stating = [one.sentence for one in sentences if one.sentence.rules.clauses]
        if claim.rules.clauses and stating:
            nearest = max(stating, key=lambda one: self._coverage(claim, one.stems))
            against_rule, other_force = compare_rules(claim.rules, nearest.rules)
            claim = claim.without_rules
            sentences = [replace(one, sentence=one.sentence.without_rules) for one in sentences]
        tokens = (token for token in claim.tokens if not token.name and not token.number)
        terms = {stem: self._sources.weight(stem) for token in tokens for stem in token.stems}
        total = sum(terms.values()) or 1.0
        lacking = {stem: weight * (1.0 - match_term(stem, stems)) for stem, weight in terms.items()}
        strange = sum(weight for stem, weight in lacking.items() if not match_term(stem, self._sources.stems))
        aligned = [align_claim(claim, one.sentence) for one in sentences]
        names = [(token.text, self._locate_name(token, claim, sentences)) for token in claim.names]
        return ClaimComparison(
            sentences=tuple(sentences),
            coverage=1.0 - sum(lacking.values()) / total if terms else 1.0,
            elsewhere=(sum(lacking.values()) - strange) / total,
            numbers=self._numbers(claim, sentences),
            names=tuple(name for name, location in names if location == "missing"),
            borrowed=tuple(name for name, location in names if location == "beside"),
            contrary=(*against_rule, *self._contrary(claim, sentences, aligned)),
            other_force=other_force,
            exchanged=max(exchange_score(claim, one.sentence) for one in sentences),
            swapped=any(one.crossed for one in aligned) or any(roles_swapped(claim, one.sentence) for one in sentences),
            replaced=tuple(
                slot
                for slot in aligned[0].slots
                if (slot.proper or self._is_other_word(slot, near=aligned[0].near))
                and not _is_of_another_item(slot, sentences)
            ),
            traded=min(_lacking_names(claim, sentences[0].sentence), _lacking_names(sentences[0].sentence, claim)),
        )

    def _numbers(self, claim: ParsedSentence, sentences: Sequence[SourceSentence]) -> tuple[str, ...]:
        missing = []
        for number in claim.numbers:
            # The stems of the six words nearest to the number.
            near = sorted((one for one in claim.tokens if one.stems), key=lambda one: abs(one.start - number.start))
            around = {stem for token in near[1:7] if not token.number for stem in token.stems}
            agreeing = [one.sentence for one in sentences if any(map(number.agrees, one.sentence.numbers))]
            is_near = len(sentences) == 1 or any(around & one.stems for one in agreeing)
            is_missing = not is_near if agreeing else not number.weak
            if is_missing:
                missing.append(claim.text[number.start : number.end])
        return tuple(missing)

    def _locate_name(
        self, token: SentenceToken, claim: ParsedSentence, sentences: Sequence[SourceSentence]
    ) -> Literal["there", "beside", "missing"]:
        """Return whether a name is in the sentences, only beside them (headings, sentences before them), or missing."""
        parsed = [one.sentence for one in sentences]
        is_acronym = token.text.isupper() and len(token.text) > 1
        if any(
            _has_name(one.words, one.stems, token)
            or (is_acronym and _spelled_out(token, one.text))
            or _abbreviated(token, claim, one)
            for one in parsed
        ):
            return "there"
        if any(_has_name(one.over, frozenset(), token) for one in sentences):
            return "beside"
        refers = any(_PRONOUNS & one.words or {token.word for token in one.tokens[:1]} & _DEFINITE for one in parsed)
        return "beside" if refers and any(_has_name(one.before, frozenset(), token) for one in sentences) else "missing"

    def _is_other_word(self, slot: AlignmentSlot, *, near: bool) -> bool:
        """Whether the claim has another noun or, if most words are the same (`near`), another word than the source.

        A word of the claim that occurs nowhere in the chunks may be a synonym, so the result is then False.
        """
        stems = (stem for token in slot.ours for stem in token.stems)
        return (slot.nouns or (near and slot.single)) and any(match_term(stem, self._sources.stems) for stem in stems)

    def _contrary(
        self, claim: ParsedSentence, sentences: Sequence[SourceSentence], aligned: Sequence[Alignment]
    ) -> tuple[str, ...]:
        """Return the words in which the claim contradicts a sentence: antonyms, and words negated in only one of them.

        Only sentences with enough words of the claim are compared. If several contradict the claim, the words are from
        the one with the most contradictions.
        """
        found = (
            self._contraries.find(claim, one.sentence, alignment)
            for one, alignment in zip(sentences, aligned, strict=True)
            if self._coverage(claim, one.sentence.stems) > _RELEVANT
        )
        return max(found, key=len, default=())

    def _cosine(self, left: str, right: str) -> float:
        return float(self._vectors[left] @ self._vectors[right])

    def _embed(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, embed_truncated(missing, self._embedding), strict=True))


Verdict = Literal["supported", "partly", "unsupported", "no claim"]

_ENOUGH = 0.5  # least chance of support for a supported claim
_PARTLY = 0.25  # chance of support below which a claim is unsupported
_EXCHANGED = 0.3  # exchange score above which two names or numbers count as exchanged
_UNLIKE = 1.1  # a claim is unsupported if its share of missing words plus embedding distance (0 to 2) is greater


@dataclass(frozen=True)
class GroundedSentence:
    """A sentence of the answer with its verdict and the reasons. For a greeting, the verdict is "no claim".

    `score` is the chance, 0 to 1, that the sources support the sentence. `quotes` are the best supporting spans: one
    or several for the sentence or, if its clauses were compared separately, for each clause. `cited` are the citation
    numbers in the written sentence. `unsupporting` are the cited numbers whose chunk does not support the sentence.
    `quotes` and `unsupporting` are empty for an unsupported sentence.
    """

    text: str
    verdict: Verdict
    score: float
    quotes: tuple[Quote, ...]
    reasons: tuple[str, ...]
    cited: tuple[int, ...]
    unsupporting: tuple[int, ...] = ()


@dataclass(frozen=True)
class GroundedAnswer:
    """The answer with citations of the supporting spans, and every sentence with its verdict.

    `share` is the mean score, 0 to 1, of the sentences that make a claim; 1 if there are none.
    """

    text: str
    sentences: tuple[GroundedSentence, ...]
    citations: tuple[Citation, ...]
    share: float
    notes: tuple[str, ...]


def ground_answer(
    answer_text: str,
    sources: Sequence[RetrievedChunk],
    embedding: EmbeddingModel,
    tokeniser: KeywordTokeniser,
    *,
    strict: bool = False,
    contraries: ContradictionFinder | None = None,
) -> GroundedAnswer:
    """Compare every sentence of a written answer with the chunks it was written from.

    A number [n] in the answer refers to sources[n - 1]. Numbers without a source are removed, which a note reports; all
    others are replaced by the numbers of the supporting spans. `strict` drops the unsupported sentences. Frequent
    callers pass `contraries`, created once with the same tokeniser. Raises ModelError if embedding fails.
    """
    text = move_marks_inside(answer_text)
    german = tokeniser.language == "de" or question_language(text) == "de"
    known = contraries or ContradictionFinder(tokeniser)
    supporter = SupportFinder(SourceIndex(sources, tokeniser, german=german), embedding, known)
    statements = split_statements(text)
    judged = tuple(_judge(statement, supporter, sources) for statement in statements)
    dropped = {"unsupported"} if strict else set[str]()
    written, citations = _cite(text, statements, judged, dropped)
    scores = [sentence.score for sentence in judged if sentence.verdict not in {"no claim", *dropped}]
    share = round(sum(scores) / len(scores), 4) if scores else 1.0
    return GroundedAnswer(written, judged, citations, share, tuple(_notes(judged, len(sources), strict=strict)))


def _judge(statement: AnswerStatement, supporter: SupportFinder, sources: Sequence[RetrievedChunk]) -> GroundedSentence:
    if not statement.claim:
        return GroundedSentence(statement.text, "no claim", 1.0, (), (), statement.cited)
    whole = supporter.support(statement.claim)
    parts = [whole] if whole else []
    if whole is None or whole.chance < _ENOUGH:
        clauses = [supporter.support(clause) for clause in statement.clauses]
        supported = [one for one in clauses if one is not None and one.chance >= _ENOUGH]
        if supported and len(supported) == len(clauses):
            parts = supported
    if not parts:
        return GroundedSentence(statement.text, "unsupported", 0.0, (), ("No chunk mentions this.",), statement.cited)
    least = min(parts, key=lambda one: one.chance)
    verdict = _verdict(least)
    spans = dict.fromkeys((one.chunk, one.start, one.end) for part in parts for one in part.comparison.sentences)
    reasons = tuple(dict.fromkeys(reason for one in parts for reason in _reasons(one.comparison)))
    return GroundedSentence(
        statement.text,
        verdict,
        round(least.chance, 4),
        () if verdict == "unsupported" else tuple(Quote(sources[chunk], start, end) for chunk, start, end in spans),
        () if verdict == "supported" else reasons or ("The chunks contain little about this.",),
        statement.cited,
        ()
        if verdict == "unsupported"
        else _unsupporting(statement, supporter, {chunk for chunk, _, _ in spans}, len(sources)),
    )


def _unsupporting(
    statement: AnswerStatement, supporter: SupportFinder, supporting: Collection[int], count: int
) -> tuple[int, ...]:
    """Return the cited numbers whose chunk supports neither the sentence nor one of its clauses."""

    def supports(chunk: int) -> bool:
        found = (supporter.support(claim, chunk) for claim in (statement.claim, *statement.clauses))
        return any(one is not None and one.chance >= _ENOUGH for one in found)

    known = (number for number in statement.cited if 1 <= number <= count)
    return tuple(number for number in known if number - 1 not in supporting and not supports(number - 1))


def _verdict(support: ClaimSupport) -> Verdict:
    if support.chance >= _ENOUGH:
        return "supported"
    compared = support.comparison
    contradicted = compared.numbers or compared.contrary or compared.swapped or compared.exchanged > _EXCHANGED
    unlike = support.features["lacking"] + support.features["distance"] > _UNLIKE
    return "unsupported" if contradicted or unlike or support.chance < _PARTLY else "partly"


def _reasons(compared: ClaimComparison) -> Iterator[str]:
    if compared.numbers:
        yield f"Numbers that differ from the source: {', '.join(compared.numbers)}."
    if compared.names:
        yield f"Names missing from the closest sentences: {', '.join(compared.names)}."
    if compared.contrary:
        yield f"Denied in the source, or opposite words there: {', '.join(filter(None, compared.contrary))}."
    if compared.other_force:
        yield f"Allowed is not the same as required: {', '.join(compared.other_force)}."
    if compared.swapped or compared.exchanged > _EXCHANGED:
        yield "Names or numbers have changed places, compared with the source."
    for slot in compared.replaced:
        ours, theirs = (" ".join(token.text for token in side) for side in (slot.ours, slot.theirs))
        yield f"The source has '{theirs}', not '{ours}'."


def _cite(
    text: str, statements: Sequence[AnswerStatement], judged: Sequence[GroundedSentence], dropped: Collection[str]
) -> tuple[str, tuple[Citation, ...]]:
    """Add citation marks to the sentences, and drop those whose verdict is in `dropped`. Also return the citations."""
    quotes = [quote for sentence in judged if sentence.verdict not in dropped for quote in sentence.quotes]
    numbers, citations = number_quotes(quotes)
    number_of = dict(zip(((quote.chunk.node_id, quote.span) for quote in quotes), numbers, strict=True))
    written, last = "", 0
    for statement, sentence in zip(statements, judged, strict=True):
        if sentence.verdict in dropped:
            last = statement.end
            continue
        marks = dict.fromkeys(f"[{number_of[quote.chunk.node_id, quote.span]}]" for quote in sentence.quotes)
        words, bar = statement.text, ""
        if marks and words.endswith("|"):  # the marks of a table row belong in its last cell
            words, bar = words[:-1].rstrip(), " |"
        written += text[last : statement.start] + f"{words} {''.join(marks)}".rstrip() + bar
        # The line end after the sentence is kept, because the next sentence may be a list item.
        last = len(text[: statement.end].rstrip())
    return (written + text[last:]).strip(), citations


def _notes(judged: Sequence[GroundedSentence], count: int, *, strict: bool) -> Iterator[str]:
    unknown = sorted({number for sentence in judged for number in sentence.cited if not 1 <= number <= count})
    if unknown:
        named = ", ".join(f"[{number}]" for number in unknown)
        yield f"The answer cited {named}, which {'do' if len(unknown) > 1 else 'does'} not exist: removed."
    # If no citation of a sentence supports it, all are replaced, which is not reported here.
    failing = sum(len(one.unsupporting) for one in judged if len(one.unsupporting) < len(one.cited))
    if failing:
        subject = "citation of the answer does" if failing == 1 else "citations of the answer do"
        yield f"{failing} {subject} not support the cited sentence: removed."
    unsupported = sum(sentence.verdict == "unsupported" for sentence in judged)
    if unsupported:
        subject = "sentence of the answer is" if unsupported == 1 else "sentences of the answer are"
        yield f"{unsupported} {subject} not supported by the chunks{' and left out' if strict else ''}."

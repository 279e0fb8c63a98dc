"""Estimate and bound the number of tokens in a text, and detect prompts that a model server truncated."""

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.embedded import bert_tokenizer, encodable
from elt_llm_core.models.transport import JsonServer

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

_UNKNOWN_PIECE = "[UNK]"


class TokenEstimate:
    """Estimates token counts with the installed vocabulary of BERT uncased, which is loaded at first use.

    The counts are exact for models with this vocabulary. Most other vocabularies are larger, so nearly every text has
    fewer and longer tokens. BERT makes one token of an unknown word, but here each of the word's characters counts.
    """

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of each token, in order, without white space."""
        encoding = bert_tokenizer().encode(encodable(text), add_special_tokens=False)
        spans: list[tuple[int, int]] = []
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            spans += [(at, at + 1) for at in range(start, end)] if token == _UNKNOWN_PIECE else [(start, end)]
        return spans


_DIGIT = re.compile(r"\d")
_CAPITAL = re.compile(r"[A-Z]")
_LATIN = re.compile("[\u0080-\u024f]")
_OTHER = re.compile("[^\u0000-\u024f]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad]")
_SPACES = re.compile(r"\s{2,1000}")


class TokenUpperBound:
    """Computes an upper bound for a text's number of tokens, for vocabularies of 32,000 tokens or more.

    The estimate is raised for characters that other tokenisers split into more tokens: digits, line ends, runs of
    spaces, capitals, accented letters, other scripts by their bytes, and control characters, which BERT ignores. In a
    measurement with four tokenisers on 1,400 texts, every text was at least 3.6 % below the bound (decision 0023).
    """

    def __init__(self) -> None:
        self._estimate = TokenEstimate()

    def most(self, text: str) -> int:
        """Return an upper bound of the tokens of this text, without those that a chat template adds."""
        other_bytes = sum(len(one.encode("utf-8", "replace")) for one in _OTHER.findall(text))
        spare_spaces = sum(len(run) - 1 for run in _SPACES.findall(text))
        return math.ceil(
            1.2 * len(self._estimate.spans(text))
            + 0.7 * len(_DIGIT.findall(text))
            + 1.1 * text.count("\n")
            + 0.15 * spare_spaces
            + 0.5 * len(_LATIN.findall(text))
            + 0.65 * other_bytes
            + 2.0 * len(_CONTROL.findall(text))
            + 0.3 * len(_CAPITAL.findall(text))
        )


_WORD = re.compile(r"\S{1,1000}")
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_CHARACTERS_PER_TOKEN = 4  # in Chinese, Japanese and Korean, where longer tokens are rare
_TOKENS_KEPT_BY_OLLAMA = 8  # beyond half the window, if a prompt is truncated; at most three were observed
_DOUBTFUL_RATIO = 1.7  # estimated tokens per counted token


def min_tokens(text: str) -> int:
    """Return the least number of tokens that a text can have.

    No tokeniser in use joins words across white space, so each word has at least one token. In scripts without spaces,
    every four characters count as one token.
    """
    unspaced = len(_UNSPACED.findall(text))
    return len(_WORD.findall(_UNSPACED.sub(" ", text))) + unspaced // _CHARACTERS_PER_TOKEN


def is_truncated(prompt_tokens: int, window: int | None, texts: Sequence[str]) -> bool:
    """Return whether a server that counted `prompt_tokens` truncated the texts.

    A prompt was truncated if it has more words than the server counted tokens, or if it fills the whole window. Ollama
    truncates a long prompt to half the window and a few tokens, so a count of half the window is accepted only if it is
    near the estimated length of the prompt.
    """
    if prompt_tokens < sum(map(min_tokens, texts)):
        return True
    if window is None:
        return False
    halved = window // 2 <= prompt_tokens <= window // 2 + _TOKENS_KEPT_BY_OLLAMA
    if prompt_tokens >= window or not halved:
        return prompt_tokens >= window
    estimate = TokenEstimate()
    return sum(len(estimate.spans(text)) for text in texts) > _DOUBTFUL_RATIO * prompt_tokens


_SPACED_WORD = re.compile(r"\s{0,1000}\S{1,1000}|\s{1,1000}")
_MAX_PIECE_CHARACTERS = 64  # length of the parts into which a too long word is split


def split_prompt(text: str, most: int, count: Callable[[str], int]) -> list[str]:
    """Split the text into pieces of at most `most` tokens, as returned by `count`, at line ends where possible.

    The joined pieces equal the text. A piece of whole lines has at most one token more or less than the same lines have
    within the text.
    """
    pieces: list[str] = []
    piece, size = "", 0
    for part in _split_finer(text, most, count):
        tokens = count(part)
        if piece and size + tokens > most:
            pieces.append(piece)
            piece, size = "", 0
        piece, size = piece + part, size + tokens
    return [*pieces, piece] if piece else pieces


def _split_finer(text: str, most: int, count: Callable[[str], int]) -> Iterator[str]:
    """Yield the lines of a text. Split a line that is too long into words, and a long word into parts."""
    for line in text.splitlines(keepends=True):
        if count(line) <= most:
            yield line
            continue
        for word in _SPACED_WORD.findall(line):
            if count(word) <= most:
                yield word
            else:
                yield from (word[at : at + _MAX_PIECE_CHARACTERS] for at in range(0, len(word), _MAX_PIECE_CHARACTERS))


MIN_WINDOW = 512
"""The number of tokens that every server reads, and the minimum of the setting `context_window`."""
_TEMPLATE_TOKENS = 64  # the most that a chat template adds to the first message, including its own system message
_MESSAGE_TOKENS = 8  # the most that a chat template adds to each further message
_SHARE = 0.98  # the smallest accepted share of the tokens counted in pieces; prompts that were read whole reach 0.9866
_FEW = 8  # tokens of tolerance, because splitting changes the tokens at the ends of pieces
_FILLER = "x"  # a token in every vocabulary


class PromptVerifier:
    """A thread-safe check that a server reads whole prompts. It remembers the longest verified prompt."""

    def __init__(self, server: JsonServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._verified = MIN_WINDOW
        self._window_requested = False
        self._loaded_window: int | None = None
        self._most = TokenUpperBound().most

    def check(
        self, messages: "Sequence[ChatMessage]", read: int, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Raise PromptTooLong if the server read fewer tokens than the messages have.

        `read` is the number of tokens that the server counted. A prompt no longer than one already verified needs no
        request. Otherwise the server's window is requested once. If it is too small or unknown, the prompt's tokens are
        counted again, in pieces that no server truncates. Raises a ModelError if a request fails.
        """
        texts = [(message.role.value, message.content or "") for message in messages]
        most = sum(self._most(text) + _MESSAGE_TOKENS for _, text in texts) + _TEMPLATE_TOKENS
        if most <= self._verified_length(most):
            return
        expected = self._recount(texts, cancelled)
        if expected is None:
            return
        if read < min(_SHARE * expected, expected - _FEW):
            described = self._server.described
            loaded = f"; it loaded the model with {self._loaded_window}" if self._loaded_window else ""
            setting = f"{described.section}.context_window"
            raise PromptTooLong(
                f"{described} read {read} tokens of a prompt that has about {expected}{loaded}",
                hint=f"Set {setting} to the window of the server, or give the server the window of {setting}",
            )
        with self._lock:
            self._verified = max(self._verified, read)

    def _verified_length(self, most: int) -> int:
        with self._lock:
            if most > self._verified and not self._window_requested:
                self._window_requested = True
                self._loaded_window = self._server.loaded_window()
                sent = self._server.described.context_window or 0
                self._verified = max(self._verified, min(self._loaded_window or 0, sent))
            return self._verified

    def _recount(self, texts: Sequence[tuple[str, str]], cancelled: Callable[[], bool]) -> int | None:
        """Count the prompt's tokens in pieces. Return None if the server reports no count, or after cancellation."""
        alone = self._server.count_tokens([{"role": "user", "content": _FILLER}])
        frame = self._server.count_tokens([{"role": role, "content": _FILLER} for role, _ in texts])
        if alone is None or frame is None:
            return None
        together = "\n".join(text for _, text in texts)
        # Minus the filler tokens, plus the line ends that join the texts.
        expected = frame - len(texts) - (len(texts) - 1)
        for piece in split_prompt(together, self._verified - 2 * _TEMPLATE_TOKENS, self._most):
            counted = None if cancelled() else self._server.count_tokens([{"role": "user", "content": piece}])
            if counted is None:
                return None
            expected += counted - alone + 1
        return expected

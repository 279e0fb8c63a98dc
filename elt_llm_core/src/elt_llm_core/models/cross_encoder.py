"""Score how relevant a chunk is to a question with an ONNX cross-encoder, which reads both texts together."""

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedded import encodable, open_session, open_tokenizer
from elt_llm_core.utilities import onnx_library

if TYPE_CHECKING:
    from tokenizers import Encoding

Integer = np.int64 | np.int32

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
MAX_TOKENS = 512
MAX_THREADS = 16
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
WEIGHTS = ("model.onnx", "onnx/model.onnx")  # in a manual export, and in the repositories of model hubs
TOKENIZER = "tokenizer.json"
CONFIGURATION = "config.json"
_INTEGERS: dict[str, type[Integer]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """A model that scores pairs of question and chunk on this machine. A higher score means more relevant.

    `folder` contains `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`. `config.json` may set the model's token
    limit, which is 512 otherwise. Each pair is run alone, without padding, so that no chunk changes another's score.
    Each call runs `threads` pairs in parallel. Several threads may share one object. Raises ModelError if files are
    missing or damaged, or do not belong to a cross-encoder.
    """

    def __init__(self, folder: Path, threads: int = 2) -> None:
        self.folder = folder
        self.token_limit = _token_limit(folder / CONFIGURATION)
        self._threads = threads
        # The threads start at first use and end with the last reference to this object.
        self._helpers = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="cross-encoder")
        tokenizer, weights = _find_file(folder, (TOKENIZER,)), _find_file(folder, WEIGHTS)
        with _model_errors(tokenizer, "cannot be read"):
            self._tokenizer = open_tokenizer(tokenizer.read_text(encoding="utf-8"), self.token_limit)
        with _model_errors(weights, "cannot be run"):
            self._session = open_session(str(weights))
        required = {str(one.name): _INTEGERS.get(one.type) for one in self._session.get_inputs()}
        self._inputs = {name: kind for name, kind in required.items() if kind is not None and name in _INPUTS}
        if unknown := ", ".join(name for name in required if name not in self._inputs):
            raise ModelError(
                f"The model in {folder} requires {unknown}, which is not an input of cross-encoders",
                hint=f"Use a cross-encoder such as {DEFAULT_MODEL}",
            )

    def score(self, question: str, chunks: Sequence[str]) -> list[float]:
        """Return one finite score per chunk, in order. Text beyond the token limit is ignored. May raise ModelError."""
        pairs = [self._tokenizer.encode(encodable(question), encodable(chunk)) for chunk in chunks]
        if not pairs:
            return []
        shares = [pairs[first :: self._threads] for first in range(min(self._threads, len(pairs)))]
        futures = [self._helpers.submit(lambda pairs: list(map(self._run, pairs)), share) for share in shares[1:]]
        scores = [list(map(self._run, shares[0])), *(future.result() for future in futures)]
        return [scores[index % self._threads][index // self._threads] for index in range(len(pairs))]

    def _run(self, pair: "Encoding") -> float:
        values = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        inputs = {name: np.array([values[name]], dtype=kind) for name, kind in self._inputs.items()}
        try:
            logits = np.asarray(self._session.run(None, inputs)[0], dtype=np.float64)
        except _onnx_failures() as error:
            raise ModelError(f"The cross-encoder in {self.folder} failed: {_first_line(error)}") from error
        if logits.size not in {1, 2}:
            raise ModelError(
                f"The model in {self.folder} returns {logits.size} scores for a text; a cross-encoder returns one",
                hint=f"Use a cross-encoder such as {DEFAULT_MODEL}",
            )
        first, *others = logits.ravel().tolist()
        score = float(others[0] - first) if others else float(first)  # two scores: irrelevant, relevant
        if not math.isfinite(score):
            raise ModelError(f"The cross-encoder in {self.folder} returned a score that is not a finite number")
        return score


def _find_file(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ModelError(
        f"{folder} contains no {' or '.join(names)}",
        hint=f"A cross-encoder is a folder with {WEIGHTS[0]} and {TOKENIZER}",
    )


def _token_limit(path: Path) -> int:
    if not path.is_file():
        return MAX_TOKENS
    try:
        configured = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint="Copy the model's files again") from error
    limit = configured.get("max_position_embeddings") if isinstance(configured, dict) else None
    # A limit below 16 tokens must be a mistake.
    return min(limit, MAX_TOKENS) if isinstance(limit, int) and limit >= 16 else MAX_TOKENS


@contextmanager
def _model_errors(path: Path, problem: str) -> Iterator[None]:
    """Convert exceptions from reading a damaged file to ModelError."""
    try:
        yield
    except Exception as error:
        # The tokenizers library raises plain Exceptions.
        if type(error) is not Exception and not isinstance(error, (OSError, ValueError, *_onnx_failures())):
            raise
        raise ModelError(
            f"The model file {path} is damaged and {problem}: {_first_line(error)}", hint="Copy the model's files again"
        ) from error


def _onnx_failures() -> tuple[type[Exception], ...]:
    """Return ONNX Runtime's exception classes, which have no common base class."""
    state = onnx_library().capi.onnxruntime_pybind11_state
    kinds = (getattr(state, name) for name in dir(state))
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]

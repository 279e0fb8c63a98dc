"""A model that reads question and passage together and says how well they fit: any ONNX cross-encoder in a folder."""

import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import ModelError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Integer = np.int64 | np.int32

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
MOST_TOKENS = 512
MOST_THREADS = 16
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
WEIGHTS = ("model.onnx", "onnx/model.onnx")  # as exported by hand, and as model hubs lay them out
TOKENIZER = "tokenizer.json"
CONFIGURATION = "config.json"
_INTEGERS: dict[str, type[Integer]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """Scores pairs of question and passage on this machine; the greater the score, the better they fit.

    `folder` holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; `config.json` may tell how many tokens
    the model reads, else 512. Each pair is run alone, never padded to its neighbours, so that no passage changes the
    score of another; of each call `threads` pairs are run side by side. May be called from many threads.
    Raises ModelError for files that are missing, damaged, or of a model that is no cross-encoder.
    """

    def __init__(self, folder: Path, threads: int = 2) -> None:
        self.folder = folder
        self.token_limit = _token_limit(folder / CONFIGURATION)
        self._threads = threads
        # Its threads are started when they are first needed, and end when nobody holds the model any more.
        self._helpers = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="cross-encoder")
        self._tokenizer = _open_tokenizer(_existing(folder, (TOKENIZER,)), self.token_limit)
        self._session = _open_session(_existing(folder, WEIGHTS))
        self._inputs = _inputs_of(self._session, folder)

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One finite score for each passage, in order. What is beyond the token limit is not read.

        Raises ModelError if the model fails or gives no usable score.
        """
        pairs = [self._tokenizer.encode(_encodable(question), _encodable(passage)) for passage in passages]
        if not pairs:
            return []
        shares = [pairs[first :: self._threads] for first in range(min(self._threads, len(pairs)))]
        others = [self._helpers.submit(self._run_all, share) for share in shares[1:]]
        scored = [self._run_all(shares[0]), *(other.result() for other in others)]
        return [scored[place % self._threads][place // self._threads] for place in range(len(pairs))]

    def _run_all(self, pairs: Sequence["Encoding"]) -> list[float]:
        return [self._run(pair) for pair in pairs]

    def _run(self, pair: "Encoding") -> float:
        known = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        inputs = {name: np.array([known[name]], dtype=kind) for name, kind in self._inputs.items()}
        try:
            logits = np.asarray(self._session.run(None, inputs)[0], dtype=np.float64)
        except _onnx_failures() as error:
            raise ModelError(f"The cross-encoder in {self.folder} failed: {_first_line(error)}") from error
        return self._fit(logits)

    def _fit(self, logits: NDArray[np.float64]) -> float:
        """One logit is the score; of two, as of a classifier, the second says `fits` and the first `does not`."""
        if logits.size not in {1, 2}:
            raise ModelError(
                f"The model in {self.folder} gives {logits.size} numbers for a pair, where a cross-encoder gives one",
                hint=f"Use a cross-encoder such as {DEFAULT_MODEL}",
            )
        values = logits.ravel().tolist()
        score = float(values[-1] - values[0]) if len(values) == 2 else float(values[0])
        if not math.isfinite(score):
            raise ModelError(f"The cross-encoder in {self.folder} gave no usable score")
        return score


def _existing(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ModelError(
        f"{folder} holds no {' or '.join(names)}",
        hint=f"A cross-encoder is a folder with {WEIGHTS[0]} and {TOKENIZER}",
    )


def _token_limit(path: Path) -> int:
    if not path.is_file():
        return MOST_TOKENS
    try:
        configured = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint="Copy the model's files again") from error
    limit = configured.get("max_position_embeddings") if isinstance(configured, dict) else None
    return min(limit, MOST_TOKENS) if isinstance(limit, int) and limit >= 16 else MOST_TOKENS


class _ToldAsDamage:
    """Turns what reading a damaged tokenizer raises into ModelError.

    The library raises plain `Exception`, which a clause could not tell from any other failure; here it is told by its
    very type.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and (kind is Exception or isinstance(error, (OSError, ValueError))):
            raise ModelError(
                f"{self._path} cannot be read: {_first_line(error)}", hint="Copy the model's files again"
            ) from error


def _open_tokenizer(path: Path, limit: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    with _ToldAsDamage(path):
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit, strategy="longest_first")
    return tokenizer


def _open_session(path: Path) -> "InferenceSession":
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Pairs are run side by side, each by one thread: see the embedded model, which is run the same way.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _onnx_failures() as error:
        raise ModelError(f"{path} cannot be run: {_first_line(error)}", hint="Copy the model's files again") from error


def _inputs_of(session: "InferenceSession", folder: Path) -> dict[str, type[Integer]]:
    """Names and integer types of what the model wants to be given."""
    wanted = {one.name: _INTEGERS.get(one.type) for one in session.get_inputs()}
    inputs = {str(name): kind for name, kind in wanted.items() if kind is not None and name in _INPUTS}
    strange = [str(name) for name in wanted if name not in inputs]
    if strange:
        raise ModelError(
            f"The model in {folder} wants {', '.join(strange)}, which no cross-encoder is given",
            hint=f"Use a cross-encoder such as {DEFAULT_MODEL}",
        )
    return inputs


def _onnx_failures() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises: its errors have no ancestor of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kinds = (getattr(state, name) for name in dir(state))
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

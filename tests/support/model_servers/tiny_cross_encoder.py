"""A cross-encoder with a few hundred random weights in a folder, written byte by byte in the ONNX format.

The score of a chunk is the sum of the weights of its words, so scores differ between chunks and are reproducible.
"""

import json
import random
import struct
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

SIZE = 500
FLOAT, INT64 = 1, 7
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_tiny_cross_encoder(
    folder: Path,
    texts: Iterable[str] = (),
    *,
    logits: int = 1,
    inputs: tuple[str, ...] = INPUTS,
    seed: int = 7,
    nested: bool = False,
) -> Path:
    """Write model.onnx (in onnx/ if nested), tokenizer.json with the words of these texts, and config.json."""
    weights = folder / "onnx" if nested else folder
    weights.mkdir(parents=True, exist_ok=True)
    (weights / "model.onnx").write_bytes(model_bytes(logits, inputs, seed))
    _tokenizer(texts).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 64}))
    return folder


def _tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Return a tokenizer that knows the words of the test chunks; every other word is the unknown token."""
    special = ["[UNK]", "[CLS]", "[SEP]"]
    words = sorted({word for text in texts for word in text.lower().replace(".", " ").split()})[: SIZE - len(special)]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate([*special, *words])}, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def model_bytes(logits: int = 1, inputs: tuple[str, ...] = INPUTS, seed: int = 7) -> bytes:
    """Sum a weight for each token of the chunk; the sum is repeated `logits` times."""
    draw = random.Random(seed)  # noqa: S311 - a test model, no secret
    weights = struct.pack(f"<{SIZE}f", *(draw.uniform(-1, 1) for _ in range(SIZE)))
    nodes = [
        _node("Gather", ["weights", "input_ids"], "each"),
        _node("Cast", ["token_type_ids" if "token_type_ids" in inputs else "input_ids"], "kept", to=FLOAT),
        _node("Mul", ["each", "kept"], "passage"),
        _node("ReduceSum", ["passage"], "sum", axes=[1]),
        _node("Concat", ["sum"] * logits, "logits", axis=1),
    ]
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _text(2, "tiny"),
            _field(5, _number(1, SIZE) + _number(2, FLOAT) + _text(8, "weights") + _field(9, weights)),
            *(_field(11, _value(name, INT64, ["one", "tokens"])) for name in inputs),
            _field(12, _value("logits", FLOAT, ["one", "scores"])),
        ]
    )
    return _number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 12))


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _field(field, text.encode())


def _node(operator: str, inputs: list[str], output: str, **attributes: int | list[int]) -> bytes:
    content = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, operator)
    for name, value in attributes.items():
        if isinstance(value, int):
            content += _field(5, _text(1, name) + _number(3, value) + _number(20, 2))
        else:
            content += _field(5, _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, 7))
    return content


def _value(name: str, element: int, dimensions: list[str]) -> bytes:
    shape = b"".join(_field(1, _text(2, dimension)) for dimension in dimensions)
    return _text(1, name) + _field(2, _field(1, _number(1, element) + _field(2, shape)))

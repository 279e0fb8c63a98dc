"""Pieces to chunks: as many as fit, neighbours sharing whole pieces."""

from collections.abc import Sequence

from elt_llm_ingest.chunkers.pieces import Piece, tokens_of


def pack(pieces: Sequence[Piece], budget: int, overlap: int) -> list[Sequence[Piece]]:
    """Runs of pieces with at most `budget` tokens, each beginning with up to `overlap` tokens of the one before."""
    runs: list[Sequence[Piece]] = []
    first = 0
    while first < len(pieces):
        end = _furthest(pieces, first, budget)
        runs.append(pieces[first:end])
        if end == len(pieces):
            break
        first = _overlapping(pieces, first, end, budget, overlap)
    return runs


def _furthest(pieces: Sequence[Piece], first: int, budget: int) -> int:
    end = first + 1
    while end < len(pieces) and tokens_of(pieces[first], pieces[end]) <= budget:
        end += 1
    # A heading at the foot of a chunk belongs to what follows it.
    kept = end
    while first < kept and end < len(pieces) and pieces[kept - 1].kind == "heading":
        kept -= 1
    return kept if kept > first else end


def _overlapping(pieces: Sequence[Piece], first: int, end: int, budget: int, overlap: int) -> int:
    """The piece the next run begins with: after `first`, and near enough that piece `end` still fits."""
    start = end
    while (
        start - 1 > first
        and pieces[start - 1].kind != "heading"
        and tokens_of(pieces[start - 1], pieces[end - 1]) <= overlap
        and tokens_of(pieces[start - 1], pieces[end]) <= budget
    ):
        start -= 1
    return start


def tables_apart(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    """The pieces in runs: the rows of one table with the headings right above it, or what lies between tables."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        before = runs[-1][-1] if runs else None
        if before is None or _parts(before, piece):
            headings: list[Piece] = []
            while piece.kind == "table" and runs and runs[-1] and runs[-1][-1].kind == "heading":
                headings.insert(0, runs[-1].pop())
            runs = [run for run in runs if run]
            runs.append(headings)
        runs[-1].append(piece)
    return list(runs)


def _parts(before: Piece, piece: Piece) -> bool:
    """A table ends where prose begins, at the next header row, or where the header changes."""
    if before.kind == "table" and piece.kind == "table":
        return before.header not in ("", piece.header)
    return before.kind == "table" or piece.kind == "table"

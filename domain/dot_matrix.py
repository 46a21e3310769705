"""A context as cells: each shows one kind, what is free, or what waits to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.context_breakdown import PENDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.context_breakdown import ContextUsageBreakdown

ROWS = 2

COLUMNS = (50, 32, 24)
"""The densities, for wide, narrow and very narrow places: 100, 64 or 48 cells."""

Cells = tuple[str | None, ...]
"""A kind for each cell, or None for a free one: used kinds in order, then what is pending, then free."""


def columns_for(width: int) -> int:
    """Return the greatest density that fits into a width; the smallest where none does."""
    return next((columns for columns in COLUMNS if columns <= width), COLUMNS[-1])


def dot_matrix(breakdown: ContextUsageBreakdown, columns: int) -> Cells:
    """
    Share out the cells of two rows.

    Where the window is unknown the kinds share all cells by their size; only a context of which nothing at
    all is known is shown as free.
    """
    used = [part for part in breakdown.parts if part.kind != PENDING]
    pending = [part for part in breakdown.parts if part.kind == PENDING]
    kinds: list[str | None] = [part.kind for part in (*used, *pending)]
    tokens = [part.tokens for part in (*used, *pending)]
    free = max(0, (breakdown.context_window or 0) - sum(tokens))
    if free or not tokens:
        kinds.append(None)
        tokens.append(max(free, 1))
    shares = shared_out(tokens, ROWS * columns)
    _give_each_kind_one(shares, kinds)
    return tuple(kind for kind, share in zip(kinds, shares, strict=True) for _ in range(share))


def rows_of(cells: Cells) -> list[Cells]:
    """Return the rows: cells run down each column, so that kinds follow each other from left to right."""
    return [cells[row::ROWS] for row in range(ROWS)]


def shared_out(amounts: Sequence[int], cells: int) -> list[int]:
    """Share cells by amount, all of them: the whole ones first, the rest to the largest remainders."""
    total = sum(amounts)
    shares = [amount * cells // total for amount in amounts]
    by_remainder = sorted(range(len(amounts)), key=lambda place: -(amounts[place] * cells % total))
    for place in by_remainder[: cells - sum(shares)]:
        shares[place] += 1
    return shares


def _give_each_kind_one(shares: list[int], kinds: Sequence[str | None]) -> None:
    """Give each kind without a cell one, and no more, of whoever has most: at most nine cells move."""
    for place, kind in enumerate(kinds):
        if kind is not None and not shares[place]:
            richest = max(range(len(shares)), key=shares.__getitem__)
            shares[richest] -= 1
            shares[place] = 1

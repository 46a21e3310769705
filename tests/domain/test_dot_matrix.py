from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting import ContextAccountingEntry
from tokeneconomizer.domain.accounting.snapshot import Kind
from tokeneconomizer.domain.context_breakdown import PENDING, Pending, Usage, build_breakdown
from tokeneconomizer.domain.dot_matrix import COLUMNS, columns_for, dot_matrix, rows_of, shared_out


def entries(**tokens: int) -> dict[Kind, ContextAccountingEntry]:
    return {Kind(kind): ContextAccountingEntry(amount, "source") for kind, amount in tokens.items()}


@pytest.mark.parametrize(
    ("amounts", "cells", "shares"),
    [
        ([1, 1, 1], 100, [34, 33, 33]),
        ([0, 5], 48, [0, 48]),
        ([2, 3, 5], 10, [2, 3, 5]),
        ([14, 86], 100, [14, 86]),
        ([105, 895], 100, [11, 89]),
    ],
)
def test_cells_are_shared_by_largest_remainder(amounts: list[int], cells: int, shares: list[int]) -> None:
    assert shared_out(amounts, cells) == shares


@pytest.mark.parametrize(
    ("width", "columns"), [(200, 50), (50, 50), (49, 32), (32, 32), (31, 24), (24, 24), (1, 24)]
)
def test_the_density_follows_the_width(width: int, columns: int) -> None:
    assert columns_for(width) == columns


def test_the_rest_of_the_window_is_free_and_what_is_pending_stands_before_it() -> None:
    breakdown = build_breakdown(Usage(20_000), 100_000, {}, [Pending("mention", 10_000)])
    cells = dot_matrix(breakdown, 50)
    assert [(kind, len(list(group))) for kind, group in groupby(cells)] == [
        ("conversation", 20),
        (PENDING, 10),
        (None, 70),
    ]


def test_without_a_window_the_kinds_share_all_cells() -> None:
    cells = dot_matrix(build_breakdown(Usage(300), None, entries(rules=100), ()), 24)
    assert Counter(cells) == {"rules": 16, "conversation": 32}


def test_of_nothing_all_cells_are_free() -> None:
    assert dot_matrix(build_breakdown(None, None, {}, ()), 24) == (None,) * 48


def test_small_kinds_have_one_cell_each_and_do_not_crowd() -> None:
    small = {kind.value: 1 for kind in Kind}
    cells = Counter(dot_matrix(build_breakdown(Usage(100_000), 200_000, entries(**small), ()), 50))
    assert all(cells[kind] == 1 for kind in small)
    assert cells["conversation"] + cells[None] == 93
    assert abs(cells["conversation"] - cells[None]) <= 1


def test_cells_run_down_each_column() -> None:
    assert rows_of(("a", "b", "c", "d", None, None)) == [("a", "c", None), ("b", "d", None)]


TOKENS = st.integers(0, 10**7)


@given(
    st.none() | st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS),
    st.none() | st.integers(1, 10**7),
    st.dictionaries(st.sampled_from([kind.value for kind in Kind]), st.integers(1, 10**6)),
    st.lists(st.builds(Pending, st.just("mention"), TOKENS), max_size=2),
    st.sampled_from(COLUMNS),
)
def test_there_are_always_as_many_cells_and_one_at_least_for_each_kind(
    usage: Usage | None,
    window: int | None,
    tokens: dict[str, int],
    pending: list[Pending],
    columns: int,
) -> None:
    breakdown = build_breakdown(usage, window, entries(**tokens), pending)
    cells = dot_matrix(breakdown, columns)
    kinds = [part.kind for part in breakdown.parts]
    assert len(cells) == 2 * columns
    assert set(cells) - {None} == set(kinds)
    capacity = max(window or 0, sum(part.tokens for part in breakdown.parts))
    for part in breakdown.parts:
        fair = part.tokens * 2 * columns / capacity
        assert fair - 1 - len(kinds) <= cells.count(part.kind) <= max(1, fair + 1)

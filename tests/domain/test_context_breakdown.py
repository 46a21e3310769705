from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting import ContextAccountingEntry
from tokeneconomizer.domain.accounting.snapshot import Kind
from tokeneconomizer.domain.context_breakdown import (
    LABELS,
    PENDING,
    PENDING_SOURCES,
    ContextUsageBreakdown,
    Pending,
    Usage,
    build_breakdown,
)

RULES = {Kind.RULES: ContextAccountingEntry(93, "workspace/CLAUDE.md", "CLAUDE.md")}
TOOLS = {Kind.TOOLS: ContextAccountingEntry(813, "tool_use/tool/Bash", "Bash × 3")}


def amounts(breakdown: ContextUsageBreakdown) -> dict[str, int]:
    return {str(part.kind): part.tokens for part in breakdown.parts}


@pytest.mark.parametrize(
    ("usage", "window", "entries", "pending", "used", "parts", "overcounted"),
    [
        pytest.param(
            Usage(2_000, 20_000, 4_000, 1_300),
            200_000,
            RULES | TOOLS,
            [],
            27_300,
            {"tools": 813, "rules": 93, "conversation": 2_394, "cache_or_previous": 24_000},
            False,
            id="known window",
        ),
        pytest.param(
            Usage(500, None, None, 100),
            None,
            RULES,
            [],
            600,
            {"rules": 93, "conversation": 507},
            False,
            id="unknown window",
        ),
        pytest.param(
            None,
            200_000,
            {},
            [("composer", 40), ("attachment", 1_200), ("composer", 10)],
            0,
            {"pending_next_turn": 1_250},
            False,
            id="pending only",
        ),
        pytest.param(
            Usage(10, 90_000, 5_000, 40),
            200_000,
            RULES,
            [],
            95_050,
            {"rules": 93, "cache_or_previous": 94_957},
            False,
            id="cache-heavy: the cache is bounded by what is not known",
        ),
        pytest.param(
            Usage(50, 0, 0, 20),
            200_000,
            RULES,
            [],
            70,
            {"rules": 93},
            True,
            id="negative residual: known parts exceed what was reported",
        ),
        pytest.param(Usage(0, 0, 0, 900), 200_000, RULES, [], 93, {"rules": 93}, False, id="no input side"),
        pytest.param(None, 200_000, RULES, [], 93, {"rules": 93}, False, id="estimates alone"),
        pytest.param(None, None, {}, [], 0, {}, False, id="nothing yet"),
        pytest.param(
            Usage(93, 0, 0, 0),
            1_000,
            RULES,
            [("mention", 0)],
            93,
            {"rules": 93},
            False,
            id="nothing is left over",
        ),
    ],
)
def test_what_is_used_is_taken_apart(  # noqa: PLR0913, PLR0917 - a table's columns
    usage: Usage | None,
    window: int | None,
    entries: dict[Kind, ContextAccountingEntry],
    pending: list[tuple[str, int]],
    used: int,
    parts: dict[str, int],
    overcounted: bool,
) -> None:
    breakdown = build_breakdown(usage, window, entries, [Pending(*item) for item in pending])
    assert breakdown.used_tokens == used
    assert amounts(breakdown) == parts
    assert breakdown.overcounted is overcounted


def test_without_a_window_nothing_is_said_of_it() -> None:
    assert build_breakdown(Usage(500), None, {}, ()).to_json("en") == {
        "usedTokens": 500,
        "parts": [{"kind": "conversation", "label": "Conversation", "tokens": 500, "source": "usage/rest"}],
    }


def test_a_window_of_nothing_is_unknown() -> None:
    assert build_breakdown(Usage(500), 0, {}, ()).ratio is None


def test_the_json_form_holds_what_is_known() -> None:
    found = build_breakdown(Usage(50), 200, RULES, [Pending("mention", 5), Pending("composer", 1)])
    assert found.to_json("zh") == {
        "usedTokens": 50,
        "contextWindow": 200,
        "remainingTokens": 150,
        "ratio": 0.25,
        "overcounted": True,
        "parts": [
            {
                "kind": "rules",
                "label": "规则",
                "tokens": 93,
                "source": "workspace/CLAUDE.md",
                "detail": "CLAUDE.md",
            },
            {
                "kind": "pending_next_turn",
                "label": "本次待加入",
                "tokens": 6,
                "source": "pending/composer + pending/mention",
                "detail": "composer 1, mention 5",
            },
        ],
    }


def test_a_context_beyond_its_window_has_nothing_left() -> None:
    found = build_breakdown(Usage(300), 200, {}, ())
    assert (found.remaining_tokens, found.ratio) == (0, 1.5)


TOKENS = st.integers(0, 10_000)
MAYBE = st.none() | TOKENS


@given(
    st.none() | st.builds(Usage, MAYBE, MAYBE, MAYBE, MAYBE),
    st.none() | st.integers(0, 30_000),
    st.dictionaries(
        st.sampled_from(Kind), st.builds(ContextAccountingEntry, st.integers(1, 5_000), st.just("source"))
    ),
    st.lists(st.builds(Pending, st.sampled_from(PENDING_SOURCES), TOKENS), max_size=4),
)
def test_parts_sum_to_what_is_used_in_a_fixed_order_and_nothing_is_negative(
    usage: Usage | None,
    window: int | None,
    entries: dict[Kind, ContextAccountingEntry],
    pending: list[Pending],
) -> None:
    found = build_breakdown(usage, window, entries, pending)
    kinds = [part.kind for part in found.parts]
    summed = sum(part.tokens for part in found.parts if part.kind != PENDING)
    assert (summed != found.used_tokens) == found.overcounted
    assert kinds == [kind for kind in LABELS if kind in kinds]
    assert all(part.tokens > 0 and part.source for part in found.parts)
    assert found.used_tokens >= 0
    assert found.remaining_tokens is None or found.remaining_tokens >= 0
    assert found.pending_tokens == sum(item.tokens for item in pending)

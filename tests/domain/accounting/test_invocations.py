from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting import (
    ToolInvocationAccumulator,
    ToolInvocationRecord,
    canonicalize_skill_name,
    classify_tool_use,
)
from tokeneconomizer.domain.accounting.invocations import Invoked, tokens_of


def record(tool: str, value: object = None, result: str | None = None) -> ToolInvocationRecord:
    return ToolInvocationRecord("id", tool, value, result)


@pytest.mark.parametrize(
    ("tool", "value", "kind", "name"),
    [
        ("Bash", {}, "tools", "Bash"),
        ("skill", {"skill": "a"}, "tools", "skill"),
        ("mcp__memory__recent", {}, "mcp", "memory"),
        ("mcp__a-b__tool__with__lines", {}, "mcp", "a-b"),
        ("mcp____x", {}, "mcp", "unknown"),
        ("mcp__", {}, "mcp", "unknown"),
        ("Skill", {"skill": " /Humanizer-ZH "}, "skills", "humanizer-zh"),
        ("Skill", {"skill": ""}, "skills", ""),
        ("Skill", {"skill": 3}, "skills", ""),
        ("Skill", {}, "skills", ""),
        ("Skill", "a", "skills", ""),
    ],
)
def test_a_call_counts_as_a_skill_a_server_or_a_tool(tool: str, value: object, kind: str, name: str) -> None:
    assert classify_tool_use(record(tool, value)) == (kind, name)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("humanizer-zh", "humanizer-zh"),
        ("/Humanizer-ZH", "humanizer-zh"),
        ("  //x \n", "x"),
        ("/ / x", "x"),
        ("///", ""),
        ("", ""),
        (None, ""),
        (7, ""),
        ("plugin:Name", "plugin:name"),
    ],
)
def test_names_of_skills_are_compared_without_slashes_blanks_and_case(value: object, name: str) -> None:
    assert canonicalize_skill_name(value) == name


@pytest.mark.parametrize(
    ("value", "result", "tokens"),
    [
        ({}, None, 1),
        ({}, "", 1),
        ({}, "123", 2),
        ({"command": "ls"}, None, 4),
        ({"command": "ls"}, "a", 5),
        ({"n": 1.0}, None, 2),
        ({"t": "😀"}, None, 3),
        ({}, "😀😀", 2),
        (None, None, 1),
    ],
)
def test_tokens_of_a_call_are_a_quarter_of_input_and_result_rounded_up(
    value: object, result: str | None, tokens: int
) -> None:
    assert tokens_of(record("Bash", value, result)) == tokens


def test_a_repeated_id_counts_once_with_the_last_name_and_input() -> None:
    turn = ToolInvocationAccumulator()
    turn.record_tool_use("1", "Bash", {})
    turn.record_tool_result("1", "done")
    turn.record_tool_use("1", "Read", {"path": "a"})
    assert turn.drain() == (ToolInvocationRecord("1", "Read", {"path": "a"}, "done"),)


def test_a_result_without_a_use_is_ignored_and_a_use_without_a_result_stays() -> None:
    turn = ToolInvocationAccumulator()
    turn.record_tool_result("lost", "done")
    turn.record_tool_use("1", "Bash", {})
    assert turn.drain() == (ToolInvocationRecord("1", "Bash", {}, None),)


def test_draining_leaves_nothing_for_the_next_turn() -> None:
    turn = ToolInvocationAccumulator()
    turn.record_tool_use("1", "Bash", {})
    turn.record_tool_result("1", "done")
    turn.record_tool_result("2", "done")
    assert len(turn.drain()) == 1
    turn.record_tool_use("2", "Bash", {})
    assert turn.drain() == (ToolInvocationRecord("2", "Bash", {}, None),)


@given(st.integers(1, 6).flatmap(lambda calls: st.permutations([(n, k) for n in range(calls) for k in "ur"])))
def test_any_interleaving_of_uses_and_results_comes_to_the_same(steps: list[tuple[int, str]]) -> None:
    turn = ToolInvocationAccumulator()
    for number, step in steps:
        if step == "u":
            turn.record_tool_use(str(number), ("Bash", "Read")[number % 2], {"n": number})
        else:
            turn.record_tool_result(str(number), "x" * number)
    invoked = Invoked.by(turn.drain())
    in_order = ToolInvocationAccumulator()
    for number, step in sorted(steps, key=lambda step: (step[0], step[1] == "r")):
        if step == "u":
            in_order.record_tool_use(str(number), ("Bash", "Read")[number % 2], {"n": number})
        else:
            in_order.record_tool_result(str(number), "x" * number)
    assert invoked.sums == Invoked.by(in_order.drain()).sums

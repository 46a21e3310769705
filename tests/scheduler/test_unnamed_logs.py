"""Copilot's hooks name neither their log nor their turn: both are known from the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokeneconomizer.domain.commands import HookCommand, OpenTurn
from tokeneconomizer.hosts.copilot.payload import decode
from tokeneconomizer.scheduler.building import UnnamedLogs

LOGS = UnnamedLogs(Path("/home/dev"), {"copilot": {}, "codex": {"COPILOT_HOME": "/of/another"}})
PROMPT = {"timestamp": 1_767_603_600_000, "prompt": "go"}
CALL = {
    "timestamp": 1_767_603_600_500,
    "toolName": "bash",
    "toolArgs": {},
    "toolResult": {"textResultForLlm": "a"},
}
OPEN = OpenTurn("1767603600000")


def command(event: str, **fields: object) -> HookCommand:
    return decode({"sessionId": "s-1", "cwd": "/p", **fields}, event)


@pytest.mark.parametrize(
    ("given", "turn"),
    [
        (command("postToolUse", **CALL), "1767603600000"),
        (command("agentStop"), "1767603600000"),
        (command("userPromptSubmitted", **PROMPT), ""),
        (command("sessionStart"), ""),
        (command("postToolUse", **CALL, agentId="child", parentAgentId="s-1"), "child"),
    ],
)
def test_the_log_lies_where_the_session_is_and_the_turn_is_the_open_one(
    given: HookCommand, turn: str
) -> None:
    named = LOGS.named_in(given, OPEN)
    assert named.transcript == "/home/dev/.copilot/session-state/s-1/events.jsonl"
    assert named.running_turn == turn


def test_a_path_that_the_hook_names_stands_and_the_agents_variable_counts() -> None:
    stop = command("agentStop", transcriptPath="/elsewhere/events.jsonl")
    moved = UnnamedLogs(Path("/home/dev"), {"copilot": {"COPILOT_HOME": "/moved"}})

    assert LOGS.named_in(stop, OPEN).transcript == "/elsewhere/events.jsonl"
    assert moved.named_in(command("agentStop"), OPEN).transcript == ("/moved/session-state/s-1/events.jsonl")


@pytest.mark.parametrize("session_id", ["../s-1", "a/b", "/etc"])
def test_an_id_that_leads_elsewhere_names_no_log(session_id: str) -> None:
    given = command("agentStop", sessionId=session_id)
    assert LOGS.named_in(given, OPEN) == given

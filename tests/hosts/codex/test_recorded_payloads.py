"""Every payload that was recorded from the real agent, with its rollout, where the recordings are at hand."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    HookCommand,
    OpenTurn,
    ReturnCalls,
    StartCall,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.scheduler import intake
from tokeneconomizer.scheduler.building import settled

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[4] / "shared")
PAYLOADS = CORPUS / "payloads" / "codex"
ROLLOUTS = CORPUS / "transcripts" / "codex"

pytestmark = pytest.mark.skipif(
    not PAYLOADS.is_dir(), reason="no recorded payloads: name their folder in TOKENECONOMIZER_CORPUS"
)

_SHORT = ("prompt", "end turn stop", "end session other")
_RESUMED = ("start resume", *_SHORT)
_FORKED = ("start fork", *_SHORT)
_SCRIPT = ("start startup", "prompt", "next exec (exec ok)", "exec_command failed 3")
_END = ("end turn stop", "end session other")

EXPECTED: dict[str, tuple[str, ...]] = {
    "0.164.0/direct": (
        *("start startup", "prompt", "next call_1_1", "exec_command failed 3", *_END),
        *(*_RESUMED, *_RESUMED, *_FORKED),
    ),
    "0.164.0/code_mode_subagent": (
        *(*_SCRIPT, "next call_2_0", "spawn_agent ok", "child: start sub_agent", "next call_4_0"),
        *("child: next exec (exec ok)", "child: exec_command ok 0", "child: end session stop"),
        *("wait_agent ok", *_END, *_RESUMED, *_RESUMED, *_FORKED),
    ),
    "0.171.0/code_mode_subagent": (
        *(*_SCRIPT, "next call_2_0", "spawn_agent ok", "child: start sub_agent", "next call_3_0"),
        *("child: next exec (exec ok)", "child: exec_command ok 0", "child: end session stop"),
        *("wait_agent ok", *_END, *_RESUMED, *_RESUMED, *_FORKED),
    ),
    "0.171.0/code_mode_resume_fork": (
        *(*_SCRIPT, "next exec", "apply_patch ok", "next call_2_0", "spawn_agent ok"),
        *("child: start sub_agent", "next call_3_0", "child: end session stop", "wait_agent ok"),
        *(*_END, *_RESUMED, *_FORKED),
    ),
    "0.171.0/compaction": (
        *("start startup", "prompt", "next call_1_0", "exec_command ok 0"),
        *("nothing", "compacted auto", "start compact", *_END),
    ),
    # Its rollout was not kept, so that nothing tells the exit code.
    "0.171.0/direct": (
        *("start startup", "prompt", "next call_1_0", "exec_command ok"),
        *("next call_2_0", "apply_patch ok 0", *_END),
    ),
    "0.171.0/tool_coverage": (
        *("start startup", "prompt", "next call_1_0", "exec_command ok 0"),
        *("next call_3_0 (write_stdin ok)", "next call_4_0 (view_image failed)", "get_goal ok"),
        *("next call_5_0", "mcp__demo__alpha ok", "next call_6_0"),
        *("next call_7_0 (mcp__demo__beta failed)", "exec_command failed 1"),
        *("next call_9_0 (exec_command never_ran)", "next call_10_0 (apply_patch failed)"),
        *("exec_command ok 0", *_END),
    ),
}
"""Folder -> what its payloads tell, in their order; calls that the rollout alone tells stand in brackets."""


def rollout_of(command: HookCommand) -> str:
    """Return the recorded rollout that the payload names; else nothing is read."""
    found = sorted(ROLLOUTS.rglob(Path(command.transcript).name))
    return str(found[0]) if found else ""


def told(command: HookCommand) -> str:
    """Return a decoded and settled payload in a few words."""
    match command.step:
        case StartSession(source):
            words = f"start {source}"
        case SubmitPrompt():
            words = "prompt"
        case StartCall(call_id):
            # The id of a call that a script makes is random.
            words = f"next {'exec' if call_id.startswith('exec-') else call_id}"
        case ReturnCalls((call,)):
            words = f"{call.tool} {call.status}{'' if call.exit_code is None else f' {call.exit_code}'}"
        case EndTurn(reason):
            words = f"end turn {reason}"
        case EndSession(reason):
            words = f"end session {reason}"
        case Compact(trigger):
            words = f"compacted {trigger}"
        case _:
            words = "nothing"
    unheard = [f"{call.tool} {call.status}" for call in command.unheard]
    prefix = "child: " if command.key.agent_id else ""
    return f"{prefix}{words}{' (' + ', '.join(unheard) + ')' if unheard else ''}"


def replayed(folder: Path) -> list[str]:
    """Return what each payload of a folder tells, with its rollout read as the daemon does."""
    words: list[str] = []
    heard: set[str] = set()
    for path in sorted(folder.glob("*.json")):
        host, command = intake.decode(path.read_bytes(), "", "")
        assert host.NAME == "codex"
        command = settled(replace(command, transcript=rollout_of(command)), OpenTurn())
        unheard = tuple(call for call in command.unheard if call.call_id not in heard)
        own = command.step.calls if isinstance(command.step, ReturnCalls) else ()
        heard |= {call.call_id for call in (*unheard, *own)}
        words.append(told(replace(command, unheard=unheard)))
    return words


@pytest.mark.parametrize("folder", EXPECTED)
def test_the_payloads_of_a_session_tell_what_happened(folder: str) -> None:
    assert replayed(PAYLOADS / folder) == list(EXPECTED[folder])


def test_no_recorded_payload_is_left_out() -> None:
    recorded = {str(path.parent.relative_to(PAYLOADS)) for path in PAYLOADS.rglob("*-*.json")}

    assert recorded == set(EXPECTED)

"""Recorded sessions of all agents, accounted turn by turn as if live, where the recordings are at hand."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

import pytest
from context_files import FakeContextFiles
from log_reading import CORPUS, NO_RECORDINGS
from sessions import Telling

from tokeneconomizer.domain.accounting import (
    ToolInvocationRecord,
    TurnOfRuntime,
    collect_auto_invoke_snapshot,
)
from tokeneconomizer.domain.accounting.turn import Accounting, Runtime
from tokeneconomizer.domain.commands import EndTurn, ReturnCalls, SessionKey, SubmitPrompt
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop
from tokeneconomizer.scheduler.replay_sources import records_of

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {
    "claude_code": ("claude_code", "real/claude"),
    "codex": ("codex", "real/codex"),
    "copilot": ("copilot", "real/copilot"),
    "pi": ("pi", "real/pi"),
    "opencode": ("opencode", "real/opencode/export"),
}
"""Agent -> where its recordings lie."""

SUFFIXES = {"opencode": ".json"}

BYTES_MAX = 3_000_000
"""All sessions but a few long ones, in seconds."""

SESSIONS = [
    (host, path)
    for host, folders in FOLDERS.items()
    for folder in folders
    for path in sorted((CORPUS / "transcripts" / folder).rglob("*"))
    if path.suffix == SUFFIXES.get(host, ".jsonl") and path.stat().st_size <= BYTES_MAX
]

FILES = FakeContextFiles({"/home/dev/project/CLAUDE.md": b"x" * 370})
PRODUCERS = {host: "codex_runtime" if host == "codex" else host for host in FOLDERS}
ACCOUNTING = Accounting({host: Runtime(name, ("CLAUDE.md",)) for host, name in PRODUCERS.items()}, FILES)

pytestmark = pytest.mark.skipif(not SESSIONS, reason=NO_RECORDINGS)


def told(host: str, path: Path) -> tuple[Telling, list[list[ToolInvocationRecord]]]:
    """A session as its log tells it, and the calls of each of its turns."""
    telling = Telling(SessionKey(host, "session-1"), Rules(accounting=ACCOUNTING))
    turns: list[list[ToolInvocationRecord]] = []
    numbers = count()
    for record in records_of(path, host):
        match record:
            case LoggedPrompt(text=text, kind=kind):
                telling.tell(SubmitPrompt(f"prompt-{next(numbers)}", text, kind))
                turns.append([])
            case LoggedStep(calls=calls):
                if telling.session is None or not telling.session.turn.is_open:
                    turns.append([])
                telling.tell(ReturnCalls(calls, whole_step=True))
                turns[-1] += [
                    ToolInvocationRecord(call.call_id, call.tool, dict(call.arguments), call.output)
                    for call in calls
                ]
            case LoggedStop(reason=reason):
                telling.tell(EndTurn(reason))
    telling.stop()
    return telling, turns


@pytest.mark.parametrize(
    ("host", "path"), SESSIONS, ids=[str(path.relative_to(CORPUS)) for _, path in SESSIONS]
)
def test_every_turn_has_the_snapshot_of_its_own_calls(host: str, path: Path) -> None:
    telling, turns = told(host, path)
    snapshots = [json.loads(str(vars(event)["snapshot"])) for event in telling.of("context_accounted")]
    assert len(snapshots) == len(telling.of("turn_ended")) == len(turns)
    ids = [record.tool_use_id for records in turns for record in records]
    # In some recordings all ids were blanked out: their calls cannot be told apart.
    are_told_apart = len(set(ids)) == len(ids)
    for snapshot, records in zip(snapshots, turns, strict=True):
        assert set(snapshot["entries"]) <= {"tools", "rules", "skills", "mcp"}
        assert all(entry["tokens"] > 0 and entry["source"] for entry in snapshot["entries"].values())
        if are_told_apart and "tools" not in snapshot["unsupported"]:
            turn = TurnOfRuntime("/home/dev/project", PRODUCERS[host])
            assert snapshot == collect_auto_invoke_snapshot(records, turn, FILES).to_json()

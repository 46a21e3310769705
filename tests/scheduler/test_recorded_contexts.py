"""Recorded sessions of Claude Code, accounted turn by turn as if live, where the recordings are at hand."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

import pytest
from context_files import FakeContextFiles
from sessions import Telling

from tokeneconomizer.domain.accounting import (
    ToolInvocationRecord,
    TurnOfRuntime,
    collect_auto_invoke_snapshot,
)
from tokeneconomizer.domain.accounting.turn import Accounting, Runtime
from tokeneconomizer.domain.commands import EndTurn, ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.hosts.claude_code import log
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[3] / "shared")
SESSIONS = sorted((CORPUS / "transcripts").glob("**/*claude*/**/*.jsonl"))

BYTES_MAX = 3_000_000
"""All sessions but a few long ones, in seconds."""

FILES = FakeContextFiles({"/home/dev/project/CLAUDE.md": b"x" * 370})
RUNTIME = Runtime("claude_code", ("CLAUDE.md",))

pytestmark = pytest.mark.skipif(
    not SESSIONS, reason="no recorded sessions: name their folder in TOKENECONOMIZER_CORPUS"
)


def told(path: Path) -> tuple[Telling, list[list[ToolInvocationRecord]]]:
    """A session as its log tells it, and the calls of each of its turns."""
    telling = Telling(rules=Rules(accounting=Accounting({"claude_code": RUNTIME}, FILES)))
    turns: list[list[ToolInvocationRecord]] = []
    numbers = count()
    with path.open("rb") as lines:
        for record in log.read(lines):
            match record:
                case LoggedPrompt(_, _, _, text, kind):
                    telling.tell(SubmitPrompt(f"prompt-{next(numbers)}", text, kind))
                    turns.append([])
                case LoggedStep(calls, _, _, _):
                    if telling.session is None or not telling.session.turn.is_open:
                        turns.append([])
                    telling.tell(ReturnCalls(calls, whole_step=True))
                    turns[-1] += [
                        ToolInvocationRecord(call.call_id, call.tool, dict(call.arguments), call.output)
                        for call in calls
                    ]
                case LoggedStop(_, _, reason):
                    telling.tell(EndTurn(reason))
    telling.stop()
    return telling, turns


@pytest.mark.parametrize(
    "path",
    [path for path in SESSIONS if path.stat().st_size <= BYTES_MAX],
    ids=lambda path: str(path.relative_to(CORPUS)),
)
def test_every_turn_has_the_snapshot_of_its_own_calls(path: Path) -> None:
    telling, turns = told(path)
    snapshots = [json.loads(str(vars(event)["snapshot"])) for event in telling.of("context_accounted")]
    ended = telling.of("turn_ended")
    assert len(snapshots) == len(ended) == len(turns)
    for snapshot, records in zip(snapshots, turns, strict=True):
        assert set(snapshot["entries"]) <= {"tools", "rules", "skills", "mcp"}
        assert all(entry["tokens"] > 0 and entry["source"] for entry in snapshot["entries"].values())
        if "tools" not in snapshot["unsupported"]:
            turn = TurnOfRuntime("/home/dev/project", "claude_code")
            assert snapshot == collect_auto_invoke_snapshot(records, turn, FILES).to_json()

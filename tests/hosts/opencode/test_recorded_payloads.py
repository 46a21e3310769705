"""Every hook object that was recorded from the real opencode is read, where the recordings are at hand."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tokeneconomizer.domain.commands import EndTurn, ReturnCalls, StartSession, SubmitPrompt
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.scheduler import intake

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[4] / "shared")
FOLDER = CORPUS / "payloads" / "opencode"
RECORDED = sorted(FOLDER.glob("*.json"))

pytestmark = pytest.mark.skipif(
    not RECORDED, reason="no recorded payloads: name their folder in TOKENECONOMIZER_CORPUS"
)

STEPS: dict[str, type] = {
    "chat.message": SubmitPrompt,
    "event.session.created": StartSession,
    "event.session.idle": EndTurn,
    "tool.execute.after.bash": ReturnCalls,
    "tool.execute.after.edit": ReturnCalls,
    "tool.execute.after.read": ReturnCalls,
    "tool.execute.after.write": ReturnCalls,
}
"""What is stored of them; every other one is known, and nothing is."""

RUNS = {
    "hooks_full_run.jsonl": {
        "StartSession": 1, "SubmitPrompt": 1, "EndTurn": 1,
        "bash ok": 1, "bash failed": 1, "read ok": 1, "write ok": 1, "edit ok": 1,
    },
    "hooks_failed_edit_and_doom_loop.jsonl": {
        "StartSession": 1, "SubmitPrompt": 1, "EndTurn": 3,
        "edit failed": 1, "invalid never_ran": 1, "bash failed": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_object_is_the_command_that_it_means(path: Path) -> None:
    host, command = intake.decode(path.read_bytes(), "opencode", "")
    assert host.NAME == "opencode"
    assert type(command.step) is STEPS.get(path.stem, type(None))


@pytest.mark.parametrize("name", RUNS)
def test_a_whole_run_comes_to_these_commands(name: str) -> None:
    told: Counter[str] = Counter()
    for line in (FOLDER / name).read_bytes().splitlines():
        assert json.loads(line)
        step = intake.decode(line, "opencode", "")[1].step
        if isinstance(step, ReturnCalls):
            told.update(f"{call.tool} {CallStatus(call.status).value}" for call in step.calls)
        elif step is not None:
            told[type(step).__name__] += 1
    assert told == RUNS[name]

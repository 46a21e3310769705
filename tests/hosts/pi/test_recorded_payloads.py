"""Every event that was recorded from the real Pi, in the extension's envelope; where they are at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tokeneconomizer.domain.commands import EndSession, EndTurn, ReturnCalls, StartSession, SubmitPrompt
from tokeneconomizer.scheduler import intake

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[4] / "shared")
FOLDER = CORPUS / "payloads" / "pi"
RECORDED = sorted(FOLDER.glob("*.json"))

pytestmark = pytest.mark.skipif(
    not RECORDED, reason="no recorded payloads: name their folder in TOKENECONOMIZER_CORPUS"
)

STEPS = {
    "agent_settled": EndTurn,
    "session_shutdown": EndSession,
    "session_start": StartSession,
    "turn_end": ReturnCalls,
}


def decoded(recorded: dict[str, dict[str, object]]) -> object:
    context = recorded["ctx"]
    envelope = {
        "session_id": context["sessionId"],
        "session_file": context["sessionFile"],
        "cwd": context["cwd"],
        "event": recorded["event"],
    }
    host, command = intake.decode(json.dumps(envelope).encode(), "pi", "")
    assert host.NAME == "pi"
    assert command.key.session_id == context["sessionId"]
    return command.step


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_event_is_the_step_that_it_tells(path: Path) -> None:
    recorded = json.loads(path.read_bytes())
    expected = STEPS.get(recorded["name"])
    found = decoded(recorded)
    assert found is None if expected is None else isinstance(found, expected)


def test_a_recorded_run_is_told_whole() -> None:
    lines = (FOLDER / "events_full_run.jsonl").read_bytes().splitlines()
    steps = [step for line in lines if (step := decoded(json.loads(line))) is not None]

    assert [type(step).__name__ for step in steps] == [
        "StartSession", "SubmitPrompt", "ReturnCalls", "ReturnCalls", "ReturnCalls", "EndTurn", "EndSession",
    ]  # fmt: skip
    (prompt,) = [step for step in steps if isinstance(step, SubmitPrompt)]
    assert prompt.text == "Do the thing"
    returned = [step for step in steps if isinstance(step, ReturnCalls)]
    assert [
        [(call.tool, call.status.value, call.exit_code) for call in step.calls] for step in returned
    ] == [
        [("bash", "ok", 0)],
        [("bash", "failed", 3), ("read", "ok", None)],
        [("write", "ok", None), ("edit", "ok", None)],
    ]  # fmt: skip

"""Every payload that was recorded from the real agent is read, where the recordings are at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tokeneconomizer.hosts.claude_code.payload import STORED_EVENTS
from tokeneconomizer.scheduler import intake

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[4] / "shared")
RECORDED = sorted((CORPUS / "payloads" / "claude_code").glob("[A-Z]*.json"))

pytestmark = pytest.mark.skipif(
    not RECORDED, reason="no recorded payloads: name their folder in TOKENECONOMIZER_CORPUS"
)


@pytest.mark.parametrize(
    "path", [path for path in RECORDED if path.name != "NOTES.json"], ids=lambda p: p.stem
)
def test_a_recorded_payload_is_claude_codes_and_is_read(path: Path) -> None:
    data = path.read_bytes()
    host, command = intake.decode(data, "", "")
    payload = json.loads(data)

    assert host.NAME == "claude_code"
    assert command.event == payload["hook_event_name"]
    assert command.key.session_id == payload["session_id"]
    is_of_a_compaction = payload.get("agent_type") == "" and command.event == "SubagentStop"
    assert (command.step is not None) is (command.event in STORED_EVENTS and not is_of_a_compaction)

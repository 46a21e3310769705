"""What a sweep of Copilot's log adds to what its hooks told: calls that were refused, and nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from workbench import Workbench, rows_of

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.copilot import log as copilot_log
from tokeneconomizer.hosts.copilot.payload import decode
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler import sweep_logs
from tokeneconomizer.scheduler.finding_missed import MissedCallsOfTurn
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending

if TYPE_CHECKING:
    from collections.abc import Iterator

PROMPTED_MS = 1_767_603_600_000
AT = "2026-01-05T09:00:{second:02}.000Z"


@pytest.fixture
def home() -> Iterator[Home]:
    with TemporaryDirectory(prefix="te-") as folder:
        home = Home(Path(folder) / "state")
        home.create()
        yield home


def tell_by_hooks(home: Home) -> None:
    common = {"sessionId": "s1", "cwd": "/home/dev/project"}
    call = {"toolName": "bash", "toolArgs": {"command": "ls"}, "toolResult": {"textResultForLlm": "a"}}
    hooks = [
        ("userPromptSubmitted", {"timestamp": PROMPTED_MS, "prompt": "go"}),
        ("postToolUse", {"timestamp": PROMPTED_MS + 2_000, **call}),
        ("agentStop", {"timestamp": PROMPTED_MS + 9_000}),
    ]
    with Workbench(home) as bench:
        for event, fields in hooks:
            command = decode({**common, **fields}, event)
            bench.do(command.step, key=command.key)


def write_log(user_home: Path) -> None:
    def asks(call_id: str, command: str) -> dict[str, object]:
        request = {"toolCallId": call_id, "name": "bash", "arguments": {"command": command}}
        return {"messageId": f"m-{call_id}", "toolRequests": [request]}

    error = {"message": "Denied by preToolUse hook: no", "code": "denied"}
    events: list[tuple[str, dict[str, object]]] = [
        ("session.start", {"sessionId": "s1", "copilotVersion": "1.0.102"}),
        ("hook.start", {"hookType": "userPromptSubmitted", "input": {"timestamp": PROMPTED_MS}}),
        ("user.message", {"content": "go"}),
        ("assistant.message", asks("call-1", "ls")),
        ("tool.execution_complete", {"toolCallId": "call-1", "success": True, "result": {"content": "a"}}),
        ("assistant.message", asks("call-2", "git push")),
        ("tool.execution_complete", {"toolCallId": "call-2", "success": False, "error": error}),
        ("assistant.message", {"messageId": "m-end", "toolRequests": []}),
    ]
    path = copilot_log.path_of("s1", AgentHomes(user_home))
    path.parent.mkdir(parents=True)
    lines = [
        json.dumps({"type": kind, "data": data, "id": f"e{second}", "timestamp": AT.format(second=second)})
        for second, (kind, data) in enumerate(events)
    ]
    path.write_text("\n".join(lines) + "\n")


def sweep(home: Home, user_home: Path) -> None:
    with EventLog(home.events) as log, Sending(home) as sending:
        ground = Ground(log, Hasher(home.key()), str(user_home), LogPlaces(str(user_home)).of, sending.send)
        missed = MissedCallsOfTurn(ground, sending.ask)
        sweep_logs.Sweep(ground, missed, home.cache).run(find(AgentHomes(user_home), LOGS))


def test_a_refused_call_is_stored_in_its_turn_and_one_that_had_a_hook_is_not_stored_again(
    home: Home, tmp_path: Path
) -> None:
    tell_by_hooks(home)
    write_log(tmp_path)
    sweep(home, tmp_path)
    (home.cache / "swept.msgpack").unlink()
    sweep(home, tmp_path)

    rows = rows_of(home.events, "SELECT state FROM stored_events WHERE topic LIKE 'session.tool_%'")
    stored = [json.loads(bytes(state)) for (state,) in rows]  # type: ignore[call-overload]
    assert [event["command"] for event in stored if "command" in event] == ["ls", "git push"]
    assert [event["status"] for event in stored if "status" in event] == ["ok", "never_ran"]
    assert {event["turn"] for event in stored} == {1}

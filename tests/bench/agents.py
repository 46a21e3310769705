"""
What a hook call of each further agent adds to its tool call: `python tests/bench/agents.py`.

The real client and a real daemon, with each agent's own payload, beside `python -I -S -c pass`, by turns. For
Codex a rollout grows along, whose end the daemon reads for each call.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hook_start import BARE, HOOK, OUTPUT_CHARACTERS, REPLY, RUNS, WARM_UP_RUNS, elapsed_ms, summary
from load import daemon

from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION = "019a0000-1000-7000-8000-000000000002"
TURN = "019a0000-1500-7000-8000-00000000000b"
# A session of an hour or two.
LINES_BEFORE = 400


def hook(host: str, event: str) -> list[str]:
    """Return the client's command line as a registration of that agent has it."""
    return [*HOOK[:4], "--host", host, "--event", event, "--via", "plugin"]


class CodexSession:
    """A rollout, and the payloads that go with it."""

    def __init__(self, folder: Path) -> None:
        self._rollout = folder / f"rollout-2026-01-05T10-00-00-{SESSION}.jsonl"
        start = {"type": "task_started", "turn_id": TURN}
        self._write("session_meta", {"id": SESSION, "cwd": "/home/dev/project", "cli_version": "0.171.0"})
        self._write("event_msg", start)
        self._write("turn_context", {"turn_id": TURN, "model": "m", "cwd": "/home/dev/project"})
        for number in range(LINES_BEFORE // 3):
            self._call(f"call_before_{number}", number)

    def after(self, number: int) -> bytes:
        """Let a command end, and return the payload that tells it."""
        call_id = f"call_{number}"
        output = self._call(call_id, number)
        return self._payload("PostToolUse", call_id, tool_name="Bash", tool_response=output)

    def before(self, number: int) -> bytes:
        """Return the payload of a call that is about to run, after others that are all told."""
        return self._payload("PreToolUse", f"call_next_{number}", tool_name="apply_patch")

    def _payload(self, event: str, call_id: str, **fields: object) -> bytes:
        common = {
            "session_id": SESSION,
            "turn_id": TURN,
            "transcript_path": str(self._rollout),
            "cwd": "/home/dev/project",
            "hook_event_name": event,
            "tool_input": {"command": f"cat module_{call_id}.py"},
            "tool_use_id": call_id,
        }
        return json.dumps({**common, **fields}).encode()

    def _call(self, call_id: str, number: int) -> str:
        output = f"{number}: {'x' * OUTPUT_CHARACTERS}"
        of_turn = {"internal_chat_message_metadata_passthrough": {"turn_id": TURN}}
        asked = {"type": "function_call", "name": "exec_command", "call_id": call_id, "arguments": "{}"}
        ended = {"type": "CommandExecution", "id": call_id, "command": ["cat"], "exit_code": 0}
        item = {**ended, "aggregated_output": output}
        self._write("response_item", {**asked, **of_turn})
        self._write(
            "event_msg",
            {"type": "item_completed", "turn_id": TURN, "item": item},
        )
        told = {"type": "function_call_output", "call_id": call_id, "output": output}
        self._write("response_item", {**told, **of_turn})
        return output

    def _write(self, kind: str, payload: dict[str, object]) -> None:
        line = {"timestamp": "2026-01-05T10:00:00.000Z", "type": kind, "payload": payload}
        with self._rollout.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def copilot_result(number: int) -> bytes:
    """Return the payload of a shell call that came back, in Copilot's spelling."""
    text = f"{number}: {'x' * OUTPUT_CHARACTERS}\n<exited with exit code 0>"
    fields = {
        "sessionId": "bench",
        "timestamp": 1_767_607_200_000 + number,
        "cwd": "/home/dev/project",
        "toolName": "bash",
        "toolArgs": {"command": f"cat module_{number}.py", "description": "Show it"},
        "toolResult": {"resultType": "success", "textResultForLlm": text},
    }
    return json.dumps(fields).encode()


def measure(root: Path, *, runs: int = RUNS) -> dict[str, object]:
    """Measure each agent's hook beside the bare interpreter, by turns."""
    home = Home(root / "home")
    home.create()
    codex = CodexSession(root)
    kinds: dict[str, tuple[list[str], Callable[[int], bytes]]] = {
        "codex": (hook("codex", "PostToolUse"), codex.after),
        "codex_before": (hook("codex", "PreToolUse"), codex.before),
        "copilot": (hook("copilot", "postToolUse"), copilot_result),
    }
    times: dict[str, list[float]] = {name: [] for name in ("baseline", *kinds)}
    with daemon(home):
        for number in range(WARM_UP_RUNS + runs):
            times["baseline"].append(elapsed_ms(BARE, home, b"", b""))
            for name, (command, payload) in kinds.items():
                times[name].append(elapsed_ms(command, home, payload(number), REPLY))
    counted = {name: values[WARM_UP_RUNS:] for name, values in times.items()}
    bare = statistics.median(counted["baseline"])
    return {
        **{f"{name}_ms": summary(values) for name, values in counted.items()},
        **{f"{name}_ratio": round(statistics.median(counted[name]) / bare, 3) for name in kinds},
        "runs": runs,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder))))  # noqa: T201 - its output

"""A session of Claude Code as its log has it: a few lines per turn."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BEGAN_AT = datetime(2026, 1, 4, 9, 0, tzinfo=UTC)


@dataclass
class Transcript:
    """A log that grows by whole turns; each line is a second later than the one before."""

    path: Path
    session_id: str = "0f6d2c1e-1111-4222-8333-444455556666"
    cwd: str = "/home/dev/project"
    at: datetime = BEGAN_AT
    turns: int = 0
    lines: list[str] = field(default_factory=list)

    def turn(self, *commands: str, text: str = "Do it.", output: str = "done", ends: bool = True) -> None:
        """Write a prompt, a step for each command, and the last word."""
        self.turns += 1
        number = self.turns
        self._line("user", message={"role": "user", "content": text}, promptId=f"prompt-{number}")
        for index, command in enumerate(commands, start=1):
            call_id = f"toolu_{number}_{index}"
            call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
            self._reply(self._id(f"{number}_{index}"), call, "tool_use")
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": False}
            self._line("user", message={"role": "user", "content": [result]})
        if ends:
            self._reply(self._id(f"{number}_end"), {"type": "text", "text": "It is done."}, "end_turn")
        self.save()

    def request(self, prompt: str, *tools: dict[str, object]) -> None:
        """Write what the next requests begin with."""
        shape = {"system": [{"type": "text", "text": prompt}], "tools": list(tools)}
        self._line("api-request-shape", shape=shape)

    def save(self, *, settled: bool = True) -> None:
        """Write the file; a settled one was last written to long ago."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(self.lines))
        if settled:
            os.utime(self.path, (self.at.timestamp(), self.at.timestamp()))

    def _id(self, name: str) -> str:
        return f"msg_{self.session_id}_{name}"

    def _reply(self, message_id: str, block: dict[str, object], stop_reason: str) -> None:
        message = {
            "id": message_id,
            "role": "assistant",
            "model": "claude-test-1",
            "content": [block],
            "stop_reason": stop_reason,
            "usage": {
                "input_tokens": 10,
                "output_tokens": 20,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 40,
            },
        }
        self._line("assistant", message=message, requestId=f"req_{message_id}")

    def _line(self, kind: str, **fields: object) -> None:
        self.at += timedelta(seconds=1)
        line = {
            "type": kind,
            "uuid": f"line-{len(self.lines) + 1}",
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "version": "2.1.332",
            "timestamp": self.at.isoformat().replace("+00:00", "Z"),
            **fields,
        }
        self.lines.append(json.dumps(line, separators=(",", ":")) + "\n")


def transcript_in(user_home: Path, name: str = "0f6d2c1e-1111-4222-8333-444455556666") -> Transcript:
    """A log where Claude Code would have written it."""
    folder = user_home / ".claude" / "projects" / "-home-dev-project"
    return Transcript(folder / f"{name}.jsonl", session_id=name)

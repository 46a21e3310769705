"""
The work of one agent, drawn by chance: its hook payloads and the lines of its own log, in their order.

Sizes of outputs are log-normal, with a median of 2 KB and a 95th percentile of 30 KB.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

OUTPUT_CHARACTERS_MEDIAN = 2_048
OUTPUT_CHARACTERS_P95 = 30_720
# The 95th percentile of the normal distribution.
STANDARD_DEVIATIONS_AT_P95 = 1.645
# A turn's usual length; long enough that a circle fits in.
STEPS_PER_TURN = 12
FAILING_SHARE = 0.1
CIRCLING_TURN_SHARE = 0.25
# The guard redirects at the third equal failure.
EQUAL_FAILURES = 4
# More than the daemon ever reads of a log.
LOG_BYTES_BEFORE = 300_000

_WORDS = (
    "src/billing/totals.py:118: in total",
    "    assert total == expected, f'{total} is not {expected}'",
    "tests/unit/test_totals.py::test_rounds_half_up PASSED                     [ 41%]",
    "2026-01-05T09:12:44.118Z INFO worker[4417] handled request 7f3a9c21 in 18.4ms",
    "   84 |     const rows = await load(customer, { limit: 50 });",
    "/home/dev/project/node_modules/.cache/build/chunk-4fe21ab9.js  14.22 kB",
    "error TS2304: Cannot find name 'customer'.",
    "def rounded(value: Decimal, places: int = 2) -> Decimal:",
    "",
    "    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)",
    "warning: unused variable `index` in crates/core/src/lines.rs:88:13",
    "-rw-r--r--  1 dev dev  18244 Jan  5 09:11 package-lock.json",
    "Ran 214 tests in 3.412s, 0 failures",
)


@dataclass(frozen=True, slots=True)
class HookMoment:
    """One hook call: the event's name, its payload, and what the agent's log holds by then."""

    event: str
    payload: bytes
    log_lines: bytes = b""


class AgentWork:
    """
    One session of one agent.

    Args:
        chance: decides what it does.
        session_id: its id.
        log: where its own log lies.

    """

    def __init__(self, chance: random.Random, session_id: str, log: Path) -> None:
        self._chance = chance
        self._session_id = session_id
        self._log = log
        self._calls = 0
        self._prompts = 0

    def fill_log(self) -> None:
        """Write what the agent's log holds from before."""
        filler = self._log_lines("toolu_before", "Read", self._text(4_096), failed=False)
        self._log.write_bytes(filler * (LOG_BYTES_BEFORE // len(filler) + 1))

    def begin(self) -> Iterator[HookMoment]:
        """Yield the start and the first prompt."""
        yield self._moment("SessionStart", source="startup", model="model-1")
        yield self._prompt()

    def turns(self) -> Iterator[HookMoment]:
        """Yield one turn after the other, without end."""
        while True:
            if self._chance.random() < CIRCLING_TURN_SHARE:
                output = self._failure_text()
                for _ in range(EQUAL_FAILURES):
                    yield from self._failing("python -m pytest tests/unit -q", output)
            for _ in range(STEPS_PER_TURN):
                yield from self._step()
            yield self._moment("Stop", stop_hook_active=False)
            yield self._prompt()

    def end(self) -> HookMoment:
        """Return the session's end."""
        return self._moment("SessionEnd", reason="other")

    def _step(self) -> Iterator[HookMoment]:
        draw = self._chance.random()
        name = f"src/module_{self._chance.randrange(200)}.py"
        if draw < FAILING_SHARE:
            yield from self._failing(f"python -m pytest {name} -q", self._failure_text())
        elif draw < 0.5:
            yield self._returned("Read", {"file_path": f"/home/dev/project/{name}"}, self._output())
        elif draw < 0.65:
            edit = {
                "file_path": f"/home/dev/project/{name}",
                "old_string": "x = 1",
                "new_string": self._text(300),
            }
            yield self._returned("Edit", edit, f"The file /home/dev/project/{name} has been updated.")
        else:
            # Most commands are typed once: what the daemon remembers of earlier ones is not to help it here.
            searched = f"total_{self._chance.randrange(100_000)}"
            command = {"command": f"cd src && grep -n {searched} {name} | head -50"}
            yield self._returned("Bash", command, self._output())

    def _failing(self, command: str, output: str) -> Iterator[HookMoment]:
        call_id, arguments = self._next_call(), {"command": command}
        lines = self._log_lines(call_id, "Bash", output, failed=True)
        yield self._moment(
            "PostToolUseFailure",
            lines,
            tool_name="Bash",
            tool_input=arguments,
            tool_use_id=call_id,
            error=output,
            is_interrupt=False,
        )
        yield self._batch("Bash", arguments, output, call_id)

    def _returned(self, tool: str, arguments: dict[str, str], output: str) -> HookMoment:
        call_id = self._next_call()
        lines = self._log_lines(call_id, tool, output, failed=False)
        return self._batch(tool, arguments, output, call_id, lines)

    def _batch(
        self, tool: str, arguments: dict[str, str], output: str, call_id: str, lines: bytes = b""
    ) -> HookMoment:
        call = {"tool_name": tool, "tool_input": arguments, "tool_response": output, "tool_use_id": call_id}
        return self._moment("PostToolBatch", lines, tool_calls=[call])

    def _prompt(self) -> HookMoment:
        self._prompts += 1
        return self._moment("UserPromptSubmit", prompt=self._text(200), prompt_id=f"prompt-{self._prompts}")

    def _next_call(self) -> str:
        self._calls += 1
        return f"toolu_{self._session_id}_{self._calls:06}"

    def _moment(self, event: str, log_lines: bytes = b"", /, **fields: object) -> HookMoment:
        common = {
            "session_id": self._session_id,
            "transcript_path": str(self._log),
            "cwd": "/home/dev/project",
            "hook_event_name": event,
        }
        return HookMoment(event, json.dumps({**common, **fields}).encode(), log_lines)

    def _log_lines(self, call_id: str, tool: str, output: str, *, failed: bool) -> bytes:
        asked = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
        back = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
        lines = (
            {"type": "assistant", "version": "2.1.332", "message": {"id": call_id, "content": [asked]}},
            {
                "type": "user",
                "version": "2.1.332",
                "message": {"role": "user", "content": [back]},
                "toolUseResult": {"stdout": output, "stderr": ""},
            },
        )
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def _output(self) -> str:
        deviation = math.log(OUTPUT_CHARACTERS_P95 / OUTPUT_CHARACTERS_MEDIAN) / STANDARD_DEVIATIONS_AT_P95
        return self._text(int(self._chance.lognormvariate(math.log(OUTPUT_CHARACTERS_MEDIAN), deviation)))

    def _failure_text(self) -> str:
        return f"Exit code 1\n{self._output()}\nValueError: total is {self._chance.randrange(99)}"

    def _text(self, characters: int) -> str:
        lines: list[str] = []
        room = characters
        while room > 0:
            lines.append(self._chance.choice(_WORDS))
            room -= len(lines[-1]) + 1
        return "\n".join(lines)[:characters]

"""What simulated agents send: hook payloads, and what must be found in the log once one was acknowledged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hook_payloads import FAILURE, payload, step, tool_call

from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from history import Stream

SAME_START_WITHIN_S = 2.0

LIFE = (
    "start",
    "resume",
    "start_after_compaction",
    "prompt",
    "machine_prompt",
    "stop",
    "stop_failure",
    "compact",
    "end",
)
WORK = ("succeed", "fail", "fail_otherwise", "refused", "read_again", "parallel", "change")
THINGS = (*LIFE, *WORK)


_OF_SUB_AGENTS: dict[str, tuple[str, str, dict[str, object]]] = {
    "start": ("SubagentStart", "start", {"agent_type": "Explore"}),
    "end": ("SubagentStop", "end", {"agent_type": "Explore"}),
}

_OF_SESSIONS: dict[str, tuple[str, str, dict[str, object]]] = {
    "start": ("SessionStart", "start", {"source": "startup"}),
    "resume": ("SessionStart", "start", {"source": "resume"}),
    "start_after_compaction": ("SessionStart", "start", {"source": "compact"}),
    "stop": ("Stop", "nothing", {}),
    "stop_failure": ("StopFailure", "nothing", {"error": "server_error"}),
    "compact": ("PostCompact", "event", {"trigger": "auto", "compact_summary": "so far"}),
    "end": ("SessionEnd", "end", {"reason": "other"}),
}
"""What is told of a life: the hook, the evidence that is looked for, and the payload's own fields."""


@dataclass(frozen=True)
class Sent:
    """
    One hook call of an agent.

    Attributes:
        kind: which evidence is looked for: prompt, calls, start, event, end or nothing.
        ids: of the prompt or of the calls.

    """

    key: SessionKey
    event: str
    payload: bytes
    kind: str
    ids: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return Session.stream_id(self.key).hex

    def is_stored(self, stream: Stream, delivery_id: str, at: datetime) -> bool:
        """Whether the log shows that the call came."""
        if delivery_id in stream.deliveries:
            return True
        match self.kind:
            case "prompt":
                return set(self.ids) <= stream.prompts
            case "calls":
                return set(self.ids) <= stream.returned.keys()
            case "start":
                return any(
                    abs((at - seen).total_seconds()) <= SAME_START_WITHIN_S for _, seen in stream.starts
                )
            case "end":
                # The end of a session that is archived already adds nothing.
                return stream.was_archived
            case _:
                return self.kind == "nothing"


class Agents:
    """A few sessions, each with sub-agents; one that ended may be followed by a new one."""

    def __init__(self) -> None:
        self._number = 0
        self._generations: dict[int, int] = {}

    def send(self, session: int, agent: int, thing: str) -> Iterator[Sent]:
        """The hook calls of one thing that an agent does."""
        self._number += 1
        fields: dict[str, object] = {"session_id": self._session_id(session)}
        if agent:
            fields["agent_id"] = f"agent-{agent}"
        key = SessionKey("claude_code", str(fields["session_id"]), str(fields.get("agent_id", "")))
        if thing in WORK or (agent and thing not in {"start", "end"}):
            yield from self._work(key, fields, thing if thing in WORK else "succeed")
        else:
            yield self._live(key, fields, thing)

    def replace(self, session: int) -> None:
        """Let another session take the place of that one."""
        self._generations[session] = self._generations.get(session, 0) + 1

    def _session_id(self, session: int) -> str:
        return f"session-{session}-{self._generations.get(session, 0)}"

    def _live(self, key: SessionKey, fields: dict[str, object], thing: str) -> Sent:
        if thing in {"prompt", "machine_prompt"}:
            return self._prompt(key, fields, "" if thing == "prompt" else "<task-notification>")
        event, kind, own = (_OF_SUB_AGENTS if key.agent_id else _OF_SESSIONS)[thing]
        return Sent(key, event, payload(event, **fields, **own), kind)

    def _prompt(self, key: SessionKey, fields: dict[str, object], prefix: str) -> Sent:
        prompt_id = f"prompt-{self._number}"
        text = f"{prefix}go on with {self._number}"
        data = payload("UserPromptSubmit", prompt=text, prompt_id=prompt_id, **fields)
        return Sent(key, "UserPromptSubmit", data, "prompt", (prompt_id,))

    def _work(self, key: SessionKey, fields: dict[str, object], thing: str) -> Iterator[Sent]:
        first, second = f"call-{self._number}-1", f"call-{self._number}-2"
        read = tool_call(second, "Read", "the same content", file_path="a.py")
        match thing:
            case "succeed":
                calls = [tool_call(first, "Bash", f"result {self._number}", command=f"ls {self._number}")]
            case "change":
                calls = [
                    tool_call(first, "Edit", "updated", file_path="a.py", new_string=f"x = {self._number}")
                ]
            case "refused":
                calls = [tool_call(first, "Edit", "<tool_use_error>not found", file_path="a.py")]
            case "read_again":
                calls = [read]
            case _:
                command = f"pytest test_{self._number}.py" if thing == "fail_otherwise" else "pytest"
                yield self._failed(key, fields, first, command)
                calls = [tool_call(first, "Bash", FAILURE, command=command)]
                calls += [read] if thing == "parallel" else []
        ids = tuple(str(call["tool_use_id"]) for call in calls)
        yield Sent(key, "PostToolBatch", step(*calls, **fields), "calls", ids)

    def _failed(self, key: SessionKey, fields: dict[str, object], call_id: str, command: str) -> Sent:
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call_id}
        data = payload("PostToolUseFailure", error=FAILURE, is_interrupt=False, **call, **fields)
        return Sent(key, "PostToolUseFailure", data, "calls", (call_id,))

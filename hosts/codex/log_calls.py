"""
Calls and their results in rollouts.

A call and what the model was told of it are lines of their own. Before the latter, commands, patches and MCP
calls have an event with more: the exit code, the whole output. What a script called (`exec`) has only that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.hosts.codex import tools
from tokeneconomizer.hosts.codex.outcomes import (
    Outcome,
    outcome_of_command,
    outcome_of_mcp,
    outcome_of_patch,
    outcome_of_text,
    text_of,
)
from tokeneconomizer.hosts.fields import mapping, text
from tokeneconomizer.hosts.records import LoggedCall, LoggedResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.codex.log_state import RolloutState
    from tokeneconomizer.hosts.records import Record

CALLS_KEPT_MAX = 200
"""Ids of calls that are remembered; Codex runs some dozens at once, and an interruption leaves them open."""

COMMANDS_KEPT = 50
"""Of calls that wait and processes that go on: more than any agent watches at once."""

COMMAND_CHARACTERS_KEPT = 2_000
"""The programs of a command line stand at its beginning; what follows may be a file."""

NESTED_PREFIX = "exec-"
"""Begins the id of a call that a script made."""

BY_THE_USER = "user_shell"
"""The source of a command that the user typed: no call of the model."""


_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})


class CallReader:
    """Reads calls and results of one thread."""

    def __init__(self, state: RolloutState) -> None:
        self._state = state

    def item(self, number: int, at: datetime | None, item: Mapping[str, object]) -> list[Record]:
        """Return the call or result of a response item, if it is one."""
        kind, call_id = text(item, "type"), text(item, "call_id")
        if kind in _OUTPUTS:
            self._state.is_step_open = False
            output = text_of(item.get("output"))
            told = outcome_of_text(output, has_unseen_calls=not self._state.has_seen_nested)
            return self._told(number, at, call_id, told)
        asked = _asked(kind, item)
        if asked is None:
            return []
        tool, arguments = asked
        call = self._call(number, at, call_id or text(item, "id") or f"line {number}", tool, arguments)
        # What a search of the web found goes to the model alone.
        answered = self._told(number, at, call.call_id, Outcome("")) if tool == "web_search" else []
        return [call, *answered]

    def _call(
        self, number: int, at: datetime | None, call_id: str, tool: str, arguments: Mapping[str, object]
    ) -> LoggedCall:
        state = self._state
        if not state.is_step_open:
            state.step, state.is_step_open = str(number), True
        state.waiting = [*state.waiting, call_id][-CALLS_KEPT_MAX:]
        state.has_seen_nested = False
        return self._logged(number, at, call_id, tool, arguments)

    def _logged(
        self, number: int, at: datetime | None, call_id: str, tool: str, arguments: Mapping[str, object]
    ) -> LoggedCall:
        # What comes back is the output of the command that goes on.
        command = tools.command_of(tool, arguments) or self._command_of(str(arguments.get("session_id", "")))
        if command:
            self._keep_command(call_id, command)
        return LoggedCall(
            line=number,
            at=at,
            step=self._state.step,
            call_id=call_id,
            tool=tool,
            kind=tools.kind_of(tool, arguments),
            arguments=arguments,
            server=tools.server_of(tool),
            command=command,
            target=tools.target_of(tool, arguments),
            edited=tools.edited_by(tool, arguments),
            agent_id=self._state.agent_id,
        )

    def _told(self, number: int, at: datetime | None, call_id: str, outcome: Outcome) -> list[Record]:
        """Return a result that the model was told, unless an event told it better."""
        if call_id not in self._state.waiting:
            return []
        self._state.waiting = [other for other in self._state.waiting if other != call_id]
        command = self._command_of(call_id)
        if outcome.running and command:
            self._keep_command(outcome.running, command)
        return [self._result(number, at, call_id, outcome)]

    def _keep_command(self, name: str, command: str) -> None:
        kept = [entry for entry in self._state.commands if not entry.startswith(f"{name}\n")]
        self._state.commands = [*kept, f"{name}\n{command[:COMMAND_CHARACTERS_KEPT]}"][-COMMANDS_KEPT:]

    def _command_of(self, name: str) -> str:
        entries = (entry.partition("\n") for entry in self._state.commands)
        return next((command for known, _, command in entries if known == name), "")

    def _result(self, number: int, at: datetime | None, call_id: str, outcome: Outcome) -> LoggedResult:
        return LoggedResult(
            line=number,
            at=at,
            call_id=call_id,
            text=outcome.text,
            status=outcome.status,
            exit_code=outcome.exit_code,
            interrupted=outcome.interrupted,
            duration_ms=outcome.duration_ms,
            goes_on=bool(outcome.running),
            agent_id=self._state.agent_id,
        )

    def ended(self, number: int, at: datetime | None, told: Mapping[str, object]) -> list[Record]:
        """Return what an event, or the item of one, tells of a call that ended."""
        match text(told, "type"):
            case "CommandExecution" | "exec_command_end":
                if text(told, "source") == BY_THE_USER:
                    return []
                arguments: Mapping[str, object] = {"cmd": tools.command_line(tools.words_of(told))}
                tool, outcome = "exec_command", outcome_of_command(told)
            case "FileChange" | "patch_apply_end":
                arguments = {"input": _patch(mapping(told, "changes"))}
                tool, outcome = "apply_patch", outcome_of_patch(told)
            case "McpToolCall" | "mcp_tool_call_end":
                asked = mapping(told, "invocation") or told
                tool = tools.name_of(tools.MCP_PREFIX + text(asked, "server"), text(asked, "tool"))
                arguments, outcome = mapping(asked, "arguments"), outcome_of_mcp(told)
            case _:
                return []
        call_id = text(told, "id") or text(told, "call_id")
        calls = self._nested(number, at, call_id, tool, arguments)
        self._state.waiting = [other for other in self._state.waiting if other != call_id]
        return [*calls, self._result(number, at, call_id, outcome)]

    def _nested(
        self, number: int, at: datetime | None, call_id: str, tool: str, arguments: Mapping[str, object]
    ) -> list[Record]:
        """Return the call itself where no line of its own tells it."""
        state = self._state
        if not call_id.startswith(NESTED_PREFIX) or call_id in state.nested:
            return []
        state.nested = [*state.nested, call_id][-CALLS_KEPT_MAX:]
        state.has_seen_nested = True
        return [self._logged(number, at, call_id, tool, arguments)]


def _asked(kind: str, item: Mapping[str, object]) -> tuple[str, Mapping[str, object]] | None:
    """Return the tool and the arguments of a call, None for what is no call."""
    match kind:
        case "function_call":
            return tools.name_of(text(item, "namespace"), text(item, "name")), _arguments(item)
        case "custom_tool_call":
            return text(item, "name"), {"input": text(item, "input")}
        case "local_shell_call":
            return "local_shell", mapping(item, "action")
        case "web_search_call":
            return "web_search", mapping(item, "action")
        case "tool_search_call":
            return "tool_search", _arguments(item)
        case _:
            return None


def _arguments(item: Mapping[str, object]) -> Mapping[str, object]:
    """Return a call's arguments, which most are a text with an object in it."""
    written = item.get("arguments")
    if isinstance(written, str):
        try:
            written = orjson.loads(written)
        except orjson.JSONDecodeError:
            return {"input": written}
    return written if isinstance(written, dict) else {}


def _patch(changes: Mapping[str, object]) -> str:
    """Return a patch with the changes of an event."""
    parts: list[str] = []
    for path, change in changes.items():
        told = change if isinstance(change, dict) else {}
        kind, content = text(told, "type"), text(told, "content")
        parts.append(f"*** {_VERBS.get(kind, 'Update')} File: {path}")
        sign = "-" if kind == "delete" else "+"
        parts += [sign + line for line in content.splitlines()] or text(told, "unified_diff").splitlines()
    return "\n".join(parts)


_VERBS = {"add": "Add", "delete": "Delete"}

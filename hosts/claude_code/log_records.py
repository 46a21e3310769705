"""
Claude Code's lines as records (measured on logs of 1.0.117 to 2.1.332).

A prompt is a user line that a person or a program typed: no tool results, no meta lines, no summaries, no
output of local commands. The calls of one assistant message are one step. An assistant line whose message
ended its turn, an API error, an interruption, and the line that tells how long a turn took, each end a turn.
What a fork copied of another session is not told again, but for the tools that it still has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.claude_code import log_catalogue
from tokeneconomizer.hosts.claude_code.log_compaction import CompactionReader
from tokeneconomizer.hosts.claude_code.log_results import call_in, result_in
from tokeneconomizer.hosts.claude_code.log_usage import SIDE_CHAIN, SYNTHETIC_MODEL, payer_named_in
from tokeneconomizer.hosts.claude_code.payload import MACHINE_PROMPT_PREFIXES, text_of_result
from tokeneconomizer.hosts.claude_code.tools import skills_named_in, tools_named_in
from tokeneconomizer.hosts.fields import mapping, moment, objects, text
from tokeneconomizer.hosts.records import LoggedCall, LoggedPrompt, LoggedStop, LoggedSubAgent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.claude_code.log_session import SessionReader
    from tokeneconomizer.hosts.log_format import State
    from tokeneconomizer.hosts.records import Record

    _Reader = Callable[["RecordReader", int, datetime | None, Mapping[str, object]], Iterator[Record]]

RECORD_MARKERS: tuple[bytes, ...] = (
    b'"user"',
    b'"assistant"',
    b'"system"',
    b'"deferred_tools_delta"',
    b'"queued_command"',
    b'"agent_progress"',
    b'"api-request-shape"',
)

INTERRUPTED_PREFIX = "[Request interrupted by user"

NOT_A_PROMPT_PREFIXES = (
    "<command-name>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
)
"""Local commands and their output, which the agent logs as user lines."""

_NOT_A_PROMPT_FLAGS = ("isMeta", "isCompactSummary", "repeatsCompactSummary")

_ENDS_TURN = frozenset({"end_turn", "stop_sequence", "refusal", "max_tokens"})

_ENDED_TASK = re.compile(r"<task-notification>\s*<task-id>([^<]{1,100})</task-id>")

REMEMBERED_MAX = 200
"""Open shell calls and running sub-agents that are remembered; more at once are none of a real session."""


_SLASH_COMMAND = re.compile(
    r"<command-message>[^<]{0,200}</command-message>\s*<command-name>(/[^<]{1,200})</command-name>"
    r"(?:\s*<command-args>(.*)</command-args>)?",
    re.DOTALL,
)
"""How the user's own command is logged, which begins a turn; the agent's own ones are logged name first."""


class RecordReader:
    """The records of one file's lines, in their order."""

    def __init__(
        self, session: SessionReader, is_copy: Callable[[datetime | None], bool], state: State
    ) -> None:
        self._session = session
        self._is_copy = is_copy
        self._message = str(state.get("message") or "")
        self._asks = state.get("asks") is True
        self._open = _texts(state, "open")
        self._shells = _texts(state, "shells")
        self._agents = _texts(state, "agents")
        self._compaction = CompactionReader(str(state.get("compaction") or ""))

    def state(self) -> State:
        """Return what the next line needs."""
        return {
            "message": self._message,
            "asks": self._asks,
            "open": list(self._open),
            "shells": list(self._shells),
            "agents": list(self._agents),
            "compaction": self._compaction.state(),
        }

    def read(self, number: int, line: Mapping[str, object]) -> Iterator[Record]:
        """Yield the records of a line."""
        reader = self._READERS.get(text(line, "type"))
        if reader is None:
            return
        at, payer = moment(line, "timestamp"), payer_named_in(line)
        is_copy = payer not in {"", text(line, "sessionId")} or (_is_spoken(line) and self._is_copy(at))
        yield from self._session.read(number, at, line, copied_from=payer, is_copy=is_copy)
        if not is_copy or _is_catalogue(line):
            yield from reader(self, number, at, line)

    def _agent_of(self, line: Mapping[str, object]) -> str:
        """Return which agent a line belongs to; empty for the main one."""
        side_chain = SIDE_CHAIN if line.get("isSidechain") is True else ""
        return text(line, "agentId") or self._session.agent_id or side_chain

    def _assistant(self, number: int, at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        yield from self._compaction.over()
        message, agent_id = mapping(line, "message"), self._agent_of(line)
        if text(message, "id") != self._message:
            self._message, self._asks = text(message, "id"), False
        for block in objects(message, "content"):
            call = call_in(block, number, at, self._message, agent_id)
            if call is not None:
                yield self._asked(call)
        if line.get("isApiErrorMessage") is True:
            yield from self._stop(number, at, text(line, "error") or "error", agent_id)
        elif text(message, "model") == SYNTHETIC_MODEL:
            # Stands for the reply of a turn that was cut off, when its session goes on.
            return
        elif text(message, "stop_reason") in _ENDS_TURN and not self._asks:
            yield from self._stop(number, at, "stop", agent_id)

    def _asked(self, call: LoggedCall) -> LoggedCall:
        self._asks = True
        _remember(self._open, call.agent_id)
        if call.kind is CallKind.SHELL:
            _remember(self._shells, call.call_id)
        return call

    def _stop(self, number: int, at: datetime | None, reason: str, agent_id: str) -> Iterator[Record]:
        """End a turn once: each block of its last message says so, and later lines again."""
        if agent_id in self._open:
            self._open.remove(agent_id)
            yield LoggedStop(number, at, reason, agent_id)

    def _user(self, number: int, at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        content, agent_id = mapping(line, "message").get("content"), self._agent_of(line)
        if line.get("isCompactSummary") is True:
            yield from self._compaction.summary(number, at, len(text_of_result(content)), agent_id)
            return
        yield from self._compaction.over()
        blocks = objects(mapping(line, "message"), "content")
        results = [block for block in blocks if text(block, "type") == "tool_result"]
        if results:
            yield from self._results(number, at, results, line)
            return
        prompt = text_of_result(content)
        if prompt.startswith(INTERRUPTED_PREFIX):
            yield from self._stop(number, at, "no_stop", agent_id)
        elif not any(line.get(name) is True for name in _NOT_A_PROMPT_FLAGS):
            yield from self._prompt(number, at, prompt, line)

    def _prompt(
        self, number: int, at: datetime | None, prompt: str, line: Mapping[str, object]
    ) -> Iterator[Record]:
        yield from self._ended_task(number, at, prompt)
        if not prompt.strip() or prompt.startswith(NOT_A_PROMPT_PREFIXES):
            return
        if command := _SLASH_COMMAND.match(prompt):
            prompt = f"{command.group(1)} {command.group(2) or ''}".rstrip()
        agent_id = self._agent_of(line)
        is_machine = bool(agent_id) or prompt.lstrip().startswith(MACHINE_PROMPT_PREFIXES)
        _remember(self._open, agent_id)
        kind = PromptKind.MACHINE if is_machine else PromptKind.HUMAN
        yield LoggedPrompt(
            line=number,
            at=at,
            prompt_id=text(line, "promptId"),
            text=prompt,
            kind=kind,
            agent_id=agent_id,
            tools_named=() if is_machine else tools_named_in(prompt),
            skills_named=() if is_machine else skills_named_in(prompt),
        )

    def _results(
        self,
        number: int,
        at: datetime | None,
        results: list[Mapping[str, object]],
        line: Mapping[str, object],
    ) -> Iterator[Record]:
        # A line's own account is of its one result.
        structured = mapping(line, "toolUseResult") if len(results) == 1 else {}
        for block in results:
            call_id = text(block, "tool_use_id")
            if not call_id:
                continue
            is_shell = call_id in self._shells
            if is_shell:
                self._shells.remove(call_id)
            agent_id = self._agent_of(line)
            yield result_in(block, structured, number, at, agent_id=agent_id, is_shell=is_shell)
            yield from self._sub_agent(number, at, structured, call_id)

    def _sub_agent(
        self, number: int, at: datetime | None, structured: Mapping[str, object], call_id: str
    ) -> Iterator[Record]:
        """Tell of a sub-agent what the result of its call tells: that it runs on, or is done."""
        agent_id, agent_type = text(structured, "agentId"), text(structured, "agentType")
        if not agent_id:
            return
        if text(structured, "status") == "async_launched":
            yield from self._started(number, at, agent_id, agent_type, call_id)
            return
        if agent_id in self._agents:
            self._agents.remove(agent_id)
        yield LoggedSubAgent(number, at, agent_id, agent_type, call_id, ended=True)

    def _started(
        self, number: int, at: datetime | None, agent_id: str, agent_type: str, call_id: str
    ) -> Iterator[Record]:
        if agent_id not in self._agents:
            _remember(self._agents, agent_id)
            yield LoggedSubAgent(number, at, agent_id, agent_type, call_id)

    def _ended_task(self, number: int, at: datetime | None, prompt: str) -> Iterator[Record]:
        """Tell the end of a sub-agent in the background, which is announced as a prompt."""
        found = _ENDED_TASK.match(prompt)
        if found and found.group(1) in self._agents:
            self._agents.remove(found.group(1))
            yield LoggedSubAgent(number, at, found.group(1), ended=True)

    def _progress(self, number: int, at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        data = mapping(line, "data")
        if text(data, "type") == "agent_progress" and text(data, "agentId"):
            call_id = text(line, "parentToolUseID")
            yield from self._started(number, at, text(data, "agentId"), "", call_id)

    def _system(self, number: int, at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        match text(line, "subtype"):
            case "compact_boundary":
                yield from self._compaction.over()
                self._compaction.boundary(number, line, self._agent_of(line))
            case "turn_duration":
                yield from self._stop(number, at, "stop", self._agent_of(line))
            case _:
                return

    def _attachment(self, number: int, at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        attachment = mapping(line, "attachment")
        match text(attachment, "type"):
            case "deferred_tools_delta":
                catalogue = log_catalogue.of_delta(number, line, self._agent_of(line))
                if catalogue is not None:
                    yield catalogue
            case "queued_command":
                # What is typed while the agent works belongs to the turn that is open.
                yield from self._ended_task(number, at, text(attachment, "prompt"))
            case _:
                return

    def _request(self, number: int, _at: datetime | None, line: Mapping[str, object]) -> Iterator[Record]:
        yield log_catalogue.of_request(number, line, self._agent_of(line))

    _READERS: ClassVar[Mapping[str, _Reader]] = {
        "assistant": _assistant,
        "user": _user,
        "system": _system,
        "attachment": _attachment,
        "progress": _progress,
        "api-request-shape": _request,
    }


def _is_spoken(line: Mapping[str, object]) -> bool:
    """Return whether a line is of the conversation: what hooks add before it may be older than the file."""
    return text(line, "type") in {"user", "assistant"} or text(line, "subtype") == "compact_boundary"


def _is_catalogue(line: Mapping[str, object]) -> bool:
    return text(mapping(line, "attachment"), "type") == "deferred_tools_delta"


def _texts(state: State, name: str) -> list[str]:
    value = state.get(name)
    return list(value) if isinstance(value, list) else []


def _remember(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
        del names[:-REMEMBERED_MAX]

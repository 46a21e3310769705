"""
One message of opencode with its parts, as records: the same from a database, its files, or an export.

A prompt is a user's message with a text that the user, or for a sub-agent its parent, wrote: not the texts
that opencode adds (`synthetic`), those that a plugin only shows (`ignored`), nor a request to compact. The
calls of one model reply are one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import flag, mapping, number, text
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.opencode.log_messages import is_copy, moment, usage_of
from tokeneconomizer.hosts.opencode.parts import completed, failed, prompt_in
from tokeneconomizer.hosts.opencode.tools import (
    edited_by,
    kind_of,
    server_of,
    skills_named_in,
    target_of,
    tools_named_in,
)
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStop,
    LoggedSubAgent,
    LoggedUsage,
    SessionOrigin,
    SkippedLine,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokeneconomizer.hosts.opencode.log_messages import Message, Session
    from tokeneconomizer.hosts.records import Record

GOES_ON = frozenset({"", "tool-calls", "unknown"})
"""Reasons for a reply's end after which opencode asks the model again (1.2 to 1.18)."""

ABORTED = "MessageAbortedError"

USERS_COMMAND = "The following tool was executed by the user"
"""Stands in the place of a prompt when the user ran a command (`!ls`) in the session."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message, and the line that it stands on; None where it is damaged."""

    line: int
    data: Mapping[str, object] | None


class SessionReader:
    """Turns the messages of one session into records."""

    def __init__(self, session: Session, wanted: Wanted, parts_of: Callable[[str], list[Part]]) -> None:
        """`parts_of` returns the parts of another message by its id; none of one that is unknown."""
        self.session = session
        self._wanted = wanted
        self._parts_of = parts_of

    def header(self, line: int, messages: Iterable[Message | None], *, has_copies: bool) -> LoggedSession:
        """Return the session's own record; `messages` say what a session without a file of its own cannot."""
        session = self.session
        replies = [one for one in messages if one is not None and one.is_reply and not one.is_summary]
        folders = (one.path.cwd for one in replies if one.path and one.path.cwd)
        agents = (one.agent for one in replies if one.agent and session.parent_id)
        origin = SessionOrigin.FORK if has_copies else SessionOrigin.NEW
        return LoggedSession(
            line,
            moment(session.time.created),
            session.id,
            origin=SessionOrigin.SUB_AGENT if session.parent_id else origin,
            parent=session.parent_id or "",
            agent_type=next(agents, ""),
            folder=session.directory or next(folders, ""),
            version=session.version or "",
        )

    def records(self, line: int, message: Message | None, parts: Callable[[], list[Part]]) -> list[Record]:
        """Return the records of one message, None for a damaged one; its parts are fetched only if wanted."""
        if message is None:
            return [SkippedLine(line)]
        if is_copy(message, self.session):
            return []
        usage = usage_of(message, self.session)
        records: list[Record] = [LoggedUsage(line, usage)] if usage else []
        if self._wanted is Wanted.ALL:
            found = parts()
            records += [SkippedLine(part.line) for part in found if part.data is None]
            whole = [(part.line, part.data) for part in found if part.data is not None]
            told = self._reply if message.is_reply else self._prompt
            records += told(line, message, whole)
        return records

    def _prompt(
        self, line: int, message: Message, parts: list[tuple[int, Mapping[str, object]]]
    ) -> Iterator[Record]:
        prompt, has_file = prompt_in(part for _, part in parts)
        if prompt.strip() or has_file:
            kind_of_prompt = PromptKind.MACHINE if self.session.parent_id else PromptKind.HUMAN
            at = moment(message.time.created)
            yield LoggedPrompt(
                line,
                at,
                message.id,
                prompt,
                kind_of_prompt,
                tools_named=tools_named_in(prompt),
                skills_named=skills_named_in(prompt),
            )

    def _reply(
        self, line: int, message: Message, parts: list[tuple[int, Mapping[str, object]]]
    ) -> Iterator[Record]:
        at = moment(message.time.completed or message.time.created)
        if message.is_summary:
            yield from self._compaction(line, message, parts)
            return
        calls = _Calls(message)
        if message.finish or not self._is_users_command(message):
            for part_line, part in parts:
                yield from calls.take(part_line, part)
        if message.error is not None:
            name = message.error.name or "error"
            yield LoggedStop(line, at, "no_stop" if name == ABORTED else name)
        elif (message.finish or "") not in GOES_ON and not calls.count:
            yield LoggedStop(line, at, "stop")

    def _compaction(
        self, line: int, message: Message, parts: list[tuple[int, Mapping[str, object]]]
    ) -> Iterator[Record]:
        if message.error is not None or not message.finish:
            return
        asked = [part for part in self._asked_by(message) if text(part, "type") == "compaction"]
        is_automatic = bool(asked) and flag(asked[0], "auto") is True
        trigger = "auto" if is_automatic else "manual" if asked else ""
        summary = sum(len(text(part, "text")) for _, part in parts if text(part, "type") == "text")
        at = moment(message.time.completed or message.time.created)
        yield LoggedCompaction(line, at, trigger, summary_characters=summary)

    def _is_users_command(self, message: Message) -> bool:
        return any(text(part, "text") == USERS_COMMAND for part in self._asked_by(message))

    def _asked_by(self, message: Message) -> list[Mapping[str, object]]:
        """Return the parts of the user's message that a reply answers."""
        parts = self._parts_of(message.parent_id) if message.parent_id else []
        return [part.data for part in parts if part.data is not None]


class _Calls:
    """The calls of one message, in their steps."""

    def __init__(self, message: Message) -> None:
        self.count = 0
        self._key = message.key
        self._steps = 0
        self._names: dict[str, int] = {}

    def take(self, line: int, part: Mapping[str, object]) -> Iterator[Record]:
        if text(part, "type") == "step-start":
            self._steps += 1
        if text(part, "type") != "tool" or not text(part, "tool"):
            return
        self.count += 1
        call_id = self._call_id(part)
        yield self._call(line, call_id, part)
        yield from _sub_agent(line, call_id, part)
        result = _result(line, call_id, text(part, "tool"), mapping(part, "state"))
        if result is not None:
            yield result

    def _call_id(self, part: Mapping[str, object]) -> str:
        """Return the call's id; recorders blank it out, so that several of a message have the same."""
        name = text(part, "callID") or self._key
        seen = self._names[name] = self._names.get(name, 0) + 1
        return name if seen == 1 else f"{name}#{seen}"

    def _call(self, line: int, call_id: str, part: Mapping[str, object]) -> LoggedCall:
        tool, state = text(part, "tool"), mapping(part, "state")
        arguments = mapping(state, "input")
        kind = kind_of(tool)
        return LoggedCall(
            line,
            moment(number(mapping(state, "time"), "start")),
            f"{self._key}/{self._steps}",
            call_id,
            tool,
            kind,
            arguments,
            server=server_of(tool),
            command=text(arguments, "command") if kind is CallKind.SHELL else "",
            target=target_of(arguments),
            edited=edited_by(tool, arguments),
        )


def _sub_agent(line: int, call_id: str, part: Mapping[str, object]) -> Iterator[Record]:
    """Yield what a `task` call says of the session that works for it."""
    state = mapping(part, "state")
    session_id = text(mapping(state, "metadata"), "sessionId")
    if kind_of(text(part, "tool")) is not CallKind.AGENT or not session_id:
        return
    time, agent_type = mapping(state, "time"), text(mapping(state, "input"), "subagent_type")
    yield LoggedSubAgent(line, moment(number(time, "start")), session_id, agent_type, call_id)
    if text(state, "status") in {"completed", "error"}:
        yield LoggedSubAgent(line, moment(number(time, "end")), session_id, agent_type, call_id, ended=True)


def _result(line: int, call_id: str, tool: str, state: Mapping[str, object]) -> LoggedResult | None:
    """Return how a call ended; None for one that never came back."""
    time = mapping(state, "time")
    started, ended = number(time, "start"), number(time, "end")
    if text(state, "status") == "completed":
        output = text(state, "output")
        status, exit_code, interrupted = completed(tool, output, mapping(state, "metadata"))
    elif text(state, "status") == "error":
        output, exit_code = text(state, "error"), None
        status, interrupted = failed(output, state)
    else:
        return None
    return LoggedResult(
        line,
        moment(ended),
        call_id,
        output,
        status,
        exit_code=exit_code,
        interrupted=interrupted,
        duration_ms=None if started is None or ended is None else max(0, int(ended - started)),
    )

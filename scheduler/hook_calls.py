"""
One hook call through the application, live or from the spool, one after the other.

What cannot be read is answered with an empty valid reply and logged. A store that fails raises: the hook
client then spools the payload, so that nothing that was answered is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.commands import Delivery
from tokeneconomizer.domain.decisions import NOTHING
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.domain.labels import label
from tokeneconomizer.scheduler import intake

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    import structlog

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.hosts.host import Host
    from tokeneconomizer.scheduler.application import Application, Said

NS_PER_S = 1_000_000_000

EVENT_TIME_MIN_NS = 1_577_836_800 * NS_PER_S
"""2020: an earlier time is a machine without a clock, and the daemon's own time is better."""

EVENT_TIME_AHEAD_S = 86_400
"""A hook's clock is this machine's; a day ahead of it is a broken time stamp."""

EMPTY_REPLY = b"{}"
"""Valid for every agent, and says nothing."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """
    What the hook client handed over; absent flags are empty.

    Attributes:
        answered: True for calls whose agent has its reply: from the hook client, or before they are stored.
        reply: that reply; empty for others.

    """

    host: str
    event: str
    via: str
    time_ns: int
    delivery_id: str
    payload: bytes
    answered: bool = False
    reply: bytes = b""


@dataclass(frozen=True, slots=True)
class HookReply:
    """
    The reply's bytes, and what to take back when they do not arrive.

    Attributes:
        speaks: whether it says anything to the model or the user.

    """

    data: bytes
    stream_id: UUID | None = None
    said: tuple[Said, ...] = ()
    speaks: bool = False


class _Heard(NamedTuple):
    """
    What a call says.

    Attributes:
        is_settled: whether its agent's log was asked.

    """

    host: Host
    command: HookCommand
    is_settled: bool


class HookCalls:
    """
    Answers hook calls.

    Args:
        application: stores and decides.
        log: the daemon's log.
        now: the daemon's clock, for calls whose own time is impossible.

    """

    def __init__(
        self, application: Application, log: structlog.stdlib.BoundLogger, now: Callable[[], datetime]
    ) -> None:
        self._application = application
        self._log = log
        self._now = now
        self._heard: _Heard | None = None
        self._heard_in = b""
        self._newest: UUID | None = None

    def answer(self, call: HookCall) -> HookReply:
        """
        Store the call and return its reply.

        Raises:
            Exception: whatever the store raises; the call is not acknowledged then.

        """
        try:
            host, command, _ = self._settled(call)
        except BadPayload as error:
            self._log.warning(
                "payload dropped", reason=str(error), host=call.host, hook=call.event, bytes=len(call.payload)
            )
            return HookReply(empty_reply(call.event))
        given = host.context_in(call.reply) if call.answered else ""
        delivery = Delivery(
            call.delivery_id, self._time_of(call), call.via, answered=call.answered, given=given
        )
        answer = self._application.handle(command, delivery)
        self._heard, self._heard_in = None, b""
        # Who asks how long it stays quiet was told.
        self._newest = None if command.looks_ahead else answer.stream_id
        if answer.dropped:
            self._log.info(
                "call not stored", reason=answer.dropped, host=command.key.host, hook=label(command.event)
            )
        decision = NOTHING if call.answered else answer.decision
        data = host.encode(command.event, decision)
        return HookReply(data, answer.stream_id, answer.said, decision.says_something)

    def silent_reply(self, call: HookCall) -> HookReply | None:
        """Return the reply where it is certain to say nothing, before the call is stored; else None."""
        try:
            heard = self._decoded(call)
        except BadPayload:
            return None
        if heard.command.running_turn:
            # Calls that no hook told may come with it.
            heard = self._settled(call)
        if self._application.may_speak(heard.command):
            return None
        return HookReply(heard.host.encode(heard.command.event, NOTHING))

    def look_ahead(self) -> None:
        """Find out whether the newest call's session may be told anything at its next one."""
        if self._newest is not None:
            self._application.look_ahead(self._newest)
            self._newest = None

    def _decoded(self, call: HookCall) -> _Heard:
        """Return what the call says; not read twice for the same one."""
        if self._heard is None or self._heard_in is not call.payload:
            host, command = intake.decode(call.payload, call.host, call.event)
            self._heard, self._heard_in = _Heard(host, command, is_settled=False), call.payload
        return self._heard

    def _settled(self, call: HookCall) -> _Heard:
        """Return what the call says, with what the agent's own log says better."""
        heard = self._decoded(call)
        if not heard.is_settled:
            settled = self._application.settled(heard.command)
            heard = self._heard = heard._replace(command=settled, is_settled=True)
        return heard

    def not_delivered(self, reply: HookReply, reason: str) -> None:
        """Take back what a reply said that never reached the agent."""
        if reply.stream_id is not None and reply.said:
            self._application.delivery_failed(reply.stream_id, reply.said, self._now(), reason)
            self._log.info("delivery failed", reason=reason, events=[said.topic for said in reply.said])

    def _time_of(self, call: HookCall) -> datetime:
        now = self._now()
        seconds, nanoseconds = divmod(call.time_ns, NS_PER_S)
        if call.time_ns < EVENT_TIME_MIN_NS or seconds > now.timestamp() + EVENT_TIME_AHEAD_S:
            return now
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1_000)


def empty_reply(event: str) -> bytes:
    """Return the reply that says nothing; PreCompact's output would become instructions."""
    return b"" if event == "PreCompact" else EMPTY_REPLY

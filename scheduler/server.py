"""
The daemon's socket: requests, answered in the order of arrival by one thread.

A hook client makes a connection for its one request; a bridge, which lives in its agent's process, keeps one.

Between two requests nothing else writes events, so that each session's calls are stored one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler.connections import Connection, Kept, Listener
from tokeneconomizer.scheduler.hook_calls import HookCall, HookReply, empty_reply
from tokeneconomizer.scheduler.spool import flag
from tokeneconomizer.scheduler.store_trouble import StoreFailing

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    import structlog

    from tokeneconomizer.hosts.hook.wire import Header
    from tokeneconomizer.scheduler.live_calls import LiveCalls

REQUEST_S_MAX = 5.0
"""A client sends its request at once; the hook client itself gives up after less than a second."""

CONFIRMATION_S_MAX = 2.0
"""The hook client confirms within a millisecond of writing; an agent that reads late gets two seconds."""

KEPT_CONNECTIONS_MAX = 100
"""One for each process of an agent with a bridge; the usual limit of open files is 1024."""

SOCKET_NAME = "daemon.sock"
"""Bound by its bare name from within the home: a Unix socket's path may have about 104 bytes only."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """
    What the server needs to answer.

    Attributes:
        version: the program's, sent with each reply.
        calls: answers hook calls.
        control: answers `te`: the request's kind and payload -> the reply.
        keep_environment: takes the allow-list that came with a session start, by host.
        after: called when a request is answered, to let projections catch up.

    """

    version: str
    calls: LiveCalls
    control: Callable[[str, bytes], bytes]
    keep_environment: Callable[[str, Mapping[str, str]], None]
    after: Callable[[], None]


class Server:
    """
    Serves connections.

    Args:
        speaker: what answers.
        log: the daemon's log.

    """

    def __init__(self, speaker: Speaker, log: structlog.stdlib.BoundLogger) -> None:
        self._speaker = speaker
        self._log = log
        self._kept = Kept(KEPT_CONNECTIONS_MAX)

    async def listen(self) -> Listener:
        """Bind the socket in the working folder, which is the home."""
        return Listener(SOCKET_NAME, self._serve, self._kept.close)

    async def _serve(self, accepted: socket.socket) -> None:
        connection = Connection(accepted, REQUEST_S_MAX)
        try:
            goes_on = True
            while goes_on:
                connection.allow(REQUEST_S_MAX)
                header, environment, payload = await _read_request(connection)
                await self._answer(header, environment, payload, connection)
                goes_on = header.kind == "bridge" and await self._kept.has_more(connection)
        except OSError as error:
            self._log.warning("request incomplete", error=type(error).__name__)
        except wire.WireError as error:
            self._log.warning("request refused", reason=str(error))
        except StoreFailing:
            # Told where it was met; as below, no reply is the answer.
            return
        except Exception:  # noqa: BLE001 - without a reply the client answers by itself and spools the payload
            self._log.exception("request failed")
        finally:
            connection.close()

    async def _answer(
        self, header: Header, environment: bytes, payload: bytes, connection: Connection
    ) -> None:
        if header.kind in {"hook", "bridge", "oversize"}:
            if environment:
                self._speaker.keep_environment(flag(header.host), wire.parse_environment(environment))
            reply = self._hook_reply(header, payload)
            await connection.send(wire.encode_reply(self._speaker.version, reply.data))
            # A bridge confirms whatever says something; what stands for no event cannot be taken back.
            if reply.said or (header.kind == "bridge" and reply.speaks):
                await self._confirm(reply, connection)
            self._speaker.calls.finish()
        else:
            data = self._speaker.control(header.kind, payload)
            await connection.send(wire.encode_reply(self._speaker.version, data))
        self._speaker.after()

    def _hook_reply(self, header: Header, payload: bytes) -> HookReply:
        event = flag(header.event)
        if header.kind == "oversize":
            self._log.warning("payload too large", host=flag(header.host), hook=event)
            return HookReply(empty_reply(event))
        return self._speaker.calls.answer(
            HookCall(
                host=flag(header.host),
                event=event,
                via=flag(header.via),
                time_ns=header.time_ns,
                delivery_id=header.delivery_id,
                payload=payload,
            )
        )

    async def _confirm(self, reply: HookReply, connection: Connection) -> None:
        """Wait until the hook client says that the agent has the whole reply; else take back what it said."""
        connection.allow(CONFIRMATION_S_MAX)
        try:
            answer = await connection.receive()
        except OSError:
            answer = b""
        if answer.startswith(wire.CONFIRMATION):
            connection.give_back(answer.removeprefix(wire.CONFIRMATION))
        else:
            connection.end()
            self._speaker.calls.not_delivered(reply, "the hook client did not confirm")


async def _read_request(connection: Connection) -> tuple[Header, bytes, bytes]:
    received = await connection.receive()
    while (end := received.find(b"\n") + 1) == 0 and len(received) <= wire.HEADER_BYTES_MAX:
        received += await connection.receive()
    header = wire.parse_header(received[:end] if end else received)
    payload_start = end + header.environment_length
    missing = payload_start + header.payload_length - len(received)
    chunks = [received]
    while missing > 0:
        chunks.append(await connection.receive())
        missing -= len(chunks[-1])
    whole = b"".join(chunks)
    payload_end = payload_start + header.payload_length
    connection.give_back(whole[payload_end:])
    return header, whole[end:payload_start], whole[payload_start:payload_end]

"""
What te-hook and the daemon say to each other (version 1), and the files of the spool.

The hook client writes the same bytes by hand, because it may not afford to import this module; so does the
bridge (`hosts/bridge/bridge.ts`), which is no Python.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

# Parsing more than this would hold up every other session in the daemon.
PAYLOAD_BYTES_MAX = 8 * 1024 * 1024
# The variables that the hook lists take a few KiB.
ENVIRONMENT_BYTES_MAX = 256 * 1024
# No reply comes near it.
REPLY_BYTES_MAX = 1024 * 1024
# The longest possible request or spool header takes about 220: a reader may stop looking for its end here.
HEADER_BYTES_MAX = 512

# `bridge` is a hook's call on a connection that stays open for the next one.
KINDS = ("hook", "bridge", "oversize", "status", "stop", "command")
# In place of a host, event or via that is missing or not a plain name.
ABSENT = "-"
# The client sends it once the whole reply is on the agent's pipe.
CONFIRMATION = b"+"

_NAME = r"[A-Za-z0-9_.-]{1,40}"
_NUMBER = r"0|[1-9][0-9]{0,18}"
_ORIGIN = (
    rf"(?P<host>{_NAME}) (?P<event>{_NAME}) (?P<via>{_NAME})"
    rf" (?P<time_ns>{_NUMBER}) (?P<delivery_id>[0-9a-f]{{32}})"
)
_REQUEST_HEADER = re.compile(
    rf"TE1 (?P<kind>{'|'.join(KINDS)}) {_ORIGIN} (?P<first_length>{_NUMBER}) (?P<second_length>{_NUMBER})\n"
)
_SPOOL_HEADER = re.compile(rf"TE1 spool {_ORIGIN} (?P<first_length>{_NUMBER}) (?P<second_length>{_NUMBER})\n")
_REPLY_HEADER = re.compile(r"TE1 (?P<version>[!-~]{1,64}) (?P<length>" + _NUMBER + r")\n")


class WireError(ValueError):
    """Bytes from a client, a daemon or the spool that do not follow the protocol."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a request: who calls, when, and how many bytes follow."""

    kind: str
    host: str
    event: str
    via: str
    time_ns: int
    delivery_id: str
    environment_length: int
    payload_length: int


@dataclass(frozen=True, slots=True)
class ReplyHeader:
    """The first line of a reply: the daemon's program version, and how many bytes follow."""

    version: str
    reply_length: int


@dataclass(frozen=True, slots=True)
class Spooled:
    """A hook call that found no daemon, with the reply that its agent got."""

    host: str
    event: str
    via: str
    time_ns: int
    delivery_id: str
    reply: bytes
    payload: bytes


def parse_header(line: bytes) -> Header:
    """Read a request's first line, its line end included."""
    match = _match(_REQUEST_HEADER, line, "request header")
    header = Header(
        kind=match["kind"],
        host=match["host"],
        event=match["event"],
        via=match["via"],
        time_ns=int(match["time_ns"]),
        delivery_id=match["delivery_id"],
        environment_length=int(match["first_length"]),
        payload_length=int(match["second_length"]),
    )
    _check_length("environment", header.environment_length, ENVIRONMENT_BYTES_MAX)
    _check_length("payload", header.payload_length, PAYLOAD_BYTES_MAX)
    if header.kind == "oversize" and header.payload_length:
        message = "an oversize request carries no payload: drop the connection"
        raise WireError(message)
    return header


def parse_reply_header(line: bytes) -> ReplyHeader:
    """Read a reply's first line, its line end included."""
    match = _match(_REPLY_HEADER, line, "reply header")
    header = ReplyHeader(version=match["version"], reply_length=int(match["length"]))
    _check_length("reply", header.reply_length, REPLY_BYTES_MAX)
    return header


def parse_spooled(data: bytes) -> Spooled:
    """Read a whole spool file."""
    line, end, body = data.partition(b"\n")
    match = _match(_SPOOL_HEADER, line + end, "spool header")
    reply_length = int(match["first_length"])
    payload_length = int(match["second_length"])
    if len(body) != reply_length + payload_length:
        expected = f"{reply_length} + {payload_length}"
        message = f"spool file has {len(body)} bytes after its header, not {expected}: set it aside"
        raise WireError(message)
    return Spooled(
        host=match["host"],
        event=match["event"],
        via=match["via"],
        time_ns=int(match["time_ns"]),
        delivery_id=match["delivery_id"],
        reply=body[:reply_length],
        payload=body[reply_length:],
    )


def parse_environment(data: bytes) -> dict[str, str]:
    """Read `NAME=value` records; bytes that are not UTF-8 survive as `os.fsdecode` would keep them."""
    variables: dict[str, str] = {}
    for record in data.split(b"\0") if data else ():
        name, equals, value = record.partition(b"=")
        if not equals or not name:
            message = "environment record without NAME=: drop the connection"
            raise WireError(message)
        variables[name.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
    return variables


def encode_environment(variables: dict[str, str]) -> bytes:
    """Write what `parse_environment` reads."""
    return b"\0".join(
        f"{name}={value}".encode("utf-8", "surrogateescape") for name, value in variables.items()
    )


def encode_request(  # noqa: PLR0913 - the fields of one line
    kind: str,
    *,
    host: str = ABSENT,
    event: str = ABSENT,
    via: str = ABSENT,
    time_ns: int,
    delivery_id: str,
    environment: bytes = b"",
    payload: bytes = b"",
) -> bytes:
    """Write a whole request. Raises WireError where the daemon would refuse it."""
    line = (
        f"TE1 {kind} {host} {event} {via} {time_ns} {delivery_id} {len(environment)} {len(payload)}\n"
    ).encode()
    parse_header(line)
    return line + environment + payload


def encode_spooled(spooled: Spooled) -> bytes:
    """Write the content of a spool file."""
    line = (
        f"TE1 spool {spooled.host} {spooled.event} {spooled.via} {spooled.time_ns} {spooled.delivery_id}"
        f" {len(spooled.reply)} {len(spooled.payload)}\n"
    ).encode()
    _match(_SPOOL_HEADER, line, "spool header")
    return line + spooled.reply + spooled.payload


# Nearly every reply is the same empty one.
@lru_cache(maxsize=4)
def encode_reply(version: str, reply: bytes) -> bytes:
    """Write a whole reply. Raises WireError where a client would refuse it."""
    line = f"TE1 {version} {len(reply)}\n".encode()
    parse_reply_header(line)
    return line + reply


def _match(pattern: re.Pattern[str], line: bytes, what: str) -> re.Match[str]:
    # latin-1 maps every byte to one character, so what is not ASCII simply does not match.
    match = pattern.fullmatch(line[: HEADER_BYTES_MAX + 1].decode("latin-1"))
    if match is None:
        message = f"not a {what} of protocol TE1 ({len(line)} bytes): is the other side of another version?"
        raise WireError(message)
    return match


def _check_length(what: str, length: int, limit: int) -> None:
    if length > limit:
        message = f"{what} of {length} bytes is over the limit of {limit}: send less"
        raise WireError(message)

"""From a payload's bytes to its agent's module and the neutral command; every foreign byte passes here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.recognise import host_of
from tokeneconomizer.hosts.table import HOSTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.hosts.host import Host

DEPTH_MAX = 200
"""Tool inputs nest a few levels; what nests deeper is made to break parsers."""


def decode(data: bytes, host_flag: str, event_flag: str) -> tuple[Host, HookCommand]:
    """
    Return the agent and the command of a payload.

    Args:
        data: the hook's stdin.
        host_flag: the host named at registration, or empty.
        event_flag: the event named at registration, or empty.

    Raises:
        BadPayload: when it is no payload of an agent that this version speaks with.

    """
    payload = parse(data)
    name = host_of(payload, host_flag)
    host = HOSTS.get(name)
    if host is None:
        message = f"no agent of this version sends such a payload (shape: {name or 'unknown'})"
        raise BadPayload(message)
    return host, host.decode(payload, event_flag)


def parse(data: bytes) -> Mapping[str, object]:
    """
    Return the JSON object that the bytes hold.

    Bytes that are not UTF-8 and halves of surrogate pairs are replaced, for agents cut texts anywhere.

    Raises:
        BadPayload: when they hold none, or one that nests too deep.

    """
    try:
        payload = orjson.loads(data)
    except orjson.JSONDecodeError:
        payload = _parse_tolerantly(data)
    if not isinstance(payload, dict):
        message = "the payload is no JSON object: nothing was stored for it"
        raise BadPayload(message)
    # Without as many brackets nothing nests so deep; they are counted faster than levels are walked.
    if data.count(b"{") + data.count(b"[") > DEPTH_MAX:
        _refuse_deep(payload)
    return payload


def _parse_tolerantly(data: bytes) -> object:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        message = f"the payload is no JSON ({type(error).__name__}): nothing was stored for it"
        raise BadPayload(message) from None


def _refuse_deep(payload: object) -> None:
    level: list[object] = [payload]
    for _ in range(DEPTH_MAX):
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    message = f"the payload nests deeper than {DEPTH_MAX} levels: nothing was stored for it"
    raise BadPayload(message)


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []

"""
What `te` may ask of whoever may write events: the running daemon, or itself while it holds the lock.

Requests are JSON objects with a `name`; each answer is one too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import structlog

from tokeneconomizer.domain.errors import DaemonUnreachable, TokeneconomizerError
from tokeneconomizer.domain.settings import ALL_HOSTS
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.scheduler import client, configuration
from tokeneconomizer.scheduler.building import build
from tokeneconomizer.scheduler.lock import held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.scheduler.building import Parts
    from tokeneconomizer.scheduler.home import Home

POLICIES_CHANGED = "policies_changed"
SETUP_CHANGED = "setup_changed"


def execute(parts: Parts, request: Mapping[str, object]) -> dict[str, object]:
    """
    Store what the request says.

    Raises:
        TokeneconomizerError: the request is none that this version knows.

    """
    now = datetime.now(UTC)
    name = request.get("name")
    if name == POLICIES_CHANGED:
        return {"policies": store_policies(parts, now)}
    if name == SETUP_CHANGED:
        try:
            parts.application.setup_changed(
                str(request["host"]),
                now,
                action=str(request["action"]),
                files=[str(file) for file in cast("list[object]", request["files"])],
                versions=(str(request["program_version"]), str(request["agent_version"])),
            )
        except KeyError as error:
            message = f"the command `{name}` lacks {error}: `te daemon stop`, so that the new program starts"
            raise TokeneconomizerError(message) from error
        return {"setup": 1}
    message = f"the daemon knows no command `{name}`: `te daemon stop`, so that the new program starts"
    raise TokeneconomizerError(message)


def store_policies(parts: Parts, now: datetime) -> int:
    """Store the policies that changed since they were last stored, removed ones included; return how many."""
    seen = {
        (host, key, repository): value
        for host, key, value, repository in configuration.policies(parts.configuration())
    }
    for host in (ALL_HOSTS, *HOST_NAMES):
        for name in parts.application.known_policies(host):
            repository, _, key = name.rpartition("\n")
            seen.setdefault((host, key, repository), "null")
    policies = [(host, key, value, repository) for (host, key, repository), value in seen.items()]
    return parts.application.policies_seen(policies, now)


def submit(home: Home, request: Mapping[str, object]) -> Mapping[str, object]:
    """
    Have the running daemon store something, or store it here where none runs.

    Raises:
        DaemonRunning: a daemon holds the lock and does not answer.
        TokeneconomizerError: the daemon refused the request.

    """
    try:
        answer = client.ask(home, "command", request).data
    except DaemonUnreachable:
        home.create()
        with held(home.lock):
            parts = build(home, cast("structlog.stdlib.BoundLogger", structlog.get_logger()))
            try:
                return execute(parts, request)
            finally:
                parts.store.close()
    if "error" in answer:
        raise TokeneconomizerError(str(answer["error"]))
    return answer

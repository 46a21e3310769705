"""
What may be asked of whoever may write events; `scheduler.sending` finds out who that is.

Requests are JSON objects with a `name`; each answer is one too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import msgspec

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext
from tokeneconomizer.domain.commands import Place, SessionKey
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.missed_calls import LoggedTurn, MissedCall
from tokeneconomizer.domain.settings import ALL_HOSTS
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.scheduler import configuration
from tokeneconomizer.scheduler.imported_events import decoded
from tokeneconomizer.scheduler.prune_changes import PRUNE_CHANGED, PruneChanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.scheduler.building import Parts

POLICIES_CHANGED = "policies_changed"
SETUP_CHANGED = "setup_changed"
STORE_IMPORTED = "store_imported"
CALLS_MISSED = "calls_missed"
FACT_WISHED = "fact_wished"


class MissedCalls(msgspec.Struct):
    """The request of that name: what an agent's log tells of one turn, and no hook did."""

    host: str
    session_id: str
    agent_id: str
    turn: int
    at: datetime
    calls: list[MissedCall]
    told: ToldContext = NOTHING_TOLD
    opened_version: int = 1
    name: str = CALLS_MISSED


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
    if name == STORE_IMPORTED:
        events = decoded(cast("list[object]", request.get("events", [])))
        parts.store.append([event.stored() for event in events])
        return {"stored": len(events)}
    if name == PRUNE_CHANGED:
        try:
            pruned = msgspec.convert(request, PruneChanged)
        except msgspec.ValidationError as error:
            raise TokeneconomizerError(_other_version(PRUNE_CHANGED, error)) from error
        place = Place(pruned.repository, pruned.checkout)
        return {"stored": parts.application.prune_changed(pruned.host, place, pruned.changes, now)}
    if name == CALLS_MISSED:
        try:
            missed = msgspec.convert(request, MissedCalls)
        except msgspec.ValidationError as error:
            raise TokeneconomizerError(_other_version(CALLS_MISSED, error)) from error
        key = SessionKey(missed.host, missed.session_id, missed.agent_id)
        turn = LoggedTurn(missed.turn, missed.at, missed.calls, missed.told, missed.opened_version)
        return {"stored": parts.application.calls_missed(key, turn)}
    if name == FACT_WISHED:
        parts.application.fact_wished(
            str(request.get("repository", "")),
            now,
            fact_id=str(request.get("fact_id", "")),
            pinned=request.get("pinned") is True,
        )
        return {"stored": 1}
    message = f"the daemon knows no command `{name}`: `te daemon stop`, so that the new program starts"
    raise TokeneconomizerError(message)


def _other_version(name: str, error: Exception) -> str:
    return f"`{name}` is of another version ({error}): `te daemon stop`, so that the new one starts"


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

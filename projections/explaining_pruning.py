"""Why tools were proposed, denied, refused and taken back: from the events of the checkout's list alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeGuard

from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.explained import Explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokeneconomizer.projections.event_log import EventLog

OPENED = "tool_prune.opened"
CATALOG = "tool_prune.catalog_recorded"
PROPOSED = "tool_prune.proposed"
PENDED = "tool_prune.deny_list_pended"
WRITTEN = "tool_prune.deny_list_written"
REFUSED = "tool_prune.deny_list_refused"
RESTORED = "tool_prune.deny_list_restored"

UNUSED = "unused"
BY_THE_USER = "named by the user"
BY_DEFAULT = "what this agent loads by default"

ASKED_FOR_TOLD = 16
"""The newest calls and prompts that asked for a tool; one of them suffices."""

MS_PER_S = 1_000


def _catalog_recorded(event: EventRow, before: Sequence[EventRow]) -> Explained:
    value = _json(event.data["catalog"])
    tools = [tool for tool in value if isinstance(tool, dict)] if isinstance(value, list) else []
    loaded = [tool for tool in tools if tool.get("loaded")]
    sizes = [size for tool in loaded if isinstance(size := tool.get("characters"), int)]
    measured: dict[str, object] = {
        "agent_version": event.data["agent_version"],
        "tools": len(tools),
        "loaded": len(loaded),
        "characters": sum(sizes) if sizes else None,
        "assumed": sum(1 for tool in loaded if tool.get("assumed")),
    }
    return Explained({"the catalogue before it": _newest(before, CATALOG)}, measured=measured)


def _proposed(event: EventRow, before: Sequence[EventRow]) -> Explained:
    rests_on = {"the catalogue": _newest(before, CATALOG), "proposed before": _newest(before, PROPOSED)}
    evidence = _evidence_for(event.data["names"], [event])
    return Explained(rests_on, UNUSED, _limits(event), evidence | _where_assumed(before))


def _pended(event: EventRow, before: Sequence[EventRow]) -> Explained:
    return _of_list(event, before, {"approved_by": event.data["approved_by"]})


def _written(event: EventRow, before: Sequence[EventRow]) -> Explained:
    idle_ms = event.data["idle_ms"]
    idle_s = idle_ms / MS_PER_S if isinstance(idle_ms, int) else None
    return _of_list(event, before, {"idle_seconds": idle_s, "without_the_wait": event.data["overridden"]})


def _refused(event: EventRow, before: Sequence[EventRow]) -> Explained:
    return _of_list(event, before, {"reason": event.data["reason"], "detail": event.data["detail"]})


def _of_list(event: EventRow, before: Sequence[EventRow], measured: Mapping[str, object]) -> Explained:
    """Tell what a list that was approved, written or refused rests on."""
    approvals = [] if event.topic == PENDED or event.data.get("overridden") else _newest(before, PENDED)
    proposals = _newest(before, PROPOSED)
    evidence = _evidence_for(event.data["names"], proposals)
    if not evidence:
        return Explained({"the approval": approvals}, BY_THE_USER, {}, dict(measured))
    rests_on = {
        "the approval": approvals,
        "the evidence": proposals,
        "the catalogue": _newest(before[: before.index(proposals[0])], CATALOG),
    }
    told = {**measured, **evidence, **_where_assumed(before)}
    return Explained(rests_on, UNUSED, _limits(proposals[0]), told)


def restored(event: EventRow, before: Sequence[EventRow], log: EventLog) -> Explained:
    """Tell by which writes the names came into the file, and what asked for them since."""
    names = _texts(event.data["names"])
    writes = [
        row for row in before if row.topic == WRITTEN and not names.isdisjoint(_texts(row.data["names"]))
    ]
    asked = list(_asking(log, before, names, writes[-1], event))[-ASKED_FOR_TOLD:] if writes else []
    return Explained({"denied it": writes, "asked for it since": asked})


EXPLAIN_PRUNING: dict[str, Callable[[EventRow, Sequence[EventRow]], Explained]] = {
    CATALOG: _catalog_recorded,
    PROPOSED: _proposed,
    PENDED: _pended,
    WRITTEN: _written,
    REFUSED: _refused,
}


def _asking(
    log: EventLog, before: Sequence[EventRow], names: set[str], written: EventRow, event: EventRow
) -> Iterator[EventRow]:
    """Yield the calls and prompts of the repository's sessions with this agent that asked for a name."""
    about = next((row.data for row in before if row.topic == OPENED), {})
    is_ours: dict[str, bool] = {}
    for row in log.entries(written.position):
        if row.position >= event.position:
            return
        if not isinstance(row, EventRow) or names.isdisjoint(_asked_in(row)):
            continue
        if row.stream_id not in is_ours:
            first = log.first(row.stream_id)
            is_ours[row.stream_id] = isinstance(first, EventRow) and all(
                first.data.get(name) == about.get(name) for name in ("host", "repository")
            )
        if is_ours[row.stream_id]:
            yield row


def _asked_in(row: EventRow) -> set[str]:
    if row.topic == "session.tool_called":
        return {str(row.data["tool"]), str(row.data["server"])}
    return _texts(row.data["tools_named"]) if row.topic == "session.prompt_submitted" else set()


def _evidence_for(names: object, proposals: Sequence[EventRow]) -> dict[str, object]:
    """Return the evidence of the names that were proposed."""
    found = _json(proposals[0].data["evidence"]) if proposals else None
    return {name: found[name] for name in sorted(_texts(names)) if name in found} if _is_object(found) else {}


def _limits(proposal: EventRow) -> dict[str, object]:
    limits = _json(proposal.data["limits"])
    return limits if _is_object(limits) else {}


def _json(text: object) -> object:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _where_assumed(before: Sequence[EventRow]) -> dict[str, object]:
    return {} if _newest(before, CATALOG) else {"catalogue": BY_DEFAULT}


def _newest(rows: Sequence[EventRow], topic: str) -> list[EventRow]:
    return [row for row in rows if row.topic == topic][-1:]


def _texts(value: object) -> set[str]:
    return set(map(str, value)) if isinstance(value, list) else set()

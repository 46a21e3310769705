"""
Why something was decided: by which rule, under which limits, from which events.

Told from the events alone, so that the answer for an old decision does not change with the program's rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.projections.audit import DECISIONS
from tokeneconomizer.projections.audit_words import UNDELIVERED, words_of
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.explained import Explained
from tokeneconomizer.projections.explaining_pruning import EXPLAIN_PRUNING, RESTORED, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokeneconomizer.projections.event_log import EventLog

CALLS_TOLD = 32
"""Twice as far back as a circle reaches; the list stays one that a person reads."""

GATE_CALLS_TOLD = 16
"""As many as the gate looks at."""

LIMITS_OF_RULE: dict[str, tuple[str, ...]] = {
    "same_call": ("failed_repeats", "failed_repeats_with_edits", "same_result_repeats", "poll_repeats"),
    "same_read": ("same_read_repeats",),
    "same_failure": ("signature_repeats", "signature_repeats_in_a_row"),
    "edit_refused": ("refused_edits",),
    "cycle": ("cycle_rounds",),
    "back_and_forth": ("returns",),
    "failures_return": ("returns",),
    "judge": ("judge_confidence",),
    "gate": ("gate_calls", "gate_failures", "gate_edits", "gate_minutes", "green_turns"),
}
"""Rule -> the limits that it goes by; `span_calls` bounds all but the judge and the gate."""

_OF_ONE_FILE = frozenset({"edit_refused", "back_and_forth", "failures_return"})
_WITHOUT_SPAN = frozenset({"judge", "gate"})


class Basis(NamedTuple):
    """An event that a decision rests on, and in which way."""

    position: int
    at: str
    kind: str
    why: str
    summary: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    Why something was decided.

    Attributes:
        is_decision: False for what the agent did.
        rule: the rule, `judge` or `gate`; empty where none decided.
        limits: those in force that the rule goes by.
        measured: what stood against them.
        delivered: whether it reached the agent; None where there was nothing to deliver.
        rests_on: in the order of the log.

    """

    position: int
    at: str
    kind: str
    summary: str
    is_decision: bool
    rule: str = ""
    limits: dict[str, object] = field(default_factory=dict)
    measured: dict[str, object] = field(default_factory=dict)
    delivered: bool | None = None
    rests_on: tuple[Basis, ...] = ()


class _Call(NamedTuple):
    called: EventRow
    returned: EventRow

    def has_evidence(self, evidence_hash: object) -> bool:
        result = f"{self.called.data['arguments_hash']}{self.returned.data['result_hash']}"
        return evidence_hash in {self.returned.data["signature_hash"], result}

    def is_of_the_same_work(self, other: _Call) -> bool:
        mine, others = self.called.data, other.called.data
        return any(mine[name] == others[name] != "" for name in ("target_hash", "arguments_hash"))


def explain(log: EventLog, event: EventRow) -> Explanation:
    """
    Return why an event was decided.

    Raises:
        StoreDamaged, StoreUnreachable: as the log says.

    """
    stream = [row for row in log.stream(event.stream_id) if isinstance(row, EventRow)]
    before = [row for row in stream if row.position < event.position]
    if event.topic == RESTORED:
        explained = restored(event, before, log)
    else:
        explained = _EXPLAIN.get(event.topic, _by_delivery)(event, before)
    return Explanation(
        position=event.position,
        at=event.at,
        kind=event.topic,
        summary=words_of(event.topic, event.data),
        is_decision=event.topic in DECISIONS,
        rule=explained.rule,
        limits=explained.limits,
        measured=explained.measured,
        delivered=_is_delivered(event, stream) if event.topic in UNDELIVERED else None,
        rests_on=tuple(_bases(explained.rests_on)),
    )


def _redirected(event: EventRow, before: Sequence[EventRow]) -> Explained:
    rule, turn = str(event.data["rule"]), _of_turn(before, event)
    calls = _calls_of(turn)
    rests_on = {
        "brought the limits": _limits_from(before),
        "the evidence": _results(_calls_behind(rule, event, calls)),
    }
    if rule == "judge":
        rests_on["the way to the judge"] = _of_kinds(turn, "gate_fired", "judge_asked", "verdict_given")
    measured = {name: event.data[name] for name in ("occurrences", "evidence", "call_number", "number")}
    return Explained(rests_on, rule, _limits_of(rule, event.data["limits"]), measured)


def _stop_hinted(event: EventRow, before: Sequence[EventRow]) -> Explained:
    turn, evidence = _of_turn(before, event), event.data["evidence_hash"]
    redirects = [row for row in _of_kinds(turn, "redirected") if row.data["evidence_hash"] == evidence]
    again = [call for call in _calls_of(turn) if call.has_evidence(evidence)]
    rests_on = {
        "the redirect that did not help": redirects,
        "the same evidence": _results(again),
    }
    rule = str(redirects[-1].data["rule"]) if redirects else ""
    return Explained(rests_on, rule, measured={"call_number": event.data["call_number"]})


def _gate_fired(event: EventRow, before: Sequence[EventRow]) -> Explained:
    turn = _of_turn(before, event)
    limits = _limits_from(before)
    rests_on = {
        "brought the limits": limits,
        "the newest calls: more brought nothing new than did": _results(_calls_of(turn)[-GATE_CALLS_TOLD:]),
    }
    in_force = _limits_of("gate", limits[0].data["limits"]) if limits else {}
    measured = {name: event.data[name] for name in ("measure", "value", "limit")}
    return Explained(rests_on, "gate", in_force, measured)


def _judge_asked(event: EventRow, before: Sequence[EventRow]) -> Explained:
    measured = {"digest_characters": event.data["digest_characters"]}
    return Explained({"the gate": _of_kinds(_of_turn(before, event), "gate_fired")}, "gate", {}, measured)


def _verdict_given(event: EventRow, before: Sequence[EventRow]) -> Explained:
    asked = [row for row in before if row.data.get("side_call_id") == event.data["side_call_id"]]
    limits = _limits_from(before)
    in_force = _limits_of("judge", limits[0].data["limits"]) if limits else {}
    measured = {name: event.data[name] for name in ("verdict", "confidence", "model")}
    gates = _of_kinds(_of_turn(before, event), "gate_fired")
    return Explained({"the gate": gates, "the question": asked}, "judge", in_force, measured)


def _delivery_failed(event: EventRow, before: Sequence[EventRow]) -> Explained:
    lost = [row for row in before if row.stream_version == event.data["failed_version"]]
    return Explained({"what did not arrive": lost}, measured={"reason": event.data["reason"]})


def _policy_set(event: EventRow, before: Sequence[EventRow]) -> Explained:
    named = [
        row
        for row in before
        if row.topic == event.topic
        and (row.data["key"], row.data["repository"]) == (event.data["key"], event.data["repository"])
    ]
    return Explained({"what held before": named[-1:]})


def _by_delivery(event: EventRow, before: Sequence[EventRow]) -> Explained:
    """Name what came in the same hook call, else the decision before it in the stream."""
    delivery = event.data.get("delivery_id")
    if delivery:
        together = [row for row in before if row.data.get("delivery_id") == delivery]
        return Explained({"the same hook call": together})
    decisions = [row for row in before if row.topic in DECISIONS]
    return Explained({"the decision before it": decisions[-1:]})


_EXPLAIN: dict[str, Callable[[EventRow, Sequence[EventRow]], Explained]] = {
    "session.redirected": _redirected,
    "session.stop_hinted": _stop_hinted,
    "session.gate_fired": _gate_fired,
    "session.judge_asked": _judge_asked,
    "session.verdict_given": _verdict_given,
    "session.delivery_failed": _delivery_failed,
    "setup.policy_set": _policy_set,
    **EXPLAIN_PRUNING,
}


def _of_turn(before: Sequence[EventRow], event: EventRow) -> list[EventRow]:
    return [row for row in before if row.data.get("turn") == event.data["turn"]]


def _of_kinds(rows: Iterable[EventRow], *kinds: str) -> list[EventRow]:
    topics = {f"session.{kind}" for kind in kinds}
    return [row for row in rows if row.topic in topics]


def _limits_from(before: Sequence[EventRow]) -> list[EventRow]:
    """Return the newest event that brought limits into force, as a list of one, or of none."""
    return _of_kinds(before, "started", "resumed", "prompt_submitted")[-1:]


def _limits_of(rule: str, limits: object) -> dict[str, object]:
    in_force = json.loads(str(limits) or "{}")
    names = LIMITS_OF_RULE.get(rule, ()) + (() if rule in _WITHOUT_SPAN else ("span_calls",))
    return {name: in_force[name] for name in names if name in in_force}


def _calls_of(turn: Iterable[EventRow]) -> list[_Call]:
    called: dict[object, EventRow] = {}
    calls = []
    for row in turn:
        if row.topic == "session.tool_called":
            called[row.data["call_id"]] = row
        elif row.topic == "session.tool_returned" and row.data["call_id"] in called:
            calls.append(_Call(called[row.data["call_id"]], row))
    return calls


def _calls_behind(rule: str, event: EventRow, calls: Sequence[_Call]) -> list[_Call]:
    """Return the calls that repeat, and what else the rule compares: one file's calls, a circle's others."""
    same = [call for call in calls if call.has_evidence(event.data["evidence_hash"])]
    newest = [call for call in calls if call.called.data["call_id"] == event.data["call_id"]]
    if rule == "cycle" and same:
        return list(calls[calls.index(same[0]) :])[-CALLS_TOLD:]
    if rule in _OF_ONE_FILE:
        same = [call for call in calls if call in same or any(map(call.is_of_the_same_work, newest))]
    return same[-CALLS_TOLD:]


def _results(calls: Iterable[_Call]) -> list[EventRow]:
    return [row for call in calls for row in call]


def _is_delivered(event: EventRow, stream: Iterable[EventRow]) -> bool:
    return not any(
        row.topic == "session.delivery_failed" and row.data["failed_version"] == event.stream_version
        for row in stream
    )


def _bases(rests_on: Mapping[str, Sequence[EventRow]]) -> list[Basis]:
    found = [
        Basis(row.position, row.at, row.topic, why, words_of(row.topic, row.data))
        for why, rows in rests_on.items()
        for row in rows
    ]
    return sorted(found)

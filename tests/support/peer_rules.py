"""
Loop rules of other agents, written anew from their published thresholds, to be compared on the same turns.

Each looks at the calls of one turn so far and says whether it would stop or warn at the newest one. Calls are
compared as those agents do: by tool and arguments, and where they look at it, the result as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import Call, CallStatus, canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class PeerCall:
    """A call as the peers' rules see it."""

    action: tuple[str, str]
    result: str
    failed: bool

    @classmethod
    def of(cls, call: Call) -> PeerCall:
        return cls((call.tool, canonical_json(call.arguments)), call.output, call.status is not CallStatus.OK)


def openhands(calls: Sequence[PeerCall]) -> bool:
    """4 times the same action and observation, 3 times the same action with errors, A-B-A-B over 6."""
    same = [(call.action, call.result) for call in calls]
    if len(same) >= 4 and len(set(same[-4:])) == 1:
        return True
    last = calls[-3:]
    if len(last) == 3 and len({call.action for call in last}) == 1 and all(call.failed for call in last):
        return True
    return len(same) >= 6 and same[-6:] == same[-2:] * 3 and same[-1] != same[-2]


def gemini_cli(calls: Sequence[PeerCall]) -> bool:
    """5 times the same call, or a cycle of up to 5 calls; its rounds are not published, three are taken."""
    actions = [call.action for call in calls]
    if len(actions) >= 5 and len(set(actions[-5:])) == 1:
        return True
    return any(
        len(actions) >= 3 * length and actions[-3 * length :] == actions[-length:] * 3
        for length in range(2, 6)
        if len(set(actions[-length:])) > 1
    )


def _consecutive(calls: Sequence[PeerCall], times: int) -> bool:
    return len(calls) >= times and len({call.action for call in calls[-times:]}) == 1


def cline(calls: Sequence[PeerCall]) -> bool:
    """3 times the same call is warned of; at 5 it stops."""
    return _consecutive(calls, 3)


def roo(calls: Sequence[PeerCall]) -> bool:
    """3 times the same call."""
    return _consecutive(calls, 3)


def opencode(calls: Sequence[PeerCall]) -> bool:
    """3 times the same call, with the same input."""
    return _consecutive(calls, 3)


PEERS: dict[str, Callable[[Sequence[PeerCall]], bool]] = {
    "OpenHands": openhands,
    "Gemini CLI": gemini_cli,
    "Cline": cline,
    "Roo": roo,
    "opencode": opencode,
}

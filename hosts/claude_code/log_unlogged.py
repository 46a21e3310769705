"""
What a compaction cost: its request stands in no line, only in the sum that the agent writes when it ends.

The sum (2.1.310 and newer) is of all requests since the process began, or since the one did whose session it
goes on with: `startTime` tells. What it says more than the replies between two sums is the compaction's.
Requests of sub-agents are in the sum too, with replies in files of their own: where there were any, the rest
is not known.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tokeneconomizer.domain.usage_record import UsageRecord

FAST_SUFFIX = "-fast"
"""The speed that a reply was paid for stands beside the model, with a price of its own."""

_FIELDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")

Numbers = list[int]
"""One for each of these fields."""


class _ModelSum(msgspec.Struct):
    inputTokens: int = 0  # noqa: N815 - the log's own names
    outputTokens: int = 0  # noqa: N815
    cacheReadInputTokens: int = 0  # noqa: N815
    cacheCreationInputTokens: int = 0  # noqa: N815
    cacheCreationEphemeral1hInputTokens: int = 0  # noqa: N815
    thinkingTokens: int = 0  # noqa: N815


class _CostState(msgspec.Struct):
    startTime: int  # noqa: N815
    modelUsage: dict[str, _ModelSum]  # noqa: N815


class _Stretch(msgspec.Struct):
    """
    What was logged since the last sum.

    Attributes:
        began_ms: time of the first reply.
        replies: model -> numbers, all but the last reply.
        last: the last reply, whose next line may replace it.
        compaction: what a record of it needs; its numbers stand for nothing.
        has_others: more was spent, or may have been, than the replies say.

    """

    began_ms: int | None = None
    replies: dict[str, Numbers] = {}
    last: UsageRecord | None = None
    compaction: UsageRecord | None = None
    has_others: bool = False


class _State(msgspec.Struct):
    stretch: _Stretch
    start_ms: int = 0
    sums: dict[str, Numbers] = {}


class Unlogged:
    """Follows the replies of one file from sum to sum."""

    def __init__(self, state: str) -> None:
        self._state = _DECODER.decode(state) if state else _State(_Stretch())

    def state(self) -> str:
        """Return what the next line needs, as JSON."""
        return msgspec.json.encode(self._state).decode()

    def replied(self, usage: UsageRecord) -> None:
        """Take a line of a reply."""
        stretch = self._state.stretch
        if stretch.began_ms is None and usage.at is not None:
            stretch.began_ms = round(usage.at.timestamp() * 1000)
        if stretch.last is not None and stretch.last.usage_id != usage.usage_id:
            _add(stretch.replies, stretch.last)
        stretch.last = usage

    def compacted(self, compaction: UsageRecord) -> None:
        """Take a compaction, as a record without numbers."""
        self._state.stretch.compaction = compaction

    def others_spent(self) -> None:
        """Take note of what other replies may have spent: a sub-agent's, or those of a damaged line."""
        self._state.stretch.has_others = True

    def settle(self, raw: bytes) -> list[UsageRecord]:
        """Take a sum; return what it says of a compaction since the one before."""
        try:
            line = _COST_STATE.decode(raw)
        except msgspec.ValidationError:
            return []
        sums = {_name(model): _numbers(one) for model, one in line.modelUsage.items()}
        state, stretch = self._state, self._state.stretch
        goes_on = state.start_ms == line.startTime
        before = state.sums if goes_on else {}
        is_complete = goes_on or (stretch.began_ms is not None and stretch.began_ms >= line.startTime)
        self._state = _State(_Stretch(), line.startTime, sums)
        if stretch.compaction is None or stretch.has_others or not is_complete:
            return []
        if stretch.last is not None:
            _add(stretch.replies, stretch.last)
        return _rests(stretch.compaction, sums, before, stretch.replies)


_DECODER = msgspec.json.Decoder(_State)
_COST_STATE = msgspec.json.Decoder(_CostState)


def _rests(
    compaction: UsageRecord, sums: dict[str, Numbers], *known: dict[str, Numbers]
) -> list[UsageRecord]:
    rests = []
    for model, total in sums.items():
        of_known = [numbers.get(model, [0] * len(_FIELDS)) for numbers in known]
        rest = [number - sum(parts) for number, *parts in zip(total, *of_known, strict=True)]
        # Less than nothing: the sum is of other requests than these lines.
        if any(rest) and min(rest) >= 0:
            usage_id = f"compaction {compaction.usage_id} {model}"
            numbers = dict(zip(_FIELDS, rest, strict=True))
            rests.append(replace(compaction, usage_id=usage_id, model=model, **numbers))
    return rests


def _add(replies: dict[str, Numbers], usage: UsageRecord) -> None:
    # Once a reply, in the path that is measured against a native program: plain statements are the fastest.
    numbers = replies.setdefault(_name(usage.model), [0] * len(_FIELDS))
    numbers[0] += usage.input or 0
    numbers[1] += usage.output or 0
    numbers[2] += usage.cache_read or 0
    numbers[3] += usage.cache_write_5m or 0
    numbers[4] += usage.cache_write_1h or 0
    numbers[5] += usage.reasoning or 0


def _name(model: str) -> str:
    """Return the model's name alone: the sum adds the size of its window, as in `name[1m]`, we its speed."""
    return model.partition("[")[0].removesuffix(FAST_SUFFIX)


def _numbers(one: _ModelSum) -> Numbers:
    long = one.cacheCreationEphemeral1hInputTokens
    short = one.cacheCreationInputTokens - long
    return [one.inputTokens, one.outputTokens, one.cacheReadInputTokens, short, long, one.thinkingTokens]

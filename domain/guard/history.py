"""
Looking back in a turn: what was there before, how often, and what happened between.

Calls side by side in one step are one attempt. What moved between two attempts is asked here, so that every
rule means the same by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokeneconomizer.domain.guard.call_record import CallRecord


class History:
    """The remembered calls of a turn, the newest last."""

    def __init__(self, window: Sequence[CallRecord], span_calls: int) -> None:
        self._window = window
        self._span_calls = span_calls

    def attempts(
        self, newest: CallRecord, is_equal: Callable[[CallRecord], bool], ends: Callable[[CallRecord], bool]
    ) -> list[CallRecord]:
        """
        Return the newest call and its equals before it, one a step, the oldest first.

        Args:
            newest: the call that is looked at.
            is_equal: whether an earlier call is another attempt at the same.
            ends: whether an earlier call shows that what was before it is over.

        """
        found = [newest]
        for call in reversed(self._window):
            if call.step == found[-1].step or call.number > newest.number:
                continue
            if found[-1].number - call.number > self._span_calls or ends(call):
                break
            if is_equal(call):
                found.append(call)
        return found[::-1]

    def same(self, newest: CallRecord) -> list[CallRecord]:
        """Return the attempts at one call that gave one outcome; another outcome is the end of them."""
        return self.attempts(
            newest, newest.is_same, lambda call: call.work == newest.work and not newest.is_same(call)
        )

    def between(self, first: CallRecord, last: CallRecord) -> list[CallRecord]:
        """Return the calls of the steps between two calls."""
        return [call for call in self._window if first.step < call.step < last.step]

    def before(self, call: CallRecord) -> list[CallRecord]:
        """Return the calls of the steps before a call."""
        return [earlier for earlier in self._window if earlier.step < call.step]

    def changes(self, calls: Iterable[CallRecord]) -> list[CallRecord]:
        """Return those of the calls that changed a file; the last change made once more changes nothing."""
        return [call for call in calls if call.edits and not self._repeats_last_change(call)]

    def _repeats_last_change(self, call: CallRecord) -> bool:
        for earlier in reversed(self._window):
            if earlier.number < call.number and earlier.edits:
                return earlier.is_same(call)
        return False

    def news(self, calls: Iterable[CallRecord]) -> list[CallRecord]:
        """Return those of the calls that succeeded with a result which no earlier call had."""
        return [
            call
            for call in calls
            if not call.failed
            and not any(
                earlier.result_hash == call.result_hash
                for earlier in self._window
                if earlier.number < call.number
            )
        ]


def has_green_run(calls: Iterable[CallRecord]) -> bool:
    """Return whether tests passed in one of the calls."""
    return any(call.verdict == "passed" for call in calls)

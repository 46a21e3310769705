"""
Live hook calls: after what waits from before them, and where nothing can be said, before they are stored.

An agent waits for the answer. Most answers are certain to be empty before the call is looked at: such a call
is kept on disk, answered, and then stored like one that its hook client answered by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.spool import is_stored

if TYPE_CHECKING:
    import structlog

    from tokeneconomizer.scheduler.hook_calls import HookCall, HookCalls, HookReply
    from tokeneconomizer.scheduler.kept_call import KeptCall
    from tokeneconomizer.scheduler.spool import Spool


class LiveCalls:
    """
    Answers live calls in their order.

    Args:
        calls: stores and answers.
        spool: calls that found no daemon.
        kept: the call that is answered before it is stored.
        log: the daemon's log.

    """

    def __init__(
        self, calls: HookCalls, spool: Spool, kept: KeptCall, log: structlog.stdlib.BoundLogger
    ) -> None:
        self._calls = calls
        self._spool = spool
        self._kept = kept
        self._log = log

    def answer(self, call: HookCall) -> HookReply:
        """
        Return the reply to a call that is stored, or kept until `finish` stores it.

        Raises:
            Exception: whatever a failing store raises; the call is not acknowledged then.

        """
        self.drain()
        silent = self._calls.silent_reply(call)
        if silent is not None and self._kept.keep(call, silent.data):
            return silent
        return self._calls.answer(call)

    def finish(self) -> None:
        """
        Do what the agent need not wait for: store the kept call, and look ahead to the next one.

        Raises:
            Exception: whatever a failing store raises; the call stays kept.

        """
        self._store_kept()
        self._calls.look_ahead()

    def drain(self, *, by_names: bool = False) -> int:
        """
        Store what waits; return how many calls were stored.

        Args:
            by_names: as for the spool.

        Raises:
            Exception: whatever a failing store raises; what is left goes on waiting.

        """
        return self._store_kept() + self._spool.drain(self._calls, by_names=by_names)

    def waiting(self) -> int:
        """Return how many calls are answered and not stored."""
        return len(self._spool.waiting()) + (self._kept.waiting is not None)

    def not_delivered(self, reply: HookReply, reason: str) -> None:
        """Take back what a reply said that never reached the agent."""
        self._calls.not_delivered(reply, reason)

    def _store_kept(self) -> int:
        call = self._kept.waiting
        if call is None:
            return 0
        if not is_stored("kept call refused", call, self._calls, self._log):
            self._kept.refuse()
            return 0
        self._kept.forget()
        return 1

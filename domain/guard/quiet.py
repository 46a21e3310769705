"""To how many further steps of a turn nothing will be said, whatever they are."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.guard.circles import ROUNDS_COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.limits import Limits
    from tokeneconomizer.domain.guard.turn import TurnState


def quiet_steps(turn: TurnState, limits: Limits) -> int:
    """
    Return to how many further steps there certainly is nothing to say.

    It holds while nothing but steps comes. A rule looks at attempts that are equal in one of a few respects,
    one a step: so many are missing at least. Once something was said each step is waited for.
    """
    if turn.redirects or turn.undelivered or turn.is_judged_stuck:
        return 0
    equal, turned = _most_attempts(turn, limits)
    # To return so often, contents or failures take one more to begin with, and one to replace it.
    missing = min(_fewest_equal(limits) - equal, limits.returns + 2 - turned)
    return max(0, missing - 1)


def _fewest_equal(limits: Limits) -> int:
    return min(
        limits.failed_repeats,
        limits.failed_repeats_with_edits,
        limits.same_result_repeats,
        limits.same_read_repeats,
        limits.poll_repeats,
        limits.signature_repeats,
        limits.signature_repeats_in_a_row,
        limits.refused_edits,
        max(limits.cycle_rounds, ROUNDS_COMPARED),
    )


class _Respect(NamedTuple):
    """
    What makes attempts equal to a rule.

    Attributes:
        rule: the kind of attempts.
        what: what they share.
        work: the call itself, where what becomes of it ends the attempts.

    """

    rule: str
    what: tuple[object, ...]
    work: tuple[str, str] = ("", "")

    @property
    def counted_as(self) -> tuple[str, tuple[object, ...]]:
        """What attempts are counted together by: those of differing calls fail alike."""
        by_call = self.work if self.rule in {"same", "failures"} else ("", "")
        return self.rule, (*self.what, *by_call)


class _Attempts:
    """In which steps there were attempts of each kind that a later one can still go on with."""

    def __init__(self) -> None:
        self._steps: dict[_Respect, set[int]] = {}
        self._newest: dict[_Respect, int] = {}

    def take(self, step: Sequence[CallRecord]) -> None:
        """Take in the calls of one step: what they end is over, unless the step goes on with it as well."""
        added = {respect: call for call in step for respect in _respects_of(call)}
        ended = [
            respect
            for respect in self._steps
            if respect not in added and any(_ends(call, respect) for call in step)
        ]
        for respect in ended:
            del self._steps[respect]
        for respect, call in added.items():
            self._steps.setdefault(respect, set()).add(call.step)
            self._newest[respect] = call.number

    def most(self, rules: Iterable[str], oldest_number: int) -> int:
        """Return how many steps the largest group has; one whose newest call is older cannot go on."""
        together: dict[object, set[int]] = {}
        in_reach: set[object] = set()
        for respect, steps in self._steps.items():
            if respect.rule in rules:
                together.setdefault(respect.counted_as, set()).update(steps)
                if self._newest[respect] >= oldest_number:
                    in_reach.add(respect.counted_as)
        return max((len(together[group]) for group in in_reach), default=0)


_EQUAL = ("same", "failure", "refusal")
_TURNED = ("contents", "failures")


def _most_attempts(turn: TurnState, limits: Limits) -> tuple[int, int]:
    attempts = _Attempts()
    for _, step in groupby(turn.window, lambda call: call.step):
        attempts.take(list(step))
    in_reach = turn.calls + 1 - limits.span_calls
    return attempts.most(_EQUAL, in_reach), attempts.most(_TURNED, in_reach)


def _respects_of(call: CallRecord) -> Iterator[_Respect]:
    """Yield in what respects the rules compare a call with earlier ones."""
    yield _Respect("same", (call.failed, call.outcome_hash), call.work)
    if call.failed and call.signature_hash:
        yield _Respect("failure", (call.signature_hash,), call.work)
    if call.failed and call.is_edit:
        yield _Respect("refusal", (call.tool, call.target_hash, call.signature.partition(",")[0]))
    if call.edits and call.is_edit:
        yield _Respect("contents", (call.tool, call.target_hash))
    if call.failed:
        yield _Respect("failures", (), call.work)


def _ends(call: CallRecord, respect: _Respect) -> bool:
    """Return whether the rules count no attempts from before this call."""
    match respect.rule:
        case "same":
            return call.work == respect.work and (call.failed, call.outcome_hash) != respect.what
        case "failure":
            return call.work == respect.work and (call.outcome_hash,) != respect.what
        case "refusal":
            return call.is_edit and not call.failed and call.target_hash == respect.what[1]
        case "contents":
            return call.verdict == "passed"
        case _:
            return call.work == respect.work and not call.failed

"""The guard's thresholds: named, with the reason for each value, stored with every prompt that they judge."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

FAILED_REPEATS = 3
"""Same call, same failure: a third time is no experiment any more."""

FAILED_REPEATS_WITH_EDITS = 4
"""With edits between, three equal failures are ordinary work on a hard test; four are not."""

SAME_RESULT_REPEATS = 4
"""Same successful call, same result, nothing changed between: running it again tells nothing."""

SAME_READ_REPEATS = 4
"""Honest turns come back to a file twice; the fourth reading of what did not change brings nothing."""

POLL_REPEATS = 40
"""Waiting is not going in circles: recorded builds were looked at 29 times in a row, all honestly."""

SIGNATURE_REPEATS = 4
"""Differing calls that fail in the same way: three are a search for the cause, the fourth is none."""

SIGNATURE_REPEATS_IN_A_ROW = 3
"""The same while nothing else worked since the first: then the third is no search any more."""

REFUSED_EDITS = 3
"""An edit that does not apply to one file: the second attempt is the cure, the third guesses."""

CYCLE_ROUNDS = 3
"""Twice around is checking again; a third equal round is a circle."""

RETURNS = 2
"""Undoing an attempt is good work; undoing the undoing as well leads nowhere."""

SPAN_CALLS = 16
"""Occurrences further apart than this are not one circle."""

REDIRECTS_PER_TURN = 2
"""A second line may help for other evidence; a third is noise."""

CALLS_BETWEEN_REDIRECTS = 3
"""The agent needs room to act on the first line."""

CALLS_BEFORE_HINT = 3
"""Stuck after a redirect: the same evidence at the third or a later call after it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """
    The thresholds in force for a turn; see the constants of this module.

    Attributes:
        rules_off: names of the rules that are switched off, with spaces between.
        other fields: as the constants.

    """

    failed_repeats: int = FAILED_REPEATS
    failed_repeats_with_edits: int = FAILED_REPEATS_WITH_EDITS
    same_result_repeats: int = SAME_RESULT_REPEATS
    same_read_repeats: int = SAME_READ_REPEATS
    poll_repeats: int = POLL_REPEATS
    signature_repeats: int = SIGNATURE_REPEATS
    signature_repeats_in_a_row: int = SIGNATURE_REPEATS_IN_A_ROW
    refused_edits: int = REFUSED_EDITS
    cycle_rounds: int = CYCLE_ROUNDS
    returns: int = RETURNS
    span_calls: int = SPAN_CALLS
    rules_off: str = ""

    def has(self, rule: str) -> bool:
        """Whether the rule is switched on."""
        return rule not in self.rules_off.split()

    def to_json(self) -> str:
        """Return the canonical JSON that events hold."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """Read what an event holds; thresholds that it does not know keep their defaults."""
        known = {field.name for field in fields(cls)}
        stored = {name: value for name, value in json.loads(text or "{}").items() if name in known}
        rules_off = str(stored.pop("rules_off", ""))
        return cls(**{name: int(value) for name, value in stored.items()}, rules_off=rules_off)

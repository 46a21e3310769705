"""The guard's thresholds: named, with the reason for each value, stored with every prompt that they judge."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

FAILED_REPEATS = 3
"""Same call, same failure: a third time is no experiment any more."""

FAILED_REPEATS_WITH_EDITS = 4
"""With edits between, three equal failures are ordinary work on a hard test; four are not."""

SAME_RESULT_REPEATS = 4
"""Same successful call, same result, nothing changed between: reading it again tells nothing."""

POLL_REPEATS = 15
"""Waiting is not going in circles; but fifteen equal looks in one turn are."""

SIGNATURE_REPEATS = 4
"""Differing calls that all fail in the same way."""

SPAN_CALLS = 12
"""Occurrences further apart than this are not one circle."""

REDIRECTS_PER_TURN = 2
"""A second line may help for other evidence; a third is noise."""

CALLS_BETWEEN_REDIRECTS = 3
"""The agent needs room to act on the first line."""

CALLS_BEFORE_HINT = 3
"""Stuck after a redirect: the same evidence at the third or a later call after it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds in force for a turn; see the constants of this module."""

    failed_repeats: int = FAILED_REPEATS
    failed_repeats_with_edits: int = FAILED_REPEATS_WITH_EDITS
    same_result_repeats: int = SAME_RESULT_REPEATS
    poll_repeats: int = POLL_REPEATS
    signature_repeats: int = SIGNATURE_REPEATS
    span_calls: int = SPAN_CALLS

    def to_json(self) -> str:
        """Return the canonical JSON that events hold."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """Read what an event holds; thresholds that it does not know keep their defaults."""
        known = {field.name for field in fields(cls)}
        stored = json.loads(text) if text else {}
        return cls(**{name: int(value) for name, value in stored.items() if name in known})

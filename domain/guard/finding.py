"""What a rule says when it fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A rule fired.

    Attributes:
        rule: its name.
        call: on which call.
        occurrences: after how many equal attempts.
        edits_between: how many calls changed a file meanwhile.
        others: how many other calls belong to one round of a circle.

    """

    rule: str
    call: CallRecord
    occurrences: int
    edits_between: int = 0
    others: int = 0

    @property
    def evidence(self) -> str:
        """The words that may be shown: the failure's masked signature, else the tool."""
        return (self.call.signature if self.call.failed else "") or self.call.tool

    @property
    def evidence_hash(self) -> str:
        """What has to hold again for the turn to be called stuck."""
        return self.call.evidence_hash

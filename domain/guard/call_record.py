"""What the guard remembers of one returned call: enough to tell whether it was there before."""

from __future__ import annotations

from dataclasses import dataclass

from tokeneconomizer.domain.call_ruling import RED_VERDICTS

_READING_KINDS = frozenset({"read", "search"})

NO_EDIT_CURES = (
    "command not found",
    "no such tool available",
    "could not resolve host",
    "no space left on device",
)
"""Words of failures that lie in the machine: editing the project between two attempts changes nothing."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """
    One returned call, as far as rules look at it.

    Attributes:
        number: counted in the turn from 1.
        step: calls side by side share it.
        edits: whether it changed a file.
        waits: whether it only waits or polls.
        kind: what the tool does, as in ToolCalled.
        edit_hash: of an edit's new content, else empty.
        verdict: what it says of the tests, or empty.
        is_answer: whether its exit status is an answer and no failure.
        other fields: as in ToolCalled and ToolReturned.

    """

    number: int
    step: int
    call_id: str
    tool: str
    command: str
    target: str
    target_hash: str
    arguments_hash: str
    status: str
    exit_code: int | None
    result_hash: str
    signature: str
    signature_hash: str
    edits: bool
    waits: bool
    kind: str
    edit_hash: str
    verdict: str
    is_answer: bool

    @property
    def failed(self) -> bool:
        """Whether it failed, never ran, or ran tests that failed."""
        return (self.status != "ok" and not self.is_answer) or self.verdict in RED_VERDICTS

    @property
    def reads(self) -> bool:
        """Whether it only looks at something."""
        return self.kind in _READING_KINDS

    @property
    def is_edit(self) -> bool:
        """Whether it is, or was meant as, a change of a file by an editing tool."""
        return self.kind == "edit"

    @property
    def work(self) -> tuple[str, str]:
        """The call itself, whatever came of it."""
        return self.tool, self.arguments_hash

    @property
    def outcome_hash(self) -> str:
        """What came of it: the failure's signature, else the result."""
        return (self.signature_hash if self.failed else "") or self.result_hash

    @property
    def evidence_hash(self) -> str:
        """What would show that nothing moved: the failure's signature, else the call with its result."""
        if self.failed and self.signature_hash:
            return self.signature_hash
        return f"{self.arguments_hash}{self.result_hash}"

    @property
    def lies_in_the_machine(self) -> bool:
        """Whether no edit of the project can cure the failure."""
        return any(words in self.signature for words in NO_EDIT_CURES)

    def is_same(self, other: CallRecord) -> bool:
        """Whether the other one is the same call with the same outcome."""
        return (
            self.work == other.work
            and self.failed == other.failed
            and self.outcome_hash == other.outcome_hash
        )

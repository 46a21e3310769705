"""What a test run said, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

RULES_VERSION = 1
"""Grows with each change of a rule, so that stored verdicts say by which rules they were made."""


class Verdict(StrEnum):
    """What a shell call proves about the tests."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NO_TESTS = "no_tests"
    UNKNOWN = "unknown"
    NOT_A_TEST_RUN = "not_a_test_run"


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers that a summary prints; None where it prints none."""

    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None

    @property
    def shown(self) -> bool:
        """Whether any number is printed."""
        return (self.passed, self.failed, self.errors, self.skipped) != (None, None, None, None)


@dataclass(frozen=True, slots=True)
class Summary:
    """
    What one place of an output says of a run.

    Final: the runner's own closing words. Not final: a sign, such as a red test's line or a start without an
    end, which counts only where no closing words are seen. General: other programs print such a line too, so
    that it counts only where the runner itself was called.
    """

    framework: str
    verdict: Verdict
    counts: Counts
    line: int
    rule: str
    final: bool = True
    general: bool = False


@dataclass(frozen=True, slots=True)
class RunnerVerdict:
    """The verdict on one shell call, with the rule and the line that decided."""

    verdict: Verdict
    framework: str | None
    ran_tests: bool
    passed: int | None
    failed: int | None
    errors: int | None
    skipped: int | None
    rule: str
    line: int | None
    version: int = RULES_VERSION

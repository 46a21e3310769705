"""What a call says of the tests and which files it wrote, read from the raw call and kept as safe words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tokeneconomizer.domain.digests import Call, CallKind, CallStatus, target_name
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.verdicts import read, verdict_of

FILES_WRITTEN_MAX = 20
"""A command that names more files changes a tree; the rest is told by `?`."""

RED_VERDICTS = frozenset({"failed", "error"})
"""Verdicts that make a call a failure, whatever its exit status."""

UNNAMED = "?"
"""A file that the command writes and does not name."""

_NOT_OF_THE_PROJECT = ("/dev/", "/tmp/", "/var/tmp/", "/proc/", "/sys/")  # noqa: S108 - read, never written
_PLAIN_NAME = re.compile(r"[\w.@+=,~-]{1,100}")
_NOT_CODE = (".log", ".out", ".tmp", ".pid")


@dataclass(frozen=True, slots=True)
class CallRuling:
    """
    A call's test-runner verdict and what it wrote.

    Attributes:
        verdict: as in ToolReturned; None where none is made.
        rule: which rule decided, without words of the output.
        version: of the rules.
        written: base names of the project's files that were written.

    """

    verdict: str | None = None
    rule: str = ""
    version: int = 0
    written: tuple[str, ...] = ()

    @property
    def is_red(self) -> bool:
        """Whether tests failed, or their run did."""
        return self.verdict in RED_VERDICTS


def rule_on(call: Call) -> CallRuling:
    """Return the ruling on a call that came back."""
    if call.status is CallStatus.NEVER_RAN:
        return CallRuling()
    if call.kind is CallKind.EDIT:
        return CallRuling(written=(target_name(call.target),) if call.status is CallStatus.OK else ())
    if call.kind not in {CallKind.SHELL, CallKind.WAIT} or not call.command:
        return CallRuling()
    command = read(call.command)
    # Who waits for a command gets its output; what it writes was told when it was started.
    written = _project_files(command.reading.edits) if call.kind is CallKind.SHELL else ()
    if call.background or call.interrupted:
        # Its output is not there, or not whole.
        return CallRuling(written=written)
    verdict = verdict_of(command, call.exit_code, call.output)
    return CallRuling(verdict.verdict.value, label(verdict.rule), verdict.version, written)


def _project_files(paths: tuple[str, ...]) -> tuple[str, ...]:
    names = [
        _plain_name(path)
        for path in paths
        if not path.startswith(_NOT_OF_THE_PROJECT) and not path.endswith(_NOT_CODE)
    ]
    unique = tuple(dict.fromkeys(names))
    return unique if len(unique) <= FILES_WRITTEN_MAX else (*unique[:FILES_WRITTEN_MAX], UNNAMED)


def _plain_name(path: str) -> str:
    """Return a path's base name; a quoted text of other characters may be anything but a name."""
    name = target_name(path)
    return name if _PLAIN_NAME.fullmatch(name) else UNNAMED

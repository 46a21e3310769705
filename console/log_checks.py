"""Checks of the agents' logs: whether they can be read, and how many were not imported yet."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from tokeneconomizer.console.checks import Check, Finding, Patient, ok, warning
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler.import_logs import not_imported
from tokeneconomizer.scheduler.lock import is_held

if TYPE_CHECKING:
    from collections.abc import Iterator


def look_at_logs(patient: Patient) -> Iterator[Finding]:
    """Whether the agents' logs can be read, and were imported."""
    files = find(AgentHomes(patient.user_home, patient.environment), LOGS)
    if not files:
        yield ok("no agent has left logs here")
        return
    closed = [file.path for file in files if not os.access(file.path, os.R_OK)]
    if closed:
        yield warning(f"{len(closed)} log files cannot be read, as {closed[0]}", "see whose they are")
    counts = Counter(file.host for file in files)
    found = ", ".join(f"{host} {count}" for host, count in sorted(counts.items()))
    waiting = len(not_imported(files, patient.home.cache))
    if is_held(patient.home.import_lock):
        yield ok(f"log files: {found}; they are being read now")
    elif waiting:
        yield ok(f"log files: {found}; `te import` would read {waiting} of them")
    else:
        yield ok(f"log files: {found}; all imported")


LOG_CHECKS = (Check("agents' logs", ("cache", "import_lock", "prune_lock"), look_at_logs),)

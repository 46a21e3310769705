"""Copilot CLI's recorded sessions, where they are at hand (S8.2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from log_reading import CORPUS, NO_RECORDINGS, read_all, reported, summed, usages_in

from tokeneconomizer.hosts.copilot import log
from tokeneconomizer.hosts.copilot.log_reader import EventReader
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.records import LoggedCall, LoggedPrompt, LoggedResult, SkippedLine

if TYPE_CHECKING:
    from pathlib import Path

REAL = CORPUS / "transcripts" / "real"
FILES = sorted((REAL / "copilot" / "session-state").glob(f"*/{log.EVENTS_FILE}"))
FROM_THE_LAB = sorted((CORPUS / "transcripts" / "copilot").glob(f"*/{log.EVENTS_FILE}"))

pytestmark = pytest.mark.skipif(not FILES, reason=NO_RECORDINGS)


def test_tokens_are_those_that_another_program_counts() -> None:
    usages = [usage for path in FILES for usage in usages_in(read_all(log, path, Wanted.USAGE))]

    assert summed(usages, lambda usage: usage.session_id) == reported(
        "copilot-session", "sessions", "sessionId"
    )
    assert summed(usages, lambda usage: str(usage.at)[:10]) == reported("copilot-daily", "daily", "date")


def test_nothing_is_skipped_and_all_is_counted() -> None:
    records = [record for path in FILES for record in read_all(log, path)]
    counted = Counter(type(record) for record in records)
    failed = [record for record in records if isinstance(record, LoggedResult) and record.status != "ok"]

    # The manifest counts 20 prompts: two of them are texts of skills, which the agent put in by itself.
    assert (counted[LoggedPrompt], counted[LoggedCall], len(failed)) == (18, 167, 5)
    assert counted[SkippedLine] == 0


@pytest.mark.parametrize("path", FROM_THE_LAB, ids=lambda path: path.parent.name)
def test_replies_sum_up_to_what_the_last_shutdown_tells(path: Path) -> None:
    by_reply = usages_in(read_all(log, path, Wanted.USAGE))
    lines = path.read_bytes().splitlines(keepends=True)
    without_replies = b"".join(line for line in lines if b'"session.usage_record"' not in line)

    assert by_shutdown(without_replies) == sum((usage.input or 0) + (usage.output or 0) for usage in by_reply)


def by_shutdown(content: bytes) -> int:
    reader = EventReader("", {})
    usages = [usage for line in content.splitlines() for usage in reader.usage(line)]
    return sum((usage.input or 0) + (usage.output or 0) for usage in usages)

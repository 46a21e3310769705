"""Pi's recorded sessions, where they are at hand (S8.2)."""

from __future__ import annotations

from collections import Counter

import pytest
from log_reading import CORPUS, NO_RECORDINGS, read_all, reported, summed, usages_in

from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.pi import log
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    SkippedLine,
)

FILES = sorted((CORPUS / "transcripts" / "real" / "pi" / "sessions").rglob("*.jsonl"))
FROM_THE_LAB = CORPUS / "transcripts" / "pi"

pytestmark = pytest.mark.skipif(not FILES, reason=NO_RECORDINGS)


def test_tokens_are_those_that_another_program_counts() -> None:
    usages = [usage for path in FILES for usage in usages_in(read_all(log, path, Wanted.USAGE))]

    assert summed(usages, lambda usage: usage.session_id) == reported("pi-session", "sessions", "sessionId")
    assert summed(usages, lambda usage: str(usage.at)[:10]) == reported("pi-daily", "daily", "date")


def test_nothing_is_skipped_and_all_is_counted() -> None:
    records = [record for path in FILES for record in read_all(log, path)]
    counted = Counter(type(record) for record in records)
    failed = [record for record in records if isinstance(record, LoggedResult) and record.status != "ok"]

    assert (counted[LoggedPrompt], counted[LoggedCall], len(failed)) == (194, 937, 56)
    assert (counted[LoggedCompaction], counted[SkippedLine]) == (1, 0)


def test_a_fork_and_its_parent_count_each_request_once() -> None:
    files = [FROM_THE_LAB / "branched_in_place.jsonl", FROM_THE_LAB / "forked_copy.jsonl"]
    usages = [usage for path in files for usage in usages_in(read_all(log, path, Wanted.USAGE))]
    parent, fork = dict.fromkeys(usage.session_id for usage in usages)
    by_id = {usage.usage_id: usage for usage in usages}

    # Three requests in the parent's two branches, and one of the fork's own.
    assert Counter(usage.session_id for usage in by_id.values()) == {parent: 3, fork: 1}
    assert sum(usage.input or 0 for usage in by_id.values()) == 4000

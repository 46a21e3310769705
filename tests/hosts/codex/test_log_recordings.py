"""Codex's recorded threads, where they are at hand (S8.2)."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from log_reading import CORPUS, NO_RECORDINGS, Sums, read_all, summed, usages_in

from tokeneconomizer.hosts.codex import log
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.records import (
    LoggedResult,
    LoggedSession,
    SessionOrigin,
)

if TYPE_CHECKING:
    from pathlib import Path

REAL = CORPUS / "transcripts" / "real"
FILES = sorted((REAL / "codex" / "sessions").rglob("*.jsonl"))
LAB = CORPUS / "transcripts" / "codex"
FROM_THE_LAB = sorted(LAB.rglob("*.jsonl"))

pytestmark = pytest.mark.skipif(not FILES or not FROM_THE_LAB, reason=NO_RECORDINGS)

COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")


def reported(name: str, rows: str, key: str) -> Sums:
    report = json.loads((REAL / "ccusage" / f"{name}.json").read_bytes())
    return {
        (row[key], model): [tokens[count] for count in COUNTS]
        for row in report[rows]
        for model, tokens in row["models"].items()
    }


def test_tokens_are_those_that_another_program_counts() -> None:
    usages = {path.stem: usages_in(read_all(log, path, Wanted.USAGE)) for path in FILES}
    by_file: Sums = {}
    for stem, found in usages.items():
        by_file |= summed(found, lambda _, stem=stem: stem)  # type: ignore[misc]
    everything = [usage for found in usages.values() for usage in found]

    assert by_file == reported("codex-session", "sessions", "sessionFile")
    assert summed(everything, lambda usage: str(usage.at)[:10]) == reported("codex-daily", "daily", "date")


def expected_threads() -> list[tuple[str, str]]:
    path = LAB / "expected_usage.json"
    cases = json.loads(path.read_bytes()) if path.exists() else {}
    return [(case, thread_id) for case, told in cases.items() for thread_id in told["threads"]]


@pytest.mark.parametrize(("case", "thread_id"), expected_threads())
def test_a_threads_tokens_are_those_that_the_server_sent(case: str, thread_id: str) -> None:
    told = json.loads((LAB / "expected_usage.json").read_bytes())[case]["threads"][thread_id]
    everything = [usage for path in (LAB / case).rglob("*.jsonl") for usage in usages_in(read_all(log, path))]
    usages = [usage for usage in everything if thread_id == (usage.agent_id or usage.session_id)]

    assert {usage.session_id for usage in usages} == {told["session_id"]}
    assert {
        "input_tokens": sum((usage.input or 0) + (usage.cache_read or 0) for usage in usages),
        "cached_input_tokens": sum(usage.cache_read or 0 for usage in usages),
        "output_tokens": sum(usage.output or 0 for usage in usages),
        "reasoning_output_tokens": sum(usage.reasoning or 0 for usage in usages),
    } == told["usage_sent_by_server"]


@pytest.mark.parametrize("path", FROM_THE_LAB, ids=lambda path: path.stem[-12:])
def test_cumulative_counts_tell_the_same_as_each_replys_record(path: Path, tmp_path: Path) -> None:
    older = tmp_path / path.name
    lines = path.read_bytes().splitlines(keepends=True)
    older.write_bytes(b"".join(line for line in lines if b'"token_usage_record"' not in line))

    def by_model(found: Path) -> Sums:
        return summed(usages_in(read_all(log, found, Wanted.USAGE)), lambda usage: usage.session_id)

    assert by_model(older) == by_model(path)


def census(files: list[Path]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for path in files:
        records = read_all(log, path)
        last = {record.call_id: record.status for record in records if isinstance(record, LoggedResult)}
        counted += Counter(type(record).__name__ for record in records)
        counted["failed"] += sum(status != "ok" for status in last.values())
    return counted


COUNTED = ("LoggedPrompt", "LoggedCall", "failed", "LoggedCompaction", "LoggedStop", "SkippedLine")


def test_nothing_is_skipped_and_all_is_counted() -> None:
    counted = census(FILES)

    # The manifest counts 1,691 calls, without 18 searches of the web, 7 of tools, and 6 patches by scripts;
    # and 81 failed, without two errors of MCP servers, and input for a process that is gone.
    calls, failed = 1691 + 18 + 7 + 6, 81 + 2 + 1
    assert [counted[name] for name in COUNTED] == [101, calls, failed, 4, 82, 0]


def test_the_lab_shows_each_kind_of_thread() -> None:
    records = [record for path in FROM_THE_LAB for record in read_all(log, path)]
    origins = Counter(record.origin for record in records if isinstance(record, LoggedSession))

    assert origins == {SessionOrigin.NEW: 7, SessionOrigin.SUB_AGENT: 3, SessionOrigin.FORK: 5}
    counted = census(FROM_THE_LAB)
    assert [counted[name] for name in COUNTED] == [24, 30, 10, 1, 24, 0]

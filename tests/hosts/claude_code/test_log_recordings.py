"""Claude Code's recorded sessions, where they are at hand (S8.2)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from log_reading import CORPUS, NO_RECORDINGS, Sums, read_all, reported, summed, usages_in

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.domain.usage_totals import each_once
from tokeneconomizer.hosts.claude_code import log
from tokeneconomizer.hosts.log_format import AgentHomes, Wanted
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedUsage,
    SkippedLine,
)

REAL = CORPUS / "transcripts" / "real" / "claude"
FILES = [
    Path(file.path) for file in log.files(AgentHomes(Path("/nowhere"), {"CLAUDE_CONFIG_DIR": str(REAL)}))
]
LAB = CORPUS / "transcripts" / "claude_code"
FROM_THE_LAB = sorted(LAB.glob("**/*.jsonl"))

pytestmark = pytest.mark.skipif(not FILES, reason=NO_RECORDINGS)

ORIGINAL, FORK = "5a4b5aa4-b959-4920-a53c-7ae4ff8f0d73", "223b2708-5340-4532-879b-05e5d9aa16f1"

OTHER_BY_SESSION: Sums = {
    # The fork opens with a line of 07:34:55, then copies what its original had written from 06:07:26 on.
    (ORIGINAL, "claude-fable-5"): [21686, 152160, 20816282, 847186],
    (FORK, "claude-fable-5"): [1312, 19935, 8541927, 300883],
    # The session that the lines name, where ccusage takes the file's name; its sub-agents are in progress
    # lines, which ccusage counts by day and not by session.
    ("e9167529-9a26-4ca3-9c4c-a93639c3f2e4", "claude-opus-4-6"): [307, 16809, 29893791, 509229],
    ("e9167529-9a26-4ca3-9c4c-a93639c3f2e4", "claude-haiku-4-5-20251001"): [3, 5, 0, 119896],
    # Sub-agents in progress lines again.
    ("b62d7091-db4e-4246-b386-62ffb3c763ae", "claude-sonnet-4-6"): [57, 863, 3569923, 188003],
}

ONLY_CCUSAGE_HAS = {("3ca52b62-9d4e-4c4a-a4ea-4b9f779bf395", "claude-opus-4-6")}

OTHER_BY_DAY: Sums = {
    # A session without request ids: ccusage counts its 82 replies once for each time of their 149 lines.
    ("2026-06-26", "claude-sonnet-4-6"): [1113, 28500, 9347847, 217468],
}

FROM_SOURCE = {
    "Developer-github-com": "ta93abe/me",
    "Documents-work-cli": "blackgirlbytes/entire-token-costs-benchmark-tests",
    "dotfiles": "shaheislam/dotfiles",
    "entire-test": "computermode/test-repo",
    "session": "moredip/session-share",
    "testuser": "obra/episodic-memory",
    "agentv": "EntityProcess/agentv",
    "oh-my-posh": "JanDeDobbeleer/oh-my-posh",
}
"""Part of the project folder -> repository that the manifest names; the first that fits."""

CENSUS = {
    # repository: files, prompts of people, calls, failed, compactions
    "EntityProcess/agentv": [2, 3, 28, 2, 0],
    # The manifest counts what the fork copied as well: 5 prompts, 135 calls, 8 failures.
    "JanDeDobbeleer/oh-my-posh": [17, 47, 803, 39, 0],
    "blackgirlbytes/entire-token-costs-benchmark-tests": [1, 2, 52, 0, 0],
    "computermode/test-repo": [33, 49, 101, 0, 0],
    # It does not count prompts that were typed as a command: 2 here, 1 and 11 below.
    "moredip/session-share": [8, 6, 14, 1, 0],
    "obra/episodic-memory": [4, 39, 251, 26, 0],
    "shaheislam/dotfiles": [3, 5, 95, 8, 0],
    "ta93abe/me": [10, 84, 654, 34, 1],
}


def test_tokens_are_those_that_another_program_counts_or_better() -> None:
    usages = each_once(usage for path in FILES for usage in usages_in(read_all(log, path, Wanted.USAGE)))
    by_session = reported("claude-session", "sessions", "sessionId")
    by_day = reported("claude-daily", "daily", "date")

    expected = {key: sums for key, sums in by_session.items() if key not in ONLY_CCUSAGE_HAS}
    assert summed(usages, lambda usage: usage.session_id) == expected | OTHER_BY_SESSION
    assert summed(usages, lambda usage: str(usage.at)[:10]) == by_day | OTHER_BY_DAY


def source_of(path: Path) -> str:
    return next(source for part, source in FROM_SOURCE.items() if part in str(path.relative_to(REAL)))


def test_what_the_manifest_counts_is_found() -> None:
    census: dict[str, list[int]] = {}
    skipped = 0
    for path in FILES:
        counts: Counter[str] = Counter(files=1)
        for record in read_all(log, path):
            match record:
                case LoggedPrompt(kind=PromptKind.HUMAN):
                    counts["prompts"] += 1
                case LoggedResult(status=CallStatus.FAILED | CallStatus.NEVER_RAN):
                    counts["failed"] += 1
                case LoggedCall():
                    counts["calls"] += 1
                case LoggedCompaction():
                    counts["compactions"] += 1
                case SkippedLine():
                    skipped += 1
                case _:
                    pass
        names = ("files", "prompts", "calls", "failed", "compactions")
        so_far = census.get(source_of(path), [0] * len(names))
        census[source_of(path)] = [known + counts[name] for known, name in zip(so_far, names, strict=True)]

    assert (census, skipped) == (CENSUS, 0)


@pytest.mark.parametrize("path", FROM_THE_LAB, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_of_a_recording_from_the_lab_only_the_line_that_was_cut_is_skipped(path: Path) -> None:
    records = read_all(log, path)

    skipped = [record for record in records if isinstance(record, SkippedLine)]
    assert skipped == ([SkippedLine(24)] if "corrupt" in str(path) else [])
    assert read_all(log, path, Wanted.USAGE) == [
        record for record in records if isinstance(record, LoggedUsage | SkippedLine)
    ]


def test_a_compaction_in_the_lab_cost_what_the_last_sum_says_more() -> None:
    usages = [usage for path in FROM_THE_LAB for usage in usages_in(read_all(log, path))]
    (compaction,) = [usage for usage in usages if usage.usage_id.startswith("compaction")]

    assert (compaction.input, compaction.output, compaction.cache_read, compaction.cache_write_5m) == (
        1773, 24, 12405, 8,
    )  # fmt: skip

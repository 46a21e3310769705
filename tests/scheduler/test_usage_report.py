"""A scan of the agents' logs, and what of it is kept for the next one."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from transcripts import transcript_in

from tokeneconomizer.hosts.log_format import AgentHomes, LogFile
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler import usage_scan
from tokeneconomizer.scheduler.usage_report import Report, report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The name of each file that is read, and whether from a cursor on."""
    seen: list[tuple[str, bool]] = []
    module = LOGS["claude_code"]
    read = module.read

    def noted(file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
        seen.append((Path(file.path).stem, cursor is not None))
        return read(file, cursor, wanted)

    monkeypatch.setattr(module, "read", noted)
    return seen


def scanned(user_home: Path, cache: Path | None, hosts: tuple[str, ...] = tuple(LOGS)) -> Report:
    found, unreadable = report(find(AgentHomes(user_home), hosts), UTC, cache)
    assert unreadable == []
    return found


def test_the_report_has_the_form_that_programs_read(user_home: Path) -> None:
    transcript_in(user_home, "s1").turn("make test")
    sums = {
        "input": 20,
        "output": 40,
        "cache_read": 60,
        "cache_write_5m": 80,
        "cache_write_1h": None,
        "reasoning": None,
        "cost_usd": None,
    }
    models = {"claude-test-1": {"requests": 2, **sums}}

    assert scanned(user_home, None) == {
        "sessions": [
            {
                "host": "claude_code",
                "session_id": "s1",
                "project": "/home/dev/project",
                "first_at": "2026-01-04T09:00:02+00:00",
                "last_at": "2026-01-04T09:00:04+00:00",
                "models": models,
                "cost_usd": None,
            }
        ],
        "days": [{"date": "2026-01-04", "models": models, "cost_usd": None}],
        "totals": sums,
        "unpriced_models": ["claude-test-1"],
        "skipped_lines": 0,
    }


def test_where_no_agent_was_ever_used_there_is_nothing(user_home: Path, cache: Path) -> None:
    found = scanned(user_home, cache)

    assert (found["sessions"], found["days"], found["skipped_lines"]) == ([], [], 0)
    assert found["totals"]["input"] is None


def test_a_second_scan_opens_no_log(user_home: Path, cache: Path, read_files: list[tuple[str, bool]]) -> None:
    transcript_in(user_home, "s1").turn("make test")
    first = scanned(user_home, cache)
    read_files.clear()

    assert scanned(user_home, cache) == first
    assert read_files == []


def test_of_a_log_that_grew_only_the_new_end_is_read(
    user_home: Path, cache: Path, read_files: list[tuple[str, bool]]
) -> None:
    grows = transcript_in(user_home, "s1")
    grows.turn("make test")
    transcript_in(user_home, "s2").turn("make test")
    scanned(user_home, cache)
    read_files.clear()
    grows.turn("git status")

    found = scanned(user_home, cache)

    assert read_files == [("s1", True)]
    assert found == scanned(user_home, None)


def test_a_half_written_line_is_told_until_it_is_whole(user_home: Path, cache: Path) -> None:
    transcript = transcript_in(user_home, "s1")
    transcript.turn("make test")
    whole = transcript.lines[-1]
    transcript.lines[-1] = whole[:-20]
    transcript.save()
    assert scanned(user_home, cache)["skipped_lines"] == 1
    assert scanned(user_home, cache)["skipped_lines"] == 1

    transcript.lines[-1] = whole
    transcript.at = transcript.at.replace(year=2027)
    transcript.save()

    assert scanned(user_home, cache) == scanned(user_home, None)
    assert scanned(user_home, cache)["skipped_lines"] == 0


def test_a_log_that_was_replaced_counts_as_it_is_now(user_home: Path, cache: Path) -> None:
    transcript = transcript_in(user_home, "s1")
    transcript.turn("make test", "git status")
    scanned(user_home, cache)
    transcript.path.unlink()
    other = transcript_in(user_home, "s1")
    other.turn("ls")

    assert scanned(user_home, cache) == scanned(user_home, None)


def test_a_scan_of_one_agent_keeps_what_is_known_of_the_others(
    user_home: Path, cache: Path, read_files: list[tuple[str, bool]]
) -> None:
    transcript_in(user_home, "s1").turn("make test")
    whole = scanned(user_home, cache)
    scanned(user_home, cache, ("pi",))
    read_files.clear()

    assert scanned(user_home, cache) == whole
    assert read_files == []


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x92\x63\x80"])
def test_a_damaged_cache_costs_time_alone(user_home: Path, cache: Path, content: bytes) -> None:
    transcript_in(user_home, "s1").turn("make test")
    whole = scanned(user_home, cache)
    (cache / usage_scan.CACHE_NAME).write_bytes(content)

    assert scanned(user_home, cache) == whole


def test_a_cache_that_cannot_be_written_changes_nothing(user_home: Path, tmp_path: Path) -> None:
    transcript_in(user_home, "s1").turn("make test")
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    assert scanned(user_home, in_the_way / "cache") == scanned(user_home, None)


def test_a_file_that_cannot_be_read_is_named(
    user_home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = transcript_in(user_home, "s1")
    transcript.turn("make test")

    def refuse(*_: object) -> Iterator[Batch]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(LOGS["claude_code"], "read", refuse)
    files = find(AgentHomes(user_home), LOGS)

    for _ in range(2):
        found, unreadable = report(files, UTC, cache)
        assert unreadable == [(str(transcript.path), "Permission denied")]
        assert found["sessions"] == []

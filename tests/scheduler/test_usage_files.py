"""Log files read by one process or by several."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from transcripts import transcript_in

from tokeneconomizer.hosts.log_format import AgentHomes, LogFile
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler import usage_files
from tokeneconomizer.scheduler.usage_files import Readings, read_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[LogFile]:
    for name in ("s1", "s2", "s3", "s4", "s5"):
        transcript_in(tmp_path, name).turn("make test")
    absent = LogFile("claude_code", str(tmp_path / "absent.jsonl"))
    return [*find(AgentHomes(tmp_path), LOGS), absent]


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As many entries as there were forks; each file is enough for one."""
    started: list[int] = []
    real = usage_files.forked

    def counted(work: Callable[[], bytes]) -> object:
        started.append(1)
        return real(work)

    monkeypatch.setattr(usage_files, "forked", counted)
    monkeypatch.setattr(usage_files, "SHARE_BYTES_MIN", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    return started


def read(files: list[LogFile]) -> tuple[Readings, int]:
    done: list[int] = []
    return read_files(files, {}, done.append), sum(done)


def test_several_processes_read_what_one_reads(
    files: list[LogFile], forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    several = read(files)
    assert len(forks) == 2

    monkeypatch.setattr(usage_files, "PROCESSES_MAX", 1)

    assert read(files) == several
    assert len(forks) == 2
    found, done = several
    assert (len(found.scanned), list(found.unreadable.values())) == (5, ["No such file or directory"])
    assert done == len(files)


def test_what_a_lost_process_should_have_read_is_read_here(
    files: list[LogFile], forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(files)
    monkeypatch.setattr(usage_files, "_work_of", lambda *_: lambda: b"" if forks else b"never")

    assert read(files) == whole


def test_little_is_read_by_this_process_alone(
    files: list[LogFile], forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_files, "SHARE_BYTES_MIN", 1_000_000)

    read(files)

    assert forks == []


def test_a_process_with_other_threads_is_not_forked(files: list[LogFile], forks: list[int]) -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        read(files)
    finally:
        over.set()
        other.join()

    assert forks == []


def test_what_is_known_is_not_read_again(files: list[LogFile], forks: list[int]) -> None:
    first, _ = read(files)
    forks.clear()

    again = read_files(files, first.scanned, lambda _files: None)

    assert forks == []
    assert again == first

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokeneconomizer.writers.whole_file import (
    Disk,
    make_own_folder,
    remove_stale_temporaries,
    sync_folder,
    write_whole,
)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_an_own_file_has_its_mode_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    write_whole(tmp_path / "file", b"new", mode)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


@pytest.mark.usefixtures("umask")
def test_own_folders_are_closed_to_others(tmp_path: Path) -> None:
    make_own_folder(tmp_path / "a" / "b")
    make_own_folder(tmp_path / "a" / "b")
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")] == [0o700, 0o700]


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    write_whole(tmp_path / "file", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"new"}


def test_short_writes_are_gone_on_with(tmp_path: Path) -> None:
    disk = Disk(write=lambda file, data: os.write(file, data[:1]))
    write_whole(tmp_path / "file", b"piece by piece", disk=disk)
    assert (tmp_path / "file").read_bytes() == b"piece by piece"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def half(file: int, data: memoryview) -> int:
        if len(data) <= 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(file, data[: len(data) // 2])

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "file", b"new content", disk=Disk(write=half))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_only_what_a_dead_writer_of_the_file_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], check=True, capture_output=True
    )
    dead, tail = int(ended.stdout), "0123456789abcdef"
    stays = {
        "file",
        f".file.tokeneconomizer-{os.getpid()}-{tail}",
        f".other.tokeneconomizer-{dead}-{tail}",
        f".file.tokeneconomizer-{dead}-note",
    }
    for name in stays | {f".file.tokeneconomizer-{dead}-{tail}", f".file.tokeneconomizer-{'9' * 30}-{tail}"}:
        (tmp_path / name).touch()
    remove_stale_temporaries(tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == stays


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: Path) -> None:
    sync_folder(tmp_path / "absent")
    remove_stale_temporaries(tmp_path / "absent" / "file")

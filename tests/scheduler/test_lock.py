from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.domain.errors import DaemonRunning
from tokeneconomizer.scheduler import lock
from tokeneconomizer.scheduler.lock import held, is_held

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 30

HOLDS_IT = """
import sys
from pathlib import Path
from tokeneconomizer.scheduler.lock import held

with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daemon.lock"


def test_one_holds_it_and_the_next_one_may_when_it_is_free(path: Path) -> None:
    seen = []
    for _ in range(2):
        with held(path):
            seen.append(is_held(path))
        seen.append(is_held(path))

    assert seen == [True, False, True, False]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_who_finds_it_held_is_told_by_whom(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "ATTEMPT_PAUSE_S", 0)
    with held(path), pytest.raises(DaemonRunning, match=r"another process holds .*daemon\.lock"), held(path):
        pytest.fail("held twice")


def test_an_error_within_lets_go(path: Path) -> None:
    def fail_within() -> None:
        with held(path):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_within()
    assert not is_held(path)


def test_who_stays_waits_until_it_is_free(path: Path) -> None:
    def wait_for_it() -> str:
        with held(path, attempts=None):
            return "held at last"

    with ThreadPoolExecutor() as pool:
        with held(path):
            waiting = pool.submit(wait_for_it)
            assert not waiting.done()
        assert waiting.result(PATIENCE_S) == "held at last"


def test_a_process_that_is_killed_lets_go(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_IT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        holder.kill()
        holder.wait(PATIENCE_S)
        assert not is_held(path)


def test_a_child_process_does_not_hold_it_on(path: Path) -> None:
    waits = "import sys; print('runs', flush=True); sys.stdin.read()"
    with held(path):
        child = subprocess.Popen(
            [sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False
        )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"runs\n"
        assert not is_held(path)
        child.communicate(b"", PATIENCE_S)


def test_without_a_home_nothing_is_held(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "absent" / "daemon.lock")

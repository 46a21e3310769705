"""Work in a fork."""

from __future__ import annotations

import os

import pytest

from tokeneconomizer.scheduler.forked import forked

MORE_THAN_A_PIPE_HOLDS = 1_000_000


@pytest.mark.parametrize("size", [0, 1, MORE_THAN_A_PIPE_HOLDS])
def test_what_the_work_comes_to_is_handed_over(size: int) -> None:
    with forked(lambda: b"x" * size) as result:
        assert result() == b"x" * size


def test_the_work_is_done_beside_this_process() -> None:
    with forked(lambda: str(os.getpid()).encode()) as result:
        assert result() != str(os.getpid()).encode()


def test_work_that_fails_comes_to_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> bytes:
        raise RuntimeError

    with forked(fail) as result:
        assert result() is None
    assert capfd.readouterr().err == ""


def test_work_that_nobody_waits_for_is_waited_for_at_the_end() -> None:
    with forked(lambda: b"x" * MORE_THAN_A_PIPE_HOLDS):
        pass

    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)

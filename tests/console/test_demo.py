"""`te demo`: the whole way, from the hook client to the event history, in a home that is gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_runs import te_process

from tokeneconomizer.console import playing
from tokeneconomizer.scheduler.lock import is_held

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home


def test_the_demo_shows_what_was_recorded_redirected_and_hinted(home: Home) -> None:
    done = te_process("demo", "--fast")

    assert (done.status, done.err) == (0, "")
    assert "[tokeneconomizer] `python3 -m unittest` has failed 4 times in the same way" in done.out
    assert "the user sees:\n  tokeneconomizer: this turn is still going in circles" in done.out
    assert "Open your next reply" not in done.out
    assert not home.root.exists()


def test_the_demo_leaves_nothing_running_and_what_was_asked_to_be_kept(home: Home, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = te_process("demo", "--fast", "--keep", str(kept))

    assert done.status == 0
    assert (kept / "events.db").exists()
    assert not is_held(kept / "daemon.lock")
    assert not home.root.exists()


def test_every_payload_of_the_sample_session_is_of_one_session() -> None:
    assert len({payload["session_id"] for payload in playing.recording()}) == 1

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from workbench import Workbench

from tokeneconomizer.domain.commands import SessionKey, StartSession
from tokeneconomizer.domain.microskills import GivenBlock
from tokeneconomizer.scheduler.given_facts import SESSIONS_KEPT, GivenFacts
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def files(home: Home) -> dict[str, str]:
    return {path.name: path.read_text() for path in GivenFacts(home).folder.rglob("*") if path.is_file()}


def test_what_a_session_was_given_is_kept_until_it_is_taken_back(home: Home) -> None:
    given = GivenFacts(home)
    given.keep("copilot", "s-1", "the facts")
    assert files(home) == {"s-1": "the facts"}
    given.keep("copilot", "s-1", "")
    given.keep("copilot", "s-2", "")
    assert files(home) == {}


@pytest.mark.parametrize("session_id", ["", "..", "a/b", "a\nb", "x" * 65, "\u2603", ".hidden"])
def test_an_id_that_is_no_safe_name_of_a_file_names_none(home: Home, session_id: str) -> None:
    GivenFacts(home).keep("copilot", session_id, "the facts")
    assert not GivenFacts(home).folder.exists()


def test_an_agent_that_replays_its_log_needs_none(home: Home) -> None:
    GivenFacts(home).keep("claude_code", "s-1", "the facts")
    assert not GivenFacts(home).folder.exists()


def test_the_oldest_go(home: Home) -> None:
    given = GivenFacts(home)
    for number in range(SESSIONS_KEPT + 3):
        given.keep("copilot", f"s-{number}", "the facts")
        os.utime(GivenFacts(home).folder / "copilot" / f"s-{number}", ns=(number, number))
    given.keep("copilot", "s-1", "the facts")
    assert len(files(home)) == SESSIONS_KEPT
    assert {"s-1", f"s-{SESSIONS_KEPT + 2}"} <= set(files(home))
    assert "s-0" not in files(home)


def test_a_home_that_cannot_be_written_fails_no_call(home: Home) -> None:
    home.root.mkdir()
    (home.root / "cache").write_text("no folder")
    GivenFacts(home).keep("copilot", "s-1", "the facts")


def test_the_application_tells_what_a_reassembling_agent_was_given(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workbench(home) as bench:
        monkeypatch.setattr(bench.application, "_block_at", lambda *_: GivenBlock("the facts", 1))
        first = bench.do(StartSession("startup", reassembles=True), key=SessionKey("copilot", "s-1"))
        bench.do(StartSession("startup"), key=SessionKey("claude_code", "s-2"))
        bench.application.delivery_failed(first.stream_id, first.said, bench.at, "late")
        told = bench.asked.first_facts
    assert told == [("copilot", "s-1", "the facts"), ("copilot", "s-1", "")]

"""What the daemon's timer reads in the agents' logs while they grow, in this process."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from sessions import shell
from transcripts import Transcript, transcript_in
from workbench import Workbench, rows_of

from tokeneconomizer.domain.commands import EndTurn, PromptKind, ReturnCalls, SessionKey, SubmitPrompt
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.session import Session
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler import sweep_logs
from tokeneconomizer.scheduler.control import CALLS_MISSED
from tokeneconomizer.scheduler.finding_missed import MissedCallsOfTurn
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


@pytest.fixture
def home() -> Iterator[Home]:
    with TemporaryDirectory(prefix="te-") as folder:
        home = Home(Path(folder) / "state")
        home.create()
        yield home


def sweep(home: Home, user_home: Path) -> None:
    with EventLog(home.events) as log, Sending(home) as sending:
        ground = Ground(log, Hasher(home.key()), str(user_home), LogPlaces(str(user_home)).of, sending.send)
        missed = MissedCallsOfTurn(ground, sending.ask)
        sweep_logs.Sweep(ground, missed, home.cache).run(find(AgentHomes(user_home), LOGS))


def watch(home: Home, transcript: Transcript, *commands: str, turn: int = 1, ends: bool = True) -> None:
    """Let the hooks tell a turn of a transcript with these calls only, numbered as there."""
    key = SessionKey("claude_code", transcript.session_id)
    with Workbench(home) as bench:
        bench.at = transcript.at - timedelta(minutes=2)
        bench.do(SubmitPrompt(f"prompt-{turn}", "Do it.", PromptKind.HUMAN), key=key)
        for index, command in enumerate(commands, start=1):
            call = shell(command, call_id=f"toolu_{turn}_{index}")
            bench.do(ReturnCalls((call,), whole_step=True), key=key)
        if ends:
            bench.do(EndTurn("stop"), key=key)


def stored(home: Home, topic: str) -> list[dict[str, object]]:
    rows = rows_of(home.events, "SELECT state FROM stored_events WHERE topic = ? ORDER BY rowid", topic)
    return [json.loads(bytes(state)) for (state,) in rows]  # type: ignore[call-overload]


def test_a_call_that_no_hook_told_is_stored_in_its_turn_when_it_is_over(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test", "git status")
    watch(home, transcript, "make test")

    sweep(home, user_home)
    sweep(home, user_home)

    called = stored(home, "session.tool_called")
    assert [(event["command"], event["turn"], event["step"]) for event in called] == [
        ("make test", 1, 1),
        ("git status", 1, 2),
    ]
    assert len(stored(home, "session.tool_returned")) == 2


def test_a_turn_is_accounted_again_once_where_the_log_shows_more_of_its_context(
    home: Home, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(user_home))
    transcript = transcript_in(user_home)
    transcript.request("x" * 99, {"name": "Bash"})
    transcript.turn("make test")
    watch(home, transcript, "make test")
    sweep(home, user_home)
    transcript.turn("make test")
    watch(home, transcript, "make test", turn=2)
    sweep(home, user_home)
    (home.cache / "swept.msgpack").unlink()
    sweep(home, user_home)

    contexts = stored(home, "session.context_accounted")
    prompts = [json.loads(str(event["snapshot"]))["entries"]["system_prompt"] for event in contexts]
    expected = {"tokens": 29, "source": "log/api-request-shape"}
    assert [event["turn"] for event in contexts] == [1, 2]
    assert prompts == [expected, expected]


def test_a_turn_that_is_open_is_left_to_its_hooks(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test", "git status")
    watch(home, transcript, "make test", ends=False)

    sweep(home, user_home)

    assert len(stored(home, "session.tool_called")) == 1


def test_a_late_call_opens_no_turn(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test", "git status")
    watch(home, transcript, "make test")
    sweep(home, user_home)

    with Workbench(home) as bench:
        session = bench.store.repository.get(
            Session.stream_id(SessionKey("claude_code", transcript.session_id))
        )
        assert isinstance(session, Session)
        assert not session.turn.is_open
        assert session.has_returned("toolu_1_2")
    with EventLog(home.events) as log, open_view(home.views, counters) as view:
        view.catch_up(log)
        counts = counters.totals(view.connection())
        (line,) = counters.sessions(view.connection())
    assert (counts.calls, line.turn, line.turn_is_open) == (2, 1, False)


def test_tokens_of_what_is_new_are_stored_once(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    watch(home, transcript)
    transcript.turn("make test")
    sweep(home, user_home)
    transcript.turn("git status", ends=False)
    sweep(home, user_home)
    (home.cache / "swept.msgpack").unlink()
    sweep(home, user_home)

    messages = [event["message_id"] for event in stored(home, "usage.recorded")]
    assert len(messages) == len(set(messages)) == 3


def test_what_is_older_than_the_store_is_left_to_an_import(home: Home, user_home: Path) -> None:
    old = transcript_in(user_home, "old")
    old.turn("make test")
    new = transcript_in(user_home, "new")
    new.at += timedelta(days=1)
    watch(home, new)
    new.turn("make test")

    sweep(home, user_home)

    assert {event["session_id"] for event in stored(home, "usage.opened")} == {"new"}


def test_without_a_store_nothing_is_read(home: Home, user_home: Path) -> None:
    transcript_in(user_home).turn("make test")

    sweep(home, user_home)

    assert not home.events.exists()


def test_calls_of_a_turn_that_nobody_knows_are_refused(home: Home) -> None:
    with Sending(home) as sending:
        request = {
            "name": CALLS_MISSED,
            "host": "claude_code",
            "session_id": "unknown",
            "agent_id": "",
            "turn": 1,
            "at": "2026-01-04T09:00:00Z",
            "calls": [],
        }
        assert sending.ask(request) == {"stored": 0}


def test_one_reader_at_a_time(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENECONOMIZER_HOME", str(home.root))
    monkeypatch.setattr("os.nice", lambda _: 0)
    with held(home.import_lock):
        assert sweep_logs.main() == sweep_logs.EXIT_BUSY

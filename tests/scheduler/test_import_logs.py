"""The agents' logs into a store, in this process; `te import` runs the same in a child."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from canaries import FAKE_SECRETS, SECRET_COMMANDS, found_in
from daemon_runs import running
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import transcript_in
from workbench import Workbench, rows_of

from tokeneconomizer.domain import imported
from tokeneconomizer.domain.commands import SessionKey, StartSession
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.stream_ids import is_imported
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler import import_logs, importing
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.import_logs import Import, Summary
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.scheduler.imported_events import ImportedEvent

TURN_TOPICS = [
    "session.prompt_submitted",
    "session.tool_called",
    "session.tool_returned",
    "session.turn_ended",
]

Event = tuple[str, int, str, str]


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


@pytest.fixture
def home() -> Iterator[Home]:
    # Short: a daemon's socket is reached by its path.
    with TemporaryDirectory(prefix="te-") as folder:
        home = Home(Path(folder) / "state")
        home.create()
        yield home


def run(home: Home, user_home: Path, *, stop_after: int | None = None) -> Summary:
    """Import once; optionally end as a kill would after so many batches."""
    with EventLog(home.events) as log, Sending(home) as sending:
        left = stop_after

        def send(events: list[ImportedEvent]) -> None:
            nonlocal left
            if left == 0:
                raise Killed
            sending.send(events)
            left = None if left is None else left - 1

        ground = Ground(log, Hasher(home.key()), str(user_home), LogPlaces(str(user_home)).of, send)
        return Import(ground, home.cache).run(find(AgentHomes(user_home), LOGS))


class Killed(Exception):
    """Stands for the end of the process."""


def events_in(home: Home) -> list[Event]:
    query = "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid"
    return [(str(i), int(str(v)), str(t), bytes(s).decode()) for i, v, t, s in rows_of(home.events, query)]  # type: ignore[call-overload]


def topics(home: Home) -> Counter[str]:
    return Counter(topic for _, _, topic, _ in events_in(home))


def test_a_log_comes_to_the_events_that_its_hooks_would_have_told(home: Home, user_home: Path) -> None:
    transcript_in(user_home).turn("make test")

    summary = run(home, user_home)

    streams = {stream: [] for stream, *_ in events_in(home)}
    for stream, _, topic, _ in events_in(home):
        streams[stream].append(topic)
    session, usage = streams.values()
    assert session == ["session.started", *TURN_TOPICS]
    assert usage == ["usage.opened", "usage.recorded", "usage.recorded"]
    assert [is_imported(stream) for stream in streams] == [True, False]
    assert (summary.sessions, summary.turns, summary.replies, summary.events) == (1, 1, 2, 8)


def test_times_are_those_of_the_log(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test")

    run(home, user_home)

    with EventLog(home.events) as log:
        times = [row.at for row in log.entries() if row.topic.startswith("session.")]  # type: ignore[union-attr]
    assert times == sorted(times)
    assert times[-1] == transcript.at.isoformat()


def test_a_second_import_stores_nothing(home: Home, user_home: Path) -> None:
    transcript_in(user_home).turn("make test", "git status")
    run(home, user_home)
    before = events_in(home)

    again = run(home, user_home)
    (home.cache / "imported.msgpack").unlink()
    without_marks = run(home, user_home)

    assert events_in(home) == before
    assert (again.files, again.events) == (0, 0)
    assert (without_marks.files, without_marks.events) == (1, 0)


def test_a_log_that_grew_adds_what_is_new(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test")
    run(home, user_home)
    before = events_in(home)
    transcript.turn("git status")

    run(home, user_home)

    assert events_in(home)[: len(before)] == before
    assert topics(home)["session.turn_ended"] == 2
    assert topics(home)["usage.recorded"] == 4


def test_the_last_turn_waits_while_its_log_may_still_grow(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test", ends=False)
    transcript.save(settled=False)
    run(home, user_home)
    assert topics(home)["session.prompt_submitted"] == 0

    transcript.save()
    run(home, user_home)

    assert topics(home)["session.turn_ended"] == 1


@settings(deadline=None, max_examples=12)
@given(batches=st.integers(0, 8), size=st.sampled_from([1, 2, 3, 7]))
def test_an_import_that_was_killed_anywhere_is_finished_by_the_next(batches: int, size: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        user_home, undisturbed, killed = Path(folder), Home(Path(folder) / "a"), Home(Path(folder) / "b")
        patch.setattr(importing, "EVENTS_PER_BATCH", size)
        for number in (1, 2):
            transcript_in(user_home, f"session-{number}").turn("make test", "git status")
        undisturbed.create()
        key = undisturbed.key()
        killed.create()
        (killed.root / "key").write_bytes(key)
        run(undisturbed, user_home)

        with suppress(Killed):
            run(killed, user_home, stop_after=batches)
        run(killed, user_home)

        assert sorted(events_in(killed)) == sorted(events_in(undisturbed))


def test_of_a_watched_session_only_earlier_turns_are_history(home: Home, user_home: Path) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test")
    with Workbench(home) as bench:
        bench.at = transcript.at + timedelta(seconds=0.5)
        key = SessionKey("claude_code", transcript.session_id)
        bench.at -= timedelta(seconds=10)
        bench.do(StartSession("resume"), key=key)
    transcript.turn("git status")

    run(home, user_home)

    states = [json.loads(state) for _, _, topic, state in events_in(home) if topic == "session.tool_called"]
    assert [state["command"] for state in states] == ["make test"]
    assert topics(home)["usage.recorded"] == 4


def test_what_an_older_program_imported_is_let_be_and_later_turns_follow(
    home: Home, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = transcript_in(user_home)
    transcript.turn("make test")
    monkeypatch.setattr(imported, "SOURCE", "import/0")
    run(home, user_home)
    before = events_in(home)
    monkeypatch.undo()
    transcript.turn("git status")

    run(home, user_home)

    added = [event for event in events_in(home) if event not in before and event[2].startswith("session.")]
    assert [topic for _, _, topic, _ in added] == TURN_TOPICS
    assert [version for _, version, _, _ in added] == [6, 7, 8, 9]
    assert {json.loads(state)["turn"] for _, _, _, state in added} == {2}


def test_nothing_of_what_was_said_or_written_is_stored(home: Home, user_home: Path) -> None:
    needles = ["kanarie-prompt", "kanarie-output", *FAKE_SECRETS.values()]
    transcript = transcript_in(user_home)
    transcript.turn(*SECRET_COMMANDS, text="kanarie-prompt", output="kanarie-output " * 3)

    run(home, user_home)

    assert topics(home)["session.tool_called"] == len(SECRET_COMMANDS)
    assert found_in(home.root, needles) == []


def test_history_is_neither_counted_as_heard_nor_waited_for(home: Home, user_home: Path) -> None:
    transcript_in(user_home).turn("make test")
    run(home, user_home)

    with EventLog(home.events) as log, open_view(home.views, counters) as view:
        view.catch_up(log)
        assert counters.totals(view.connection()) == counters.Counts()
        assert counters.are_all_archived(view.connection())


def test_a_running_daemon_stores_what_an_import_sends(home: Home, user_home: Path) -> None:
    transcript_in(user_home).turn("make test")

    with running(home):
        run(home, user_home)

    assert topics(home)["session.turn_ended"] == 1


def test_an_import_may_touch_no_other_stream(home: Home) -> None:
    live = "0" * 12 + "5" + "0" * 19
    with Sending(home) as sending, pytest.raises(TokeneconomizerError, match="no imported event"):
        sending.ask({"name": "store_imported", "events": [[live, 1, "session.started", "{}"]]})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://user:secret@example.org/team/project.git", "example.org/team/project"),
        ("", "path:/nowhere/project"),
    ],
)
def test_a_folder_that_is_gone_is_told_by_its_log(url: str, expected: str, tmp_path: Path) -> None:
    session = importing_session(folder="/nowhere/project", url=url)

    assert LogPlaces(str(tmp_path)).of(session).repository == expected


def importing_session(folder: str, url: str) -> import_logs.LoggedSession:
    return import_logs.LoggedSession(1, None, "s", folder=folder, repository_url=url)


def test_two_imports_at_once_do_not_disturb_each_other(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOKENECONOMIZER_HOME", str(home.root))
    monkeypatch.setattr("os.nice", lambda _: 0)
    with held(home.import_lock):
        assert import_logs.main([]) == import_logs.EXIT_BUSY
    assert "another process" in capsys.readouterr().err

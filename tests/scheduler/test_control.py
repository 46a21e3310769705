from __future__ import annotations

import json
import socket
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Self

import pytest
from workbench import NOON, REPOSITORY, capturing_log, rows_of, topics_in

from tokeneconomizer.domain.errors import DaemonRunning, DaemonUnreachable, TokeneconomizerError
from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler import client, control, lock, sending
from tokeneconomizer.scheduler.building import Parts, build
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import held, is_held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

PATIENCE_S = 30

INSTALLED = {
    "name": control.SETUP_CHANGED,
    "host": "claude_code",
    "action": "install",
    "files": ["~/.claude/settings.json"],
    "program_version": "1.0",
    "agent_version": "2.1.332",
}
POLICIES = {"name": control.POLICIES_CHANGED}


@pytest.fixture
def parts(home: Home) -> Iterator[Parts]:
    parts = build(home, capturing_log()[0])
    yield parts
    parts.store.close()


class FakeDaemon:
    """Gives each caller the same bytes, and keeps what it was asked."""

    def __init__(self, home: Home, reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reply = reply
        self.asked: list[bytes] = []
        self._listener = socket.socket(socket.AF_UNIX)
        with monkeypatch.context() as patch:
            patch.chdir(home.root)
            self._listener.bind(home.socket.name)
        self._listener.listen()
        self._listener.settimeout(PATIENCE_S)
        self._thread = Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        with connection, connection.makefile("rb") as stream:
            line = stream.readline()
            self.asked += [line, stream.read(wire.parse_header(line).payload_length)]
            connection.sendall(self.reply)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._thread.join(PATIENCE_S)
        self._listener.close()


def policies_stored(home: Home) -> list[tuple[object, ...]]:
    names = ("host", "key", "value", "repository")
    columns = ", ".join(f"json_extract(CAST(e.state AS TEXT), '$.{name}')" for name in names[1:])
    return rows_of(
        home.events,
        f"SELECT json_extract(CAST(o.state AS TEXT), '$.host'), {columns} FROM stored_events e "
        "JOIN stored_events o ON o.originator_id = e.originator_id AND o.originator_version = 1 "
        "WHERE e.topic = 'setup.policy_set' ORDER BY e.rowid",
    )


def test_an_installation_is_stored(home: Home, parts: Parts) -> None:
    assert control.execute(parts, INSTALLED) == {"setup": 1}
    assert topics_in(home.events) == ["setup.opened", "setup.changed"]


def test_policies_are_stored_where_they_differ_and_null_where_they_went(home: Home, parts: Parts) -> None:
    counts = []
    for text in (
        (
            "loopguard: off\nhosts: {claude_code: {judge: auto}}\n"
            f"repositories: {{{REPOSITORY}: {{trust: yes}}}}\n"
        ),
        "loopguard: off\n# no more\n",
        "# nothing\n\n\n",
        "",
    ):
        home.config.write_text(text)
        counts.append(control.execute(parts, POLICIES)["policies"])

    assert counts == [3, 2, 1, 0]
    assert policies_stored(home) == [
        ("*", "loopguard", '"off"', ""),
        ("claude_code", "judge", '"auto"', ""),
        ("*", "trust", '"yes"', REPOSITORY),
        ("*", "trust", "null", REPOSITORY),
        ("claude_code", "judge", "null", ""),
        ("*", "loopguard", "null", ""),
    ]
    assert control.store_policies(parts, NOON) == 0


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({}, "knows no command `None`: `te daemon stop`"),
        ({"name": "of a later version"}, "knows no command `of a later version`"),
        ({**INSTALLED, "name": control.SETUP_CHANGED, "files": []} | {"host": "x"}, ""),
        ({"name": control.SETUP_CHANGED, "host": "claude_code"}, "lacks 'action'"),
    ],
)
def test_a_command_of_another_version_is_refused_in_words(
    parts: Parts, request_: dict[str, object], reason: str
) -> None:
    if reason:
        with pytest.raises(TokeneconomizerError, match=reason):
            control.execute(parts, request_)
    else:
        assert control.execute(parts, request_) == {"setup": 1}


def test_without_a_daemon_a_command_is_stored_here_and_the_lock_let_go(tmp_path: Path) -> None:
    home = Home(tmp_path / "not made yet")

    assert sending.submit(home, INSTALLED) == {"setup": 1}
    assert topics_in(home.events) == ["setup.opened", "setup.changed"]
    assert not is_held(home.lock)
    assert not home.events.with_name("events.db-wal").exists()


def test_a_command_that_is_refused_here_lets_the_lock_go(home: Home) -> None:
    with pytest.raises(TokeneconomizerError, match="knows no command"):
        sending.submit(home, {"name": "unheard of"})
    assert not is_held(home.lock)


def test_a_running_daemon_stores_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", b'{"setup": 1}'), monkeypatch) as daemon:
        assert sending.submit(home, INSTALLED) == {"setup": 1}

    assert daemon.asked[0].startswith(b"TE1 command - - - ")
    assert json.loads(daemon.asked[1]) == INSTALLED
    assert not home.events.exists()


def test_what_the_daemon_refuses_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = wire.encode_reply("1.0", b'{"error": "not today: try tomorrow"}')
    with (
        FakeDaemon(home, reply, monkeypatch),
        pytest.raises(TokeneconomizerError, match="not today: try tomorrow"),
    ):
        sending.submit(home, INSTALLED)


def test_a_daemon_that_holds_the_lock_and_does_not_answer_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "ATTEMPT_PAUSE_S", 0)
    with held(home.lock), pytest.raises(DaemonRunning):
        sending.submit(home, INSTALLED)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"TE1 1.0 20\n{}",
        b"TE1 1.0\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        wire.encode_reply("1.0", b"no json"),
        wire.encode_reply("1.0", b"\xff"),
        wire.encode_reply("1.0", b"[]"),
    ],
)
def test_a_reply_that_is_none_counts_as_no_daemon(
    home: Home, monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    before = Path.cwd()
    with (
        FakeDaemon(home, reply, monkeypatch),
        pytest.raises(DaemonUnreachable, match=r"no daemon answers in .*: start it with `te daemon start`"),
    ):
        client.ask(home, "status")
    assert Path.cwd() == before


def test_a_daemon_is_reached_however_long_its_homes_path_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / ("a folder with a long name " * 8))
    home.create()
    before = Path.cwd()
    with FakeDaemon(home, wire.encode_reply("1.0", b'{"pid": 7}'), monkeypatch):
        reply = client.ask(home, "status")

    assert (reply.version, reply.data) == ("1.0", {"pid": 7})
    assert Path.cwd() == before


def test_without_a_home_no_daemon_answers(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnreachable):
        client.ask(Home(tmp_path / "absent"), "status")

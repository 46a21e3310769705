import json
import sqlite3

import pytest
from console_runs import keep, te
from sessions import Telling, edit, shell

from tokeneconomizer.console import state
from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.scheduler.home import Home


def in_circles() -> Telling:
    telling = Telling()
    telling.start()
    telling.prompt()
    for _ in range(4):
        telling.step(shell("make test", "error: no rule", failed=True))
    telling.stop()
    return telling


@pytest.fixture
def other_session() -> Telling:
    telling = Telling(SessionKey("claude_code", "session-2"))
    telling.start()
    telling.step(edit("a.py", "x"))
    return telling


@pytest.fixture
def kept(home: Home, other_session: Telling) -> Home:
    keep(home, in_circles(), other_session)
    return home


def listed(*arguments: str) -> list[dict[str, object]]:
    done = te("audit", "list", "--json", *arguments)
    assert done.status == 0
    entries: list[dict[str, object]] = json.loads(done.out)
    return entries


@pytest.mark.usefixtures("kept")
def test_list_shows_the_newest_event_first() -> None:
    positions = [int(str(entry["position"])) for entry in listed("--limit", "5")]
    assert len(positions) == 5
    assert positions == sorted(positions, reverse=True)


@pytest.mark.usefixtures("kept")
def test_list_can_be_narrowed_to_a_session_a_kind_or_decisions() -> None:
    assert {entry["session_id"] for entry in listed("--session", "session-2")} == {"session-2"}
    assert {entry["kind"] for entry in listed("--kind", "session.tool_called")} == {"session.tool_called"}
    decisions = listed("--decisions")
    assert [entry["kind"] for entry in decisions] == ["session.redirected"]
    assert "make test" in str(decisions[0]["summary"])


@pytest.mark.usefixtures("kept")
def test_a_view_that_is_far_behind_is_caught_up_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "EVENTS_WITHOUT_BAR", 0)
    assert len(listed()) == len(te("audit", "export").out.splitlines())


@pytest.mark.usefixtures("kept")
def test_list_is_a_table_for_people() -> None:
    lines = te("audit", "list", "--kind", "session.turn_ended").out.splitlines()
    assert lines[0].split("  ")[0] == "event"
    assert "Turn 1 ended" in lines[1]
    assert "session-" in lines[1]


@pytest.mark.usefixtures("home")
def test_a_home_without_events_has_an_empty_history(home: Home) -> None:
    assert listed() == []
    assert te("audit", "list").err == "no event is stored yet\n"
    assert te("audit", "export").out == ""
    assert not home.root.exists()


@pytest.mark.usefixtures("kept")
def test_list_says_when_nothing_fits() -> None:
    done = te("audit", "list", "--session", "nobody")
    assert (done.out, done.err) == ("", "no such event is stored\n")


@pytest.mark.usefixtures("kept")
def test_export_prints_every_event_once_in_order() -> None:
    events = [json.loads(line) for line in te("audit", "export").out.splitlines()]
    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert all(list(event) == ["position", "aggregate", "type", "version", "at", "data"] for event in events)
    by_stream: dict[str, list[int]] = {}
    for event in events:
        by_stream.setdefault(event["aggregate"], []).append(event["version"])
    assert all(versions == list(range(1, len(versions) + 1)) for versions in by_stream.values())
    assert events[0]["type"] == "session.started"
    assert events[0]["data"]["host"] == "claude_code"
    assert events[0]["at"].endswith("+00:00")


@pytest.mark.usefixtures("kept")
def test_export_goes_on_after_a_position() -> None:
    whole = te("audit", "export").out.splitlines()
    assert te("audit", "export", "--since", "3").out.splitlines() == whole[3:]
    assert te("audit", "export", "--since", str(len(whole))).out == ""


def test_export_of_a_damaged_event_prints_the_others_and_tells(kept: Home) -> None:
    whole = te("audit", "export").out.splitlines()
    connection = sqlite3.connect(kept.events)
    connection.execute("UPDATE stored_events SET state = X'7B' WHERE rowid = 2")
    connection.commit()
    connection.close()
    done = te("audit", "export")
    assert done.status == 1
    assert done.out.splitlines() == [whole[0], *whole[2:]]
    assert done.err.startswith("event 2 session.")
    assert "damaged in 1 places" in done.err


def test_a_damaged_file_is_a_known_error(home: Home) -> None:
    home.create()
    home.events.write_bytes(b"no database" * 1000)
    for arguments in (("list",), ("export",), ("show", "1")):
        done = te("audit", *arguments)
        assert (done.status, done.out) == (1, "")
        assert done.err.count("te: ") == 1


@pytest.mark.usefixtures("kept")
def test_show_prints_all_that_is_stored_of_an_event() -> None:
    whole = te("audit", "export").out.splitlines()
    assert te("audit", "show", "1", "--json").out.splitlines() == whole[:1]
    shown = te("audit", "show", "1").out.splitlines()
    assert shown[0].split("  ")[0] == "what happened"
    assert any(line.split() == ["host", "claude_code"] for line in shown)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("show", "4711"), 1, "there is no event 4711: `te audit list` shows the newest ones"),
        (("show", "0"), 2, "0 is not in the range"),
        (("list", "--limit", "0"), 2, "0 is not in the range"),
        (("list", "--limit", "100001"), 2, "100001 is not in the range"),
        (("export", "--since", "-1"), 2, "-1 is not in the range"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_is_not_there_is_refused(arguments: tuple[str, ...], status: int, words: str) -> None:
    done = te("audit", *arguments)
    assert done.status == status
    assert words in done.err


@pytest.mark.usefixtures("kept")
def test_explain_names_rule_limits_and_events() -> None:
    (redirected,) = listed("--kind", "session.redirected")
    position = str(redirected["position"])
    found = json.loads(te("audit", "explain", position, "--json").out)
    assert (found["rule"], found["limits"]["failed_repeats"], found["delivered"]) == ("same_call", 3, True)
    assert all(basis["position"] < found["position"] for basis in found["rests_on"])
    shown = te("audit", "explain", position).out
    assert "failed_repeats 3" in shown
    assert "the evidence" in shown


@pytest.mark.usefixtures("kept")
def test_explain_says_where_there_is_nothing_to_explain() -> None:
    done = te("audit", "explain", "999")
    assert (done.status, done.out) == (1, "")
    assert "there is no event 999" in done.err
    assert "no, the agent did it" in te("audit", "explain", "2").out


def test_explain_tells_of_an_event_that_cannot_be_read(kept: Home) -> None:
    connection = sqlite3.connect(kept.events)
    with connection:
        connection.execute("UPDATE stored_events SET state = X'7B' WHERE rowid = 2")
    connection.close()
    done = te("audit", "explain", "2")
    assert done.status == 1
    assert "te audit verify" in done.err

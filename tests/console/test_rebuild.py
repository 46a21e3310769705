import json
import sqlite3

import pytest
from console_runs import keep, te
from sessions import Telling, edit, shell

from tokeneconomizer.console.commands.rebuild import BY_NAME
from tokeneconomizer.projections import audit, counters
from tokeneconomizer.projections.switch import current, open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import Home


@pytest.fixture
def kept(home: Home) -> Home:
    telling = Telling()
    telling.start()
    telling.prompt()
    telling.step(edit("a.py", "x"))
    for _ in range(4):
        telling.step(shell("make test", "error: no rule", failed=True))
    keep(home, telling)
    return home


def results(*arguments: str, status: int = 0) -> list[dict[str, object]]:
    done = te("rebuild", "--json", *arguments)
    assert done.status == status
    found: list[dict[str, object]] = json.loads(done.out)
    return found


def with_other_columns(home: Home) -> None:
    """Leave views as another version made them: another schema, other columns."""
    for projection, statement in (
        (counters, "ALTER TABLE counts RENAME COLUMN calls TO tool_calls"),
        (audit, "ALTER TABLE entries RENAME COLUMN kind TO topic"),
    ):
        with open_view(home.views, projection) as view:
            view.connection().execute(statement)
            view.connection().execute("PRAGMA user_version=99")


def test_all_views_are_rebuilt_with_rate_and_checksum(kept: Home) -> None:
    events = len(te("audit", "export").out.splitlines())
    first = results()
    assert [result["view"] for result in first] == list(BY_NAME)
    assert {result["events"] for result in first} == {events}
    assert all(result["events_per_s"] and not result["set_aside"] for result in first)
    again = results()
    assert [result["checksum"] for result in again] == [result["checksum"] for result in first]
    assert [current(kept.views, view) for view in PROJECTIONS] == [
        kept.views / f"{view.NAME}.{view.SCHEMA}-3.db" for view in PROJECTIONS
    ]


@pytest.mark.usefixtures("kept")
def test_one_view_can_be_named_also_twice() -> None:
    assert [result["view"] for result in results("audit", "audit")] == ["audit"]


@pytest.mark.usefixtures("kept")
def test_the_result_is_a_table_for_people() -> None:
    te("rebuild")
    lines = te("rebuild", "--verify").out.splitlines()
    assert lines[0].split() == ["view", "events", "events/s", "checksum"]
    assert [line.split()[0] for line in lines[1:]] == list(BY_NAME)
    assert all(line.endswith("equal") for line in lines[1:])


def test_a_row_that_differs_is_told_and_nothing_is_changed(kept: Home) -> None:
    assert {result["is_equal"] for result in results("--verify")} == {True}
    with open_view(kept.views, counters) as view:
        view.connection().execute("UPDATE counts SET calls = calls + 1")
    done = te("rebuild", "--verify")
    assert done.status == 1
    assert "a rebuild would change rows of counters: run `te rebuild counters`" in done.err
    (wrong,) = results("counters", "--verify", status=1)
    assert wrong["checksum"] != wrong["answering_checksum"]
    results("counters")
    assert {result["is_equal"] for result in results("--verify")} == {True}


def test_an_event_that_a_fold_cannot_take_is_counted(kept: Home) -> None:
    connection = sqlite3.connect(kept.events)
    with connection:
        connection.execute("UPDATE stored_events SET state = X'7B' WHERE rowid = 2")
    connection.close()
    aside = {result["view"]: result["set_aside"] for result in results()}
    assert aside == {
        "counters": 1,
        "audit": 0,
        "accounting": 0,
        "envelope": 1,
        "microskills": 0,
        "prune_evidence": 1,
    }
    assert "set aside: 1, see `te doctor`" in te("rebuild").out


@pytest.mark.parametrize("arguments", [(), ("--verify",), ("audit",)])
def test_a_home_without_events_has_nothing_to_rebuild(home: Home, arguments: tuple[str, ...]) -> None:
    done = te("rebuild", *arguments)
    assert (done.status, done.out) == (1, "")
    assert "nothing to rebuild" in done.err
    assert not home.root.exists()


@pytest.mark.usefixtures("home")
def test_an_unknown_view_is_wrong_usage_and_all_names_are_told() -> None:
    done = te("rebuild", "unheard_of")
    assert done.status == 2
    assert all(name in done.err for name in BY_NAME)


def test_a_view_of_another_version_is_told_in_words_until_it_is_rebuilt(kept: Home) -> None:
    results()
    with_other_columns(kept)
    status = te("status")
    assert status.status == 0
    assert "the view `counters` was made by another version and is being rebuilt" in status.out
    listed = te("audit", "list")
    assert (listed.status, listed.out) == (1, "")
    assert "the view `audit` was made by another version and is being rebuilt" in listed.err
    assert "run `te rebuild audit`" in listed.err
    assert "Traceback" not in status.out + status.err + listed.err
    results()
    assert te("audit", "list").status == 0
    assert "another version" not in te("status").out

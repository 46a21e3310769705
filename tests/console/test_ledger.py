import json
from pathlib import Path

import pytest
from console_runs import te, te_in_terminal
from transcripts import transcript_in

from tokeneconomizer.scheduler.home import Home

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def agents_home(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    for name in ("s1", "s2"):
        transcript_in(folder, name).turn("make test")
    return folder


def test_the_scan_is_one_json_value_for_programs(agents_home: Path) -> None:
    done = te("ledger", "scan", "--agents-home", str(agents_home), "--timezone", "UTC", "--json")

    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert [session["session_id"] for session in found["sessions"]] == ["s1", "s2"]
    assert found["totals"]["output"] == 80


@pytest.mark.parametrize(
    ("group", "row"),
    [
        ("session", ["claude_code", "project", "s1", "2", "20", "60", "80", "40"]),
        ("day", ["2026-01-04", "4", "40", "120", "160", "80"]),
        ("repo", ["claude_code", "path:/home/dev/project", "4", "40", "120", "160", "80"]),
        ("model", ["claude-test-1", "4", "40", "120", "160", "80"]),
    ],
)
def test_each_grouping_is_a_table_that_ends_with_the_sum(
    group: str, row: list[str], agents_home: Path
) -> None:
    done = te("ledger", "scan", "--agents-home", str(agents_home), "--timezone", "UTC", "--by", group)

    lines = [line.split() for line in done.out.splitlines()]
    assert any(line[-len(row) :] == row for line in lines)
    assert lines[-1][0] == "all"


def test_what_no_log_says_is_called_unknown(tmp_path: Path) -> None:
    done = te("ledger", "scan", "--agents-home", str(tmp_path))

    assert done.out.splitlines()[-1].split() == ["all", "0", *["unknown"] * 4]


def test_damaged_lines_are_told_beside_the_data(agents_home: Path) -> None:
    with next(agents_home.rglob("s1.jsonl")).open("a") as file:
        file.write("garbage\n")

    done = te("ledger", "scan", "--agents-home", str(agents_home))

    assert "1 damaged line" in done.err
    assert "damaged" not in done.out


def test_a_time_zone_that_does_not_exist_is_refused_in_words(agents_home: Path) -> None:
    for name in ("Nowhere/Land", "../../etc/passwd"):
        done = te("ledger", "scan", "--agents-home", str(agents_home), "--timezone", name)

        assert done.status == 1
        assert f"no time zone `{name}`" in done.err


def test_history_is_imported_by_a_child_and_summed_up(agents_home: Path, home: Home) -> None:
    done = te("import", "--agents-home", str(agents_home), "--json")
    again = te("import", "--agents-home", str(agents_home))

    assert done.status == again.status == 0
    assert json.loads(done.out) == {
        "files": 2,
        "sessions": 2,
        "turns": 2,
        "replies": 4,
        "events": 18,
        "skipped_lines": 0,
        "unreadable": [],
    }
    assert "0" in again.out.splitlines()[0]
    assert home.events.exists()


def test_an_import_that_cannot_write_says_what_is_wrong(agents_home: Path, home: Home) -> None:
    home.create()
    home.events.write_bytes(b"no database, but long enough to look at" * 10)

    done = te("import", "--agents-home", str(agents_home))

    assert done.status == 1
    assert "nothing is stored twice" in done.err


def test_a_terminal_shows_a_bar_and_a_table(agents_home: Path) -> None:
    shown = te_in_terminal("import", "--agents-home", str(agents_home), columns=100)

    assert "Reading the agents' logs" in shown
    assert "events new in the store" in shown

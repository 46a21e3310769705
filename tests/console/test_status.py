import json
import re
from datetime import timedelta

import pytest
from console_runs import keep, te
from sessions import START, Telling, shell

from tokeneconomizer.console.commands.status import repository_name
from tokeneconomizer.console.overview import ACTIVE_MINUTES, calls_waiting, overview_of
from tokeneconomizer.scheduler.home import Home


def told() -> Telling:
    telling = Telling()
    telling.start()
    telling.prompt()
    for _ in range(4):
        telling.step(shell("make test", "error: no rule", failed=True))
    return telling


def masked(text: str, home: Home) -> str:
    """Return an output with its times and folders masked."""
    text = text.replace(str(home.root), "HOME")
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)


FRESH = """\
home                        HOME
daemon                      not running; the next hook starts it, or `te daemon start`
calls waiting to be stored  0
calls refused               0
events set aside            0

Parts
loop guard    on
microskills   envfacts
tool pruning  suggest
judge         off
"""

HEARD = """
Agents heard, newest event
claude_code  TIME

Counted so far
sessions at work            0
sessions                    1
sub-agents                  0
prompts                     1
machine-made prompts        0
tool calls                  4
calls that failed           4
calls that never ran        0
redirects delivered         1
stop hints                  0
turns that passed the gate  0
times the judge was asked   0
verdicts: stuck             0
answers not delivered       0

Redirects by rule
same_call  1

Newest sessions
agent        session   repository                state       turn  last event
claude_code  session-  example.org/team/project  redirected  1     TIME
"""


def test_a_fresh_home_is_shown_without_a_number_that_nobody_knows(home: Home) -> None:
    done = te("status")
    assert masked(done.out, home) == FRESH
    assert done.err == "no event is stored yet: run `te setup`, then work with your agent\n"
    known = json.loads(te("status", "--json").out)
    assert [known[name] for name in ("heard", "active", "sessions", "counts")] == [None] * 4
    assert not home.root.exists()


def test_what_was_heard_is_counted(home: Home) -> None:
    keep(home, told())
    assert masked(te("status").out, home) == FRESH + HEARD


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("example.org/team/project", "example.org/team/project"),
        ("path:/home/dev/shop/.git", "shop"),
        ("path:/srv/git/shop.git", "shop.git"),
        ("path:/", "path:/"),
        ("", ""),
    ],
)
def test_a_repository_without_a_remote_is_shown_by_its_folder(identity: str, name: str) -> None:
    assert repository_name(identity) == name


@pytest.mark.parametrize(("minutes", "active"), [(ACTIVE_MINUTES, 1), (ACTIVE_MINUTES + 1, 0)])
def test_an_open_turn_counts_as_work_while_it_was_heard_lately(minutes: int, active: int, home: Home) -> None:
    telling = told()
    keep(home, telling)
    assert overview_of(home, telling.at + timedelta(minutes=minutes)).active == active


def test_a_closed_turn_is_no_work(home: Home) -> None:
    telling = told()
    telling.stop()
    keep(home, telling)
    assert overview_of(home, START).active == 0


def test_what_cannot_be_read_is_said_and_not_counted(home: Home) -> None:
    home.create()
    home.config.write_text("loopguard: maybe\n")
    home.events.write_bytes(b"no database" * 1000)
    done = te("status")
    assert done.status == 0
    problems = [line for line in done.out.splitlines() if line.startswith("problem")]
    assert "`loopguard` takes `on` or `off`, not `maybe`" in problems[0]
    assert "damaged" in problems[1]


def test_spooled_and_refused_calls_are_counted(home: Home) -> None:
    home.create()
    home.refused.mkdir()
    for name in ("1-1-a", "2-1-b", ".3-1-c.tmp"):
        (home.spool / name).touch()
    (home.refused / "0-1-z").touch()
    known = json.loads(te("status", "--json").out)
    assert (known["spool_waiting"], known["spool_refused"]) == (2, 1)


def test_a_call_that_a_killed_daemon_had_answered_counts_as_waiting(home: Home) -> None:
    home.create()
    assert calls_waiting(home) == 0
    home.kept.write_bytes(b"TE1 spool")
    assert calls_waiting(home) == 1
    home.kept.write_bytes(b"")
    assert calls_waiting(home) == 0


def test_labels_come_in_the_users_language(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(home, told())
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "守护进程" in te("status").out
    te("config", "set", "lang", "en")
    assert "守护进程" not in te("status").out

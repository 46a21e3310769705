"""A log that is replayed gives what the same session gave live."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import edit, shell
from workbench import NOON, Workbench, rows_of

from tokeneconomizer.domain.commands import EndTurn, PromptKind, ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.digests import Call
from tokeneconomizer.domain.guard.limits import FAILED_REPEATS, Limits
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop, ReplayRecord, SkippedLine
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.replay import OPEN, ReplayedTurn, replay

FAILING = shell("python -m unittest", "Exit code 1\nValueError: boom", failed=True)
CALLS = (
    FAILING,
    shell("pytest -x", "Exit code 1\nValueError: boom", failed=True),
    shell("cat notes.txt", "the same text"),
    shell("sleep 5 && gh pr checks 7", "pending", failed=True),
    edit("a.py", "x = 1"),
    edit("a.py", "x = 2", error="<tool_use_error>String to replace not found in file."),
)
MOMENTS = st.lists(
    st.sampled_from(["prompt", "stop", *CALLS]).flatmap(
        lambda moment: st.lists(st.just(moment), min_size=1, max_size=4)
    ),
    max_size=8,
).map(lambda runs: [moment for run in runs for moment in run])


def records_of(moments: list[str | Call]) -> list[ReplayRecord]:
    """A log with a line for each moment."""
    records: list[ReplayRecord] = []
    for line, moment in enumerate(moments, start=1):
        if moment == "prompt":
            records.append(LoggedPrompt(line, None, f"prompt-{line}", "go on", PromptKind.HUMAN))
        elif moment == "stop":
            records.append(LoggedStop(line, None, "stop"))
        elif isinstance(moment, Call):
            records.append(LoggedStep((replace(moment, call_id=f"call-{line}"),), (line,), line, None))
    return records


def told_live(bench: Workbench, moments: list[str | Call]) -> None:
    for line, moment in enumerate(moments, start=1):
        if moment == "prompt":
            bench.do(SubmitPrompt(f"prompt-{line}", "go on", PromptKind.HUMAN))
        elif moment == "stop":
            bench.do(EndTurn("stop"))
        elif isinstance(moment, Call):
            bench.do(ReturnCalls((replace(moment, call_id=f"call-{line}"),), whole_step=True))


def said_live(bench: Workbench, topic: str, *names: str) -> list[tuple[object, ...]]:
    rows = rows_of(
        bench.home.events,
        "SELECT CAST(state AS TEXT) FROM stored_events WHERE topic = ? ORDER BY rowid",
        topic,
    )
    return [tuple(json.loads(str(state))[name] for name in names) for (state,) in rows]


@given(MOMENTS, st.sampled_from([2, FAILED_REPEATS]))
@settings(max_examples=40, deadline=None)
def test_a_replay_says_what_was_said_live(moments: list[str | Call], failed_repeats: int) -> None:
    rules = Rules(limits=Limits(failed_repeats=failed_repeats))
    turns = replay(records_of(moments), "claude_code", rules)
    with TemporaryDirectory(prefix="te-") as folder, Workbench(Home(Path(folder))) as bench:
        bench.settings = Configuration({"guard.failed_repeats": failed_repeats})
        told_live(bench, moments)
        redirects = said_live(
            bench, "session.redirected", "turn", "call_number", "call_id", "rule", "evidence", "text"
        )
        hints = said_live(bench, "session.stop_hinted", "turn", "call_number", "call_id")
        ended = said_live(bench, "session.turn_ended", "turn", "calls")

    assert redirects == [
        (turn.turn, at.call, f"call-{at.line}", at.rule, at.evidence, at.text)
        for turn in turns
        for at in turn.redirects
    ]
    assert hints == [
        (turn.turn, turn.stop_hint.call, f"call-{turn.stop_hint.line}") for turn in turns if turn.stop_hint
    ]
    assert ended == [(turn.turn, turn.calls) for turn in turns if turn.ended != OPEN]


def test_turns_know_their_lines_and_calls() -> None:
    moments: list[str | Call] = [
        "prompt",
        FAILING,
        FAILING,
        FAILING,
        "stop",
        "prompt",
        CALLS[2],
        "prompt",
        "stop",
    ]
    turns = replay([SkippedLine(0), *records_of(moments)], "claude_code", Rules())

    assert [(turn.first_line, turn.last_line, turn.calls, turn.ended) for turn in turns] == [
        (1, 5, 3, "red"),
        (6, 7, 1, "unverified"),
        (8, 9, 0, "unverified"),
    ]
    assert [(at.call, at.line) for at in turns[0].redirects] == [(3, 4)]


def test_a_log_that_begins_in_a_turn_or_breaks_off_in_one_has_it_open() -> None:
    turns = replay(records_of([FAILING, FAILING]), "claude_code", Rules())

    assert turns == [ReplayedTurn(1, 1, 2, calls=2, ended=OPEN, call_lines=[1, 2])]


def test_a_stop_where_no_turn_is_open_changes_nothing() -> None:
    assert replay(records_of(["stop", "stop"]), "claude_code", Rules()) == []


def test_the_same_prompt_twice_in_a_log_happened_twice() -> None:
    records = [
        LoggedPrompt(line, NOON, "prompt-1", "<task-notification>", PromptKind.MACHINE) for line in (1, 2)
    ]

    assert len(replay(records, "claude_code", Rules())) == 2


def test_what_was_said_in_a_copied_turn_is_told_of_the_first_log_alone() -> None:
    parent = records_of(["prompt", *[FAILING] * 3, "stop"])
    renamed = [
        replace(record, calls=tuple(replace(call, call_id=f"fork-{call.call_id}") for call in record.calls))
        if isinstance(record, LoggedStep)
        else record
        for record in records_of(["prompt", *[FAILING] * 3])
    ]
    seen: set[str] = set()
    first, copied, own = (
        replay(log, "claude_code", Rules(), seen) for log in (parent, parent, [*parent, *renamed])
    )

    assert [len(turn.redirects) for turn in first] == [1]
    assert [len(turn.redirects) for turn in copied] == [0]
    assert [(turn.calls, len(turn.redirects)) for turn in own] == [(3, 0), (3, 1)]

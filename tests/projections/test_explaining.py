"""Why something was decided: rule, limits, and the events that it rests on (S1.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from event_samples import event_classes, field_values
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Telling, edit, shell
from stores import Row, add_rows, make_store, row_of

from tokeneconomizer.domain.guard.judge import Verdict
from tokeneconomizer.domain.guard.limits import STUCK, Limits
from tokeneconomizer.domain.guard.rules import RULES
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.domain.judging import ask, case_of, give_verdict
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.explaining import LIMITS_OF_RULE, Explanation, explain

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.domain.digests import Call

FAILING = shell("make check", "KeyError: x", failed=True)
REFUSED = "String to replace not found in file."
FOUND = [shell("rg total", "a.py:1: total"), shell("cat a.py", "total = 1"), shell("git log", "one commit")]


def explained(folder: Path, rows: list[Row], topic: str) -> Explanation:
    """The explanation of the first event of a kind."""
    store = make_store(folder / "events.db")
    add_rows(store, rows)
    with EventLog(store) as log:
        event = next(row for row in log.entries() if isinstance(row, EventRow) and row.topic == topic)
        return explain(log, event)


def told(*calls: Call, limits: Limits | None = None) -> Telling:
    telling = Telling(rules=Rules(limits=limits or Limits()))
    telling.start()
    telling.prompt()
    for call in calls:
        telling.step(call)
    return telling


def rows_of(telling: Telling) -> list[Row]:
    return [*map(row_of, telling.events)]


def why(found: Explanation) -> list[tuple[str, str]]:
    return [(basis.kind.removeprefix("session."), basis.why) for basis in found.rests_on]


CALL = [("tool_called", "the evidence"), ("tool_returned", "the evidence")]
PROMPT = ("prompt_submitted", "brought the limits")


def test_a_redirect_names_its_rule_its_limits_and_the_calls_that_repeat(tmp_path: Path) -> None:
    telling = told(shell("ls", "a.py"), FAILING, FAILING, FAILING)
    found = explained(tmp_path, rows_of(telling), "session.redirected")

    assert found.is_decision
    assert (found.rule, found.delivered) == ("same_call", True)
    assert found.limits["failed_repeats"] == 3
    assert found.limits["span_calls"] == 16
    assert (found.measured["occurrences"], found.measured["call_number"]) == (3, 4)
    assert why(found) == [PROMPT, *CALL * 3]
    assert [basis.position for basis in found.rests_on] == [2, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize(
    ("calls", "rule", "behind"),
    [
        ([edit("a.py", f"version {n}", error=REFUSED) for n in range(3)], "edit_refused", 3),
        ([shell("pwd", "/p"), *FOUND * 3], "cycle", 7),
        ([edit("a.py", text) for text in ("one", "two", "one", "two")], "back_and_forth", 4),
    ],
)
def test_what_a_rule_compares_is_named_too(tmp_path: Path, calls: list[Call], rule: str, behind: int) -> None:
    found = explained(tmp_path, rows_of(told(*calls)), "session.redirected")

    assert (found.rule, why(found).count(CALL[0])) == (rule, behind)


def test_every_rule_has_its_limits() -> None:
    assert set(LIMITS_OF_RULE) == {*RULES, "judge", "gate"}
    assert {name for names in LIMITS_OF_RULE.values() for name in names} <= set(Limits.__dataclass_fields__)


def test_a_hint_names_the_redirect_that_did_not_help(tmp_path: Path) -> None:
    found = explained(tmp_path, rows_of(told(*[FAILING] * 7)), "session.stop_hinted")

    assert found.rule == "same_call"
    assert ("redirected", "the redirect that did not help") in why(found)
    assert ("tool_returned", "the same evidence") in why(found)


def judged() -> list[Row]:
    telling = told(*[shell(f"test -f f{'x' * n}") for n in range(9)], limits=Limits(gate_calls=8))
    session = telling.session
    assert session is not None
    case = case_of(session)
    assert case is not None
    ask(session, case, "side-1", telling.at)
    give_verdict(session, case, "side-1", Verdict(STUCK, 0.9), "small", telling.at)
    telling.events += session.collect_events()  # type: ignore[arg-type]
    telling.step(shell("test -d src"))
    return rows_of(telling)


def test_a_gate_names_what_was_too_much_and_the_calls_that_brought_nothing(tmp_path: Path) -> None:
    found = explained(tmp_path, judged(), "session.gate_fired")

    assert (found.rule, found.measured) == ("gate", {"measure": "calls", "value": 9, "limit": 8})
    assert (found.limits["gate_calls"], found.limits["green_turns"]) == (8, 0)
    assert len(found.rests_on) == 1 + 2 * 9


@pytest.mark.parametrize(
    ("topic", "rule", "kinds"),
    [
        ("session.judge_asked", "gate", ["gate_fired"]),
        ("session.verdict_given", "judge", ["gate_fired", "judge_asked"]),
        (
            "session.redirected",
            "judge",
            [
                "prompt_submitted",
                "gate_fired",
                "judge_asked",
                "verdict_given",
                "tool_called",
                "tool_returned",
            ],
        ),
    ],
)
def test_the_judges_way_can_be_followed_back(tmp_path: Path, topic: str, rule: str, kinds: list[str]) -> None:
    found = explained(tmp_path, judged(), topic)

    assert found.rule == rule
    assert {kind for kind, _ in why(found)} == set(kinds)


def test_what_did_not_arrive_is_named_and_did_not_count(tmp_path: Path) -> None:
    telling = told(FAILING, FAILING, FAILING)
    version = telling.of("redirected")[0].originator_version
    failed = Row(
        "session.delivery_failed",
        {
            "failed_topic": "session.redirected",
            "failed_version": version,
            "reason": "killed",
            "delivery_id": "",
        },
        telling.events[0].originator_id.hex,
    )
    rows = [*rows_of(telling), failed]

    assert why(explained(tmp_path, rows, "session.delivery_failed")) == [
        ("redirected", "what did not arrive")
    ]
    assert explained(tmp_path, rows, "session.redirected").delivered is False


def test_a_setting_names_what_held_before(tmp_path: Path) -> None:
    def policy(key: str, value: str) -> Row:
        return Row("setup.policy_set", {"key": key, "value": value, "repository": ""})

    store = make_store(tmp_path / "events.db")
    add_rows(store, [policy("judge", '"auto"'), policy("lang", '"en"'), policy("judge", '"off"')])
    with EventLog(store) as log:
        newest = log.event(3)
        assert isinstance(newest, EventRow)
        assert [basis.position for basis in explain(log, newest).rests_on] == [1]


def test_what_the_agent_did_is_no_decision(tmp_path: Path) -> None:
    found = explained(tmp_path, rows_of(told(FAILING)), "session.tool_returned")

    assert (found.is_decision, found.rule) == (False, "")
    assert why(found) == [("tool_called", "the same hook call")]


@pytest.mark.parametrize("topic", sorted(event_classes()))
@given(st.data())
@settings(deadline=None, max_examples=10)
def test_every_event_can_be_explained(
    tmp_path_factory: pytest.TempPathFactory, topic: str, data: st.DataObject
) -> None:
    values = data.draw(field_values(topic))
    fields = {name: "{}" if name == "limits" else value for name, value in values.items()}
    found = explained(tmp_path_factory.mktemp("log"), [Row(topic, fields)], topic)

    assert found.kind == topic
    assert found.summary

"""What a log tells of the context of a turn, and to which turn it belongs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext
from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.records import (
    LoggedCatalogue,
    LoggedPrompt,
    LoggedSession,
    LoggedStop,
    LoggedTool,
    LoggedUsage,
    LoggedWindow,
)
from tokeneconomizer.scheduler.import_turns import HeldTurns, Turn, TurnsOfLog

if TYPE_CHECKING:
    from tokeneconomizer.hosts.records import Record

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SESSION = LoggedSession(1, NOON, "session-1")
PROMPT = LoggedPrompt(1, NOON, "", "mend it", PromptKind.HUMAN)
STOP = LoggedStop(1, NOON + timedelta(seconds=10), "stop")
SHAPE = LoggedCatalogue(
    1,
    NOON,
    (LoggedTool("Bash", 300), LoggedTool("WebFetch", 900, deferred=True)),
    whole=True,
    prompt_characters=100,
)


def window(used: int | None = None, size: int | None = None, agent_id: str = "") -> LoggedWindow:
    return LoggedWindow(1, NOON, used, size, agent_id)


def reply(
    provider: str = "", agent_id: str = "", usage_id: str = "message-1", seconds: int = 5
) -> LoggedUsage:
    at = NOON + timedelta(seconds=seconds)
    none = (None,) * 6
    return LoggedUsage(1, UsageRecord(usage_id, "session-1", agent_id, "", at, "model", provider, *none))


def turns_of(*records: Record) -> list[Turn]:
    """The turns of a log as an import takes them."""
    turns, held = TurnsOfLog("codex"), HeldTurns()
    found: list[Turn] = []
    for record in (SESSION, *records):
        held.add(record)
        for turn in turns.take(record):
            found += held.take(turn)
    return [*found, *held.rest(), *turns.rest()]


@pytest.mark.parametrize(
    ("told", "context"),
    [
        ((), NOTHING_TOLD),
        ((reply("openai"), window(100, 1_000)), ToldContext("openai", 100, 1_000)),
        ((window(100, 1_000), window(120, None)), ToldContext("", 120, 1_000)),
        ((reply("a"), reply("")), ToldContext("a")),
        ((reply("openai", "agent-1"), window(100, 1_000, "agent-1")), NOTHING_TOLD),
        ((SHAPE,), ToldContext(prompt_characters=400)),
    ],
)
def test_what_is_told_within_a_turn_is_of_that_turn(told: tuple[Record, ...], context: ToldContext) -> None:
    (turn,) = turns_of(PROMPT, *told, STOP)
    assert turn.told == context


@pytest.mark.parametrize(
    "shape",
    [
        LoggedCatalogue(1, NOON, (LoggedTool("Bash", 300),), whole=True),
        LoggedCatalogue(1, NOON, (LoggedTool("Bash"),), whole=True, prompt_characters=100),
        LoggedCatalogue(1, NOON, (), whole=False, tokens=5_884),
    ],
    ids=["no prompt", "no size", "definitions alone"],
)
def test_a_part_of_what_a_request_begins_with_is_no_number(shape: LoggedCatalogue) -> None:
    (turn,) = turns_of(PROMPT, shape, STOP)
    assert turn.told.prompt_characters is None


def test_the_shape_of_requests_holds_until_it_is_told_anew_and_nothing_else_does() -> None:
    first, second = turns_of(PROMPT, SHAPE, reply("openai"), window(1, 2), STOP, PROMPT, STOP)
    assert first.told == ToldContext("openai", 1, 2, 400)
    assert second.told == ToldContext(prompt_characters=400)


@pytest.mark.parametrize("ends", [(STOP,), ()], ids=["with a stop", "by the next prompt"])
def test_a_window_of_the_next_turn_is_not_of_the_one_before(ends: tuple[Record, ...]) -> None:
    first, second = turns_of(PROMPT, window(1, 10), *ends, PROMPT, window(7, 70), STOP)
    assert (first.told, second.told) == (ToldContext("", 1, 10), ToldContext("", 7, 70))


def test_what_comes_right_behind_a_turns_end_is_of_that_turn() -> None:
    first, second = turns_of(PROMPT, STOP, window(13_225), PROMPT, STOP)
    assert (first.told, second.told) == (ToldContext(used_tokens=13_225), NOTHING_TOLD)


def test_a_turn_ends_with_its_last_reply_also_where_that_is_written_down_once_more() -> None:
    (turn,) = turns_of(PROMPT, reply(seconds=5), STOP, reply(seconds=12), reply(usage_id="other", seconds=20))
    assert turn.ended_at == NOON + timedelta(seconds=12)


def test_a_turn_without_a_stop_ends_with_its_last_reply() -> None:
    (turn,) = turns_of(PROMPT, reply(seconds=30))
    assert turn.ended_at == NOON + timedelta(seconds=30)

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.domain.usage_totals import Totals, each_once, totals

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)

REPLY = UsageRecord(
    usage_id="r1",
    session_id="s1",
    agent_id="",
    project="/home/dev/project",
    at=NOON,
    model="m1",
    provider="",
    input=1,
    output=2,
    cache_read=3,
    cache_write_5m=4,
    cache_write_1h=None,
    reasoning=None,
)


def reply(**changes: object) -> UsageRecord:
    return msgspec.structs.replace(REPLY, **changes)


def sums(*records: UsageRecord) -> Totals:
    return totals({"claude_code": records}, UTC)


def test_a_session_is_the_sum_of_its_replies_by_model() -> None:
    found = sums(REPLY, reply(usage_id="r2", model="m2", output=10), reply(usage_id="r3", output=5))

    (session,) = found.sessions
    assert {model: (tokens.requests, tokens.output) for model, tokens in session.models.items()} == {
        "m1": (2, 7),
        "m2": (1, 10),
    }
    assert (found.all.requests, found.all.output) == (3, 17)
    assert found.models() == ["m1", "m2"]


def test_what_no_log_says_is_not_zero() -> None:
    found = sums(REPLY, reply(usage_id="r2"))

    assert found.all.cache_write_1h is None
    assert found.all.cache_write_5m == 8


def test_a_figure_that_some_replies_lack_is_the_sum_of_the_others() -> None:
    assert sums(REPLY, reply(usage_id="r2", input=None)).all.input == 1


def test_a_reply_that_was_written_down_again_counts_once_and_the_newest_counts() -> None:
    grown = reply(output=50, at=NOON + timedelta(seconds=1))

    assert sums(grown, REPLY).all.output == 50
    assert sums(REPLY, grown).all.requests == 1


def test_a_copy_in_a_fork_counts_only_where_the_reply_is_found_nowhere_else() -> None:
    copy = reply(session_id="fork", copied=True, at=NOON + timedelta(hours=1))

    assert [session.session_id for session in sums(copy, REPLY).sessions] == ["s1"]
    assert [session.session_id for session in sums(copy).sessions] == ["fork"]


def test_the_time_zone_decides_the_day() -> None:
    late = reply(at=datetime(2026, 1, 5, 23, 30, tzinfo=UTC))

    assert list(totals({"pi": [late]}, UTC).days) == [date(2026, 1, 5)]
    assert list(totals({"pi": [late]}, ZoneInfo("Europe/Berlin")).days) == [date(2026, 1, 6)]


def test_a_reply_without_a_time_has_no_day_and_comes_first() -> None:
    found = sums(REPLY, reply(usage_id="r2", at=None))

    assert list(found.days) == [None, date(2026, 1, 5)]
    (session,) = found.sessions
    assert (session.first_at, session.last_at) == (NOON, NOON)


def test_the_same_id_of_another_agent_is_another_reply() -> None:
    assert totals({"pi": [REPLY], "codex": [REPLY]}, UTC).all.requests == 2


REPLIES = st.lists(
    st.builds(
        reply,
        usage_id=st.sampled_from(["r1", "r2", "r3"]),
        session_id=st.sampled_from(["s1", "s2"]),
        project=st.sampled_from(["", "/a", "/b"]),
        at=st.none() | st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours)),
        model=st.sampled_from(["", "m1"]),
        output=st.none() | st.integers(0, 3),
        copied=st.booleans(),
    ),
    max_size=8,
)


@given(REPLIES, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_matters(replies: list[UsageRecord], random: object) -> None:
    shuffled = replies * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert sums(*shuffled) == sums(*replies)


@given(REPLIES)
def test_sessions_and_days_add_up_to_all(replies: list[UsageRecord]) -> None:
    found = sums(*replies)

    by_session = [tokens for session in found.sessions for tokens in session.models.values()]
    by_day = [tokens for models in found.days.values() for tokens in models.values()]
    for parts in (by_session, by_day):
        assert sum(tokens.requests for tokens in parts) == found.all.requests == len(each_once(replies))
        assert sum(tokens.output or 0 for tokens in parts) == (found.all.output or 0)

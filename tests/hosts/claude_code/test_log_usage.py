"""The tokens in Claude Code's lines."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime

import msgspec
import pytest
from claude_code_lines import SESSION, at, line, raw, reply, result, user
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.claude_code.log_usage import UsageReader, cache_writes

USAGE = {
    "input_tokens": 3,
    "output_tokens": 40,
    "cache_read_input_tokens": 500,
    "cache_creation_input_tokens": 60,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40},
    "output_tokens_details": {"thinking_tokens": 30},
}


def spent(second: int = 1, message_id: str = "m1", **fields: object) -> dict[str, object]:
    return reply(message_id=message_id, **({"usage": USAGE, "timestamp": at(second)} | fields))


def read(*lines: dict[str, object], agent_id: str = "") -> list[UsageRecord]:
    reader = UsageReader("of the file", agent_id, {})
    return [usage for one in lines for usage in reader.read(raw(one))]


def record(**fields: object) -> UsageRecord:
    whole = UsageRecord(
        usage_id="m1",
        session_id=SESSION,
        agent_id="",
        project="/work/app",
        at=datetime(2026, 1, 5, 10, 0, 1, tzinfo=UTC),
        model="m",
        provider="",
        input=3,
        output=40,
        cache_read=500,
        cache_write_5m=20,
        cache_write_1h=40,
        reasoning=30,
    )
    return msgspec.structs.replace(whole, **fields)


NOTHING_SAID = {"input": None, "output": None, "cache_read": None, "cache_write_1h": None, "reasoning": None}
REPORTED = {"type": "assistant", "message": {"id": "m7", "model": "m", "usage": USAGE}, "requestId": "r7"}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(spent(), record(), id="all is told"),
        pytest.param(
            spent(usage={"cache_creation_input_tokens": 60}),
            record(**NOTHING_SAID | {"cache_write_5m": 60}),
            id="what is not told is not 0",
        ),
        pytest.param(spent(requestId=""), record(), id="an empty request id"),
        pytest.param(
            spent(message_id="", requestId="r1", uuid="u1"),
            record(usage_id="r1"),
            id="no id but the request's",
        ),
        pytest.param(spent(message_id="", uuid="u1"), record(usage_id="u1"), id="no id but the line's"),
        pytest.param(spent(sessionId=None), record(session_id="of the file"), id="a line without session"),
        pytest.param(spent(cwd=None), record(project=""), id="a line without folder"),
        pytest.param(spent(timestamp=None), record(at=None), id="a line without time"),
        pytest.param(spent(timestamp="2026-01-05T10:00:01"), record(), id="a time without zone"),
        pytest.param(spent(agentId="a7", isSidechain=True), record(agent_id="a7"), id="of a sub-agent"),
        pytest.param(spent(isSidechain=True), record(agent_id="side chain"), id="of one without id"),
        pytest.param(spent(usage=USAGE | {"speed": "fast"}), record(model="m-fast"), id="at another price"),
        pytest.param(
            spent(requestSessionId="s0"), record(session_id="s0"), id="a copy names the session that paid"
        ),
        pytest.param(spent(forkedFrom={"sessionId": "s0"}), record(session_id="s0"), id="as older copies do"),
        pytest.param(
            line(
                "progress",
                data={"type": "agent_progress", "agentId": "a7", "message": REPORTED},
                timestamp=at(1),
            ),
            record(usage_id="m7", agent_id="a7"),
            id="reported by a sub-agent of 2.1.14 to 2.1.7x",
        ),
        pytest.param(
            spent(cwd=7, isSidechain="no", usage=USAGE | {"input_tokens": 3.0, "output_tokens": -1}),
            record(project="", output=None),
            id="fields of an unexpected type",
        ),
    ],
)
def test_a_reply_is_one_record(one: dict[str, object], expected: UsageRecord) -> None:
    assert read(one) == [expected]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(spent(model="<synthetic>"), id="made up by the agent"),
        pytest.param(spent(usage={"input_tokens": 0, "output_tokens": 0}), id="nothing spent"),
        pytest.param(spent(usage=None), id="without usage"),
        pytest.param(spent(message_id=""), id="without any id"),
        pytest.param(line("assistant", message="text"), id="of another form"),
        pytest.param(user('"usage": {}'), id="a text about usage"),
        pytest.param(
            result("t1", toolUseResult={"agentId": "a7", "usage": USAGE}), id="a sub-agent's last reply"
        ),
        pytest.param(
            line("progress", data={"type": "bash_progress", "output": "x"}), id="progress of a call"
        ),
        pytest.param(
            line("progress", data={"agentId": "a7", "message": {"type": "user"}}), id="a sub-agent's prompt"
        ),
    ],
)
def test_other_lines_spend_nothing(one: dict[str, object]) -> None:
    assert read(one) == []


def test_the_file_names_the_sub_agent_where_its_lines_do_not() -> None:
    assert read(spent(), agent_id="a7") == [record(agent_id="a7")]


@pytest.mark.parametrize(
    ("total", "short", "long", "expected"),
    [
        (60, 20, 40, (20, 40)),
        (60, None, None, (60, None)),
        (60, 0, 40, (20, 40)),
        (60, 0, 0, (60, 0)),
        (10, 20, 40, (20, 40)),
        (None, 20, None, (20, None)),
        (None, None, None, (None, None)),
    ],
)
def test_what_the_parts_leave_out_was_written_for_five_minutes(
    total: int | None, short: int | None, long: int | None, expected: tuple[int | None, int | None]
) -> None:
    assert cache_writes(total, short, long) == expected


def test_replies_that_are_older_than_the_file_are_copies() -> None:
    found = read(
        line("queue-operation", timestamp=at(10)),
        line("queue-operation", timestamp=at(11)),
        spent(2, "m1"),
        line("queue-operation", timestamp=at(20)),
        spent(12, "m2"),
        spent(3, "m3", requestSessionId="s0"),
    )

    assert [(usage.usage_id, usage.session_id, usage.copied) for usage in found] == [
        ("m1", SESSION, True),
        ("m2", SESSION, False),
        ("m3", "s0", False),
    ]


def cost_state(start: int, **tokens: int) -> dict[str, object]:
    return {
        "type": "cost-state",
        "sessionId": SESSION,
        "startTime": round(datetime.fromisoformat(at(start)).timestamp() * 1000),
        "modelUsage": {"m[1m]": tokens},
    }


ONE_REPLY = {
    "inputTokens": 3,
    "outputTokens": 40,
    "cacheReadInputTokens": 500,
    "cacheCreationInputTokens": 60,
    "cacheCreationEphemeral1hInputTokens": 40,
    "thinkingTokens": 30,
}
WITH_COMPACTION = ONE_REPLY | {"inputTokens": 903, "outputTokens": 90, "cacheCreationInputTokens": 61}
COMPACTED = line("system", subtype="compact_boundary", uuid="u9", timestamp=at(5))
OF_COMPACTION = record(
    usage_id="compaction u9 m",
    at=datetime(2026, 1, 5, 10, 0, 5, tzinfo=UTC),
    input=900,
    output=50,
    cache_read=0,
    cache_write_5m=1,
    cache_write_1h=0,
    reasoning=0,
)


def test_a_damaged_line_leaves_open_what_a_compaction_cost() -> None:
    reader = UsageReader(SESSION, "", {})
    with pytest.raises(msgspec.DecodeError):
        reader.read(raw(spent())[:-9])
    for one in (spent(), COMPACTED):
        reader.read(raw(one))

    assert reader.read(raw(cost_state(0, **WITH_COMPACTION))) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [spent(), spent(), COMPACTED, cost_state(0, **WITH_COMPACTION)], [OF_COMPACTION], id="the rest"
        ),
        pytest.param([spent(), cost_state(0, **WITH_COMPACTION)], [], id="no compaction"),
        pytest.param([spent(), COMPACTED, cost_state(0, **ONE_REPLY)], [], id="nothing left"),
        pytest.param([spent(), COMPACTED, cost_state(0, inputTokens=1)], [], id="less than was logged"),
        pytest.param([spent(), COMPACTED, cost_state(2, **WITH_COMPACTION)], [], id="of a later process"),
        pytest.param(
            [spent(), cost_state(0, **ONE_REPLY), COMPACTED, cost_state(0, **WITH_COMPACTION)],
            [OF_COMPACTION],
            id="since the sum before",
        ),
        pytest.param(
            [
                result("t", toolUseResult={"agentId": "a7"}),
                spent(),
                COMPACTED,
                cost_state(0, **WITH_COMPACTION),
            ],
            [],
            id="sub-agents have spent as well",
        ),
        pytest.param(
            [spent(), COMPACTED, line("cost-state", startTime="now")], [], id="a sum of another form"
        ),
    ],
)
def test_a_compaction_cost_what_the_sum_says_more_than_the_replies(
    lines: list[dict[str, object]], expected: list[UsageRecord]
) -> None:
    assert [usage for usage in read(*lines) if usage.usage_id.startswith("compaction")] == expected


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
WHOLE = [
    spent(uuid="u1", requestId="r1"),
    line("progress", data={"type": "agent_progress", "agentId": "a7", "message": REPORTED}),
    cost_state(0, **WITH_COMPACTION),
    COMPACTED,
]


def paths_in(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return [path]
    return [path, *(found for name, inner in value.items() for found in paths_in(inner, (*path, name)))][1:]


@given(data=st.data(), value=ANY_JSON)
def test_a_field_of_any_type_breaks_nothing_and_leaves_the_others(data: st.DataObject, value: object) -> None:
    changed = deepcopy(data.draw(st.sampled_from(WHOLE)))
    *parents, name = data.draw(st.sampled_from(paths_in(changed)))
    inner = changed
    for parent in parents:
        inner = inner[parent]  # type: ignore[assignment]
    inner[name] = value

    for usage in read(changed):
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
        assert all(count is None or count >= 0 for count in counts)
        assert usage.usage_id


@given(st.binary(max_size=80))
def test_only_damage_is_refused(content: bytes) -> None:
    reader = UsageReader("s", "", {})
    try:
        assert reader.read(content) == []
    except (msgspec.DecodeError, json.JSONDecodeError):
        return

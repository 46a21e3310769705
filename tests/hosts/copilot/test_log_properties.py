from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from log_reading import in_lines, read_all, read_in_two, usages_in

from tokeneconomizer.hosts.copilot import log


def event(number: int, kind: str, data: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "type": kind,
        "data": data,
        "id": f"e{number}",
        "timestamp": f"2026-01-05T10:00:{number:02}Z",
    } | more


OUTPUT = 5

USAGE = {
    "model": "m",
    "inputTokens": 70,
    "outputTokens": OUTPUT,
    "cacheReadTokens": 20,
    "cacheWriteTokens": 10,
}

METRICS = {"m": {"usage": {"inputTokens": 500, "outputTokens": 40}}}

EVENTS = [
    event(0, "session.start", {"sessionId": "s1", "context": {"cwd": "/work/app"}}),
    event(1, "user.message", {"content": "g\u00f6 on"}),
    event(2, "session.shutdown", {"modelMetrics": METRICS}),
    event(3, "session.resume", {"context": {"cwd": "/work/other"}}),
    event(4, "session.usage_record", {"usage": USAGE}),
    event(5, "assistant.message", {"toolRequests": [{"toolCallId": "c1", "name": "bash"}]}),
    event(6, "session.usage_record", {"usage": USAGE}, agentId="agent-1"),
    event(7, "tool.execution_complete", {"toolCallId": "c1", "success": True}),
    event(
        8, "session.shutdown", {"modelMetrics": {"m": {"usage": {"inputTokens": 640, "outputTokens": 50}}}}
    ),
]

CONTENT = in_lines(EVENTS)

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

FIELDS = [
    ("id",),
    ("agentId",),
    ("data", "usage", "inputTokens"),
    ("data", "usage", "cacheReadTokens"),
    ("data", "usage", "model"),
    ("data", "usage", "accounting"),
]


def tokens_in(content: bytes) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.write_bytes(content)
        usages = usages_in(read_all(log, path))
    assert len({usage.usage_id for usage in usages}) == len(usages)
    counts = [(usage.input, usage.output, usage.cache_read, usage.cache_write_5m) for usage in usages]
    return sum(tokens or 0 for reply in counts for tokens in reply)


@given(cut=st.integers(0, len(CONTENT)))
def test_a_file_that_is_read_in_two_pieces_tells_the_same(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        in_two = read_in_two(log, path, CONTENT, cut)
        assert in_two == read_all(log, path)


@given(
    at=st.integers(0, len(CONTENT) - 1),
    garbage=st.sampled_from([b"\0", b"\xff", b'"', b"{", b"}", b"\n"]),
    length=st.integers(1, 400),
)
def test_damage_adds_no_tokens(at: int, garbage: bytes, length: int) -> None:
    damaged = CONTENT[:at] + garbage * length + CONTENT[at + length :]

    assert tokens_in(damaged) <= tokens_in(CONTENT)


@given(field=st.sampled_from(FIELDS), value=ANY_JSON)
def test_a_field_of_any_type_costs_itself_alone(field: tuple[str, ...], value: object) -> None:
    line = json.loads(json.dumps(EVENTS[4]))
    holder = line
    for name in field[:-1]:
        holder = holder[name]
    holder[field[-1]] = value

    assert tokens_in(in_lines([line])) >= OUTPUT


@given(value=ANY_JSON.filter(lambda value: not isinstance(value, int | float) or isinstance(value, bool)))
def test_a_count_that_is_no_number_reads_as_absent(value: object) -> None:
    without = {name: count for name, count in USAGE.items() if name != "inputTokens"}
    wrong = event(1, "session.usage_record", {"usage": USAGE | {"inputTokens": value}})

    assert tokens_in(in_lines([wrong])) == tokens_in(
        in_lines([event(1, "session.usage_record", {"usage": without})])
    )

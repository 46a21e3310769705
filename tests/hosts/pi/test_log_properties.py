from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from log_reading import in_lines, read_all, read_in_two, usages_in

from tokeneconomizer.hosts.pi import log


def entry(number: int, kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "id": f"id-{number}", "timestamp": f"2026-01-05T10:00:{number:02}Z"} | fields


def said(number: int, role: str, **fields: object) -> dict[str, object]:
    return entry(number, "message", message={"role": role} | fields)


OUTPUT = 5

USAGE = {"input": 70, "output": OUTPUT, "cacheRead": 20, "cacheWrite": 10}

CALL = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}

ENTRIES = [
    entry(2, "session", cwd="/work/app", parentSession="/sessions/t_s0.jsonl"),
    entry(0, "model_change", modelId="m1", provider="lab"),
    said(1, "assistant", model="m1", usage=USAGE, content=[]),
    said(3, "user", content="g\u00f6 on"),
    said(4, "assistant", model="m2", usage=USAGE, content=[CALL], stopReason="toolUse"),
    said(5, "toolResult", toolCallId="c1", toolName="bash", content=[], isError=False),
    entry(6, "compaction", usage=USAGE, summary="so far"),
    said(7, "assistant", model="m2", usage=USAGE, content=[], stopReason="stop"),
]

CONTENT = in_lines(ENTRIES)

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
    ("timestamp",),
    ("usage",),
    ("message", "model"),
    ("message", "usage", "input"),
    ("message", "usage", "cacheRead"),
]


def tokens_in(content: bytes) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t_s1.jsonl"
        path.write_bytes(content)
        usages = usages_in(read_all(log, path))
    assert len({usage.usage_id for usage in usages}) == len(usages)
    counts = [(usage.input, usage.output, usage.cache_read, usage.cache_write_5m) for usage in usages]
    return sum(tokens or 0 for reply in counts for tokens in reply)


@given(cut=st.integers(0, len(CONTENT)))
def test_a_file_that_is_read_in_two_pieces_tells_the_same(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t_s1.jsonl"
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
    line = json.loads(json.dumps(ENTRIES[4]))
    holder = line
    for name in field[:-1]:
        holder = holder[name]
    holder[field[-1]] = value

    assert tokens_in(in_lines([line])) >= OUTPUT

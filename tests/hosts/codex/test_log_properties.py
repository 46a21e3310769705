from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from codex_rollouts import (
    CHILD,
    CHILDS_TURN,
    PARENT,
    PARENTS_TURN,
    THREAD,
    Line,
    answered,
    asked,
    completed,
    counted,
    event,
    header,
    item,
    line,
    name_of,
    replied,
    tokens,
    turn,
)
from hypothesis import given
from hypothesis import strategies as st
from log_reading import in_lines, read_all, read_in_two, usages_in

from tokeneconomizer.hosts.codex import log
from tokeneconomizer.hosts.log_format import Wanted

ONE, TWO, THREE = tokens(100, 40, 10, 4), tokens(300, 150, 25, 9), tokens(310, 150, 26, 9)

OLD_FORK = [
    header(CHILD, 0, forked_from_id=PARENT),
    header(PARENT, 0),
    *turn(PARENTS_TURN, 0),
    event("user_message", 0, message="the parent's"),
    counted(ONE, ONE, 0),
    *turn(CHILDS_TURN, 3),
    event("user_message", 3, message="g\u00f6 on"),
    asked("c1", "exec_command", '{"cmd": "ls"}'),
    answered("c1", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno"),
    counted(TWO, tokens(200, 110, 15)),
    counted(TWO, tokens(200, 110, 15)),
    line("compacted", 4, message="so far"),
    counted(THREE, tokens(10, 0, 1)),
    event("turn_aborted", 5, turn_id=CHILDS_TURN, reason="interrupted"),
]

NEW_THREAD = [
    header(THREAD, 0),
    *turn(),
    completed("UserMessage", content=[{"type": "text", "text": "go on"}]),
    item("custom_tool_call", name="exec", call_id="c1", input="text(1)"),
    replied("r1", ONE),
    completed("CommandExecution", id="exec-1", command=["ls"], exit_code=2, status="failed"),
    item("custom_tool_call_output", call_id="c1", output=[{"type": "input_text", "text": "1"}]),
    counted(ONE, ONE),
    replied("r2", TWO),
    counted(TWO, TWO),
    event("task_complete", 5),
]

FILES = {CHILD: in_lines(OLD_FORK), THREAD: in_lines(NEW_THREAD)}

either = pytest.mark.parametrize("thread_id", FILES)

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def tokens_in(content: bytes, thread_id: str) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name_of(thread_id)
        path.write_bytes(content)
        usages = usages_in(read_all(log, path))
        assert usages == usages_in(read_all(log, path, Wanted.USAGE))
    assert len({usage.usage_id for usage in usages}) == len(usages)
    counts = [(usage.input, usage.output, usage.cache_read) for usage in usages]
    return sum(count or 0 for reply in counts for count in reply)


@either
@given(data=st.data())
def test_a_file_that_is_read_in_two_pieces_tells_the_same(thread_id: str, data: st.DataObject) -> None:
    content = FILES[thread_id]
    with TemporaryDirectory() as folder:
        path = Path(folder) / name_of(thread_id)
        in_two = read_in_two(log, path, content, data.draw(st.integers(0, len(content))))
        assert in_two == read_all(log, path)


@either
@given(
    data=st.data(),
    garbage=st.sampled_from([b"\0", b"\xff", b'"', b"{", b"}", b"\n", b"g"]),
    length=st.integers(1, 400),
)
def test_damage_adds_no_tokens(thread_id: str, data: st.DataObject, garbage: bytes, length: int) -> None:
    content = FILES[thread_id]
    begin = data.draw(st.integers(0, len(content) - 1))
    damaged = content[:begin] + garbage * length + content[begin + length :]

    assert tokens_in(damaged, thread_id) <= tokens_in(content, thread_id)


def places_in(found: Line, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of each field, however deep."""
    places: list[tuple[str, ...]] = []
    for name, value in found.items():
        places.append((*path, name))
        if isinstance(value, dict):
            places += places_in(value, (*path, name))
    return places


ALL_LINES = [*OLD_FORK, *NEW_THREAD]
PLACES = [(number, place) for number, told in enumerate(ALL_LINES) for place in places_in(told)]


@given(place=st.sampled_from(PLACES), value=ANY_JSON)
def test_a_field_of_any_type_raises_nothing(place: tuple[int, tuple[str, ...]], value: object) -> None:
    number, path = place
    lines = json.loads(json.dumps(ALL_LINES))
    holder = lines[number]
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value

    tokens_in(in_lines(lines), CHILD)


@given(value=ANY_JSON, name=st.sampled_from(["turn_id", "model", "session_id", "cwd", "info", "response_id"]))
def test_a_field_of_any_type_costs_itself_alone(value: object, name: str) -> None:
    told = replied("r1", ONE)
    payload = told["payload"]
    assert isinstance(payload, dict)
    odd = told | {"payload": payload | {name: value}}

    assert tokens_in(in_lines([odd]), THREAD) == tokens_in(in_lines([told]), THREAD)

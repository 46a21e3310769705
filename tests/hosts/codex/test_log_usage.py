from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codex_rollouts import (
    CHILD,
    CHILDS_TURN,
    PARENT,
    PARENTS_TURN,
    THREAD,
    TURN,
    Line,
    at,
    counted,
    event,
    header,
    line,
    name_of,
    replied,
    tokens,
    turn,
)
from log_reading import in_lines, read_all, usages_in

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.codex import log
from tokeneconomizer.hosts.fields import time_of

if TYPE_CHECKING:
    from pathlib import Path


def usages_of(folder: Path, *lines: Line, thread_id: str = THREAD) -> list[UsageRecord]:
    path = folder / name_of(thread_id)
    path.write_bytes(in_lines(lines))
    return usages_in(read_all(log, path))


def outputs_of(folder: Path, *lines: Line, thread_id: str = THREAD) -> list[int | None]:
    return [usage.output for usage in usages_of(folder, *lines, thread_id=thread_id)]


ONE, TWO = tokens(100, 40, 10, 4), tokens(300, 150, 25, 9)


def test_a_reply_is_told_with_its_thread_model_and_place(tmp_path: Path) -> None:
    (usage,) = usages_of(tmp_path, header(), *turn(), replied("r1", ONE | {"cache_write_input_tokens": 20}))

    assert usage == UsageRecord(
        usage_id=f"{THREAD}:r1",
        session_id=THREAD,
        agent_id="",
        project="/work/app",
        at=time_of(at(2)),
        model="m1",
        provider="lab",
        input=40,
        output=10,
        cache_read=40,
        cache_write_5m=20,
        cache_write_1h=None,
        reasoning=4,
    )


@pytest.mark.parametrize(
    ("lines", "outputs"),
    [
        pytest.param([counted(ONE, ONE), counted(TWO)], [10, 15], id="differences"),
        pytest.param([counted(ONE, ONE), counted(ONE, ONE), counted(TWO)], [10, 15], id="a repeat is none"),
        pytest.param([counted(TWO, ONE)], [10], id="what came before is another's"),
        pytest.param([counted(TWO)], [25], id="a total alone"),
        pytest.param([counted(TWO, TWO), counted(ONE, ONE)], [25, 10], id="counts that begin anew"),
        pytest.param([event("token_count", info=None), counted(ONE, ONE)], [10], id="limits without counts"),
        pytest.param([replied("r1", ONE), counted(ONE, ONE)], [10], id="records make counts needless"),
        pytest.param(
            [counted(ONE, ONE), replied("r2", TWO), counted(TWO)], [10, 25], id="updated in mid-session"
        ),
        pytest.param([replied("r1", ONE), replied("r2", ONE)], [10, 10], id="two replies alike"),
        pytest.param([replied("r1", ONE, PARENT)], [], id="another thread's record"),
    ],
)
def test_each_reply_counts_once(tmp_path: Path, lines: list[Line], outputs: list[int]) -> None:
    assert outputs_of(tmp_path, header(), *turn(), *lines) == outputs


def test_what_a_log_does_not_say_is_none(tmp_path: Path) -> None:
    bare = line("session_meta", 0, id=THREAD)
    (usage,) = usages_of(tmp_path, bare, counted({"input_tokens": 5, "output_tokens": 2}))

    assert (usage.input, usage.cache_read, usage.cache_write_5m, usage.reasoning) == (5, None, None, None)
    assert (usage.session_id, usage.model, usage.provider, usage.project) == (THREAD, "", "", "")


def test_a_turn_may_change_the_model(tmp_path: Path) -> None:
    second = turn(TURN, 3, model="m2")
    usages = usages_of(tmp_path, header(), *turn(), counted(ONE, ONE), *second, counted(TWO))

    assert [usage.model for usage in usages] == ["m1", "m2"]


SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "explorer"}}}


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"session_id": PARENT, "parent_thread_id": PARENT}, id="since 0.164"),
        pytest.param({"source": SPAWNED}, id="before"),
    ],
)
def test_a_sub_agents_tokens_are_its_sessions(tmp_path: Path, told: Line) -> None:
    (usage,) = usages_of(
        tmp_path, header(CHILD, **told), *turn(CHILDS_TURN), counted(ONE, ONE), thread_id=CHILD
    )

    assert (usage.session_id, usage.agent_id) == (PARENT, CHILD)


COPIES = [header(PARENT, 0), *turn(PARENTS_TURN, 0), counted(ONE, ONE, 0)]
"""A parent's lines, with the time of copying."""

OLD_COPIES = [header(PARENT, 0), line("turn_context", 0, model="m0"), counted(ONE, ONE, 0)]
"""Before 0.110 a turn had no id."""

OWN = [*turn(CHILDS_TURN, 0), counted(TWO, second=0)]
"""A sub-agent begins in the second in which it is made."""


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([header(CHILD, 0), *COPIES, *OWN], id="a fork that names no parent"),
        pytest.param([header(CHILD, 0, forked_from_id=PARENT), *COPIES, *OWN], id="a fork"),
        pytest.param([header(CHILD, 0, forked_from_id=PARENT), *COPIES[1:], *OWN], id="without its header"),
        pytest.param([*COPIES, *OWN], id="its own header is lost"),
        pytest.param(
            [header(CHILD, 0), *OLD_COPIES, line("turn_context", 9, model="m1"), counted(TWO, second=9)],
            id="turns without ids",
        ),
        pytest.param(
            [
                header(CHILD, 0, subagent_history_start_ordinal=4),
                *({**copy, "ordinal": number} for number, copy in enumerate(OLD_COPIES, start=1)),
                *({**own, "ordinal": 4} for own in OWN),
            ],
            id="the header says where",
        ),
        pytest.param(
            [
                header(CHILD, 0, forked_from_id=PARENT, history_base={"thread_id": PARENT}),
                *OWN[:-1],
                counted(TWO, tokens(200, 110, 15)),
            ],
            id="nothing is copied",
        ),
    ],
)
def test_a_copied_history_costs_nothing(tmp_path: Path, lines: list[Line]) -> None:
    (usage,) = usages_of(tmp_path, *lines, thread_id=CHILD)

    assert (usage.input, usage.output, usage.cache_read, usage.model) == (90, 15, 110, "m1")


def test_a_moved_file_tells_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / "sessions", tmp_path / "archived_sessions"]
    for folder in folders:
        folder.mkdir()
    live, archived = (usages_of(folder, header(), *turn(), counted(ONE, ONE)) for folder in folders)

    assert live == archived

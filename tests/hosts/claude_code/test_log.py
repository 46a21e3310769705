"""Claude Code's log files: where they lie, and how they are read while they grow."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from claude_code_lines import asks, at, line, result, says, user
from hypothesis import given
from hypothesis import strategies as st
from log_reading import in_lines, read_all, read_in_two, usages_in

from tokeneconomizer.domain.usage_totals import totals
from tokeneconomizer.hosts.claude_code import log
from tokeneconomizer.hosts.log_format import AgentHomes, Wanted
from tokeneconomizer.hosts.records import LoggedUsage, SkippedLine

USAGE = {"input_tokens": 3, "output_tokens": 40}

LINES = [
    line("queue-operation", operation="enqueue", timestamp=at(10)),
    user("g\u00f6 on", promptId="p0", timestamp=at(1)),
    says("an answer", "m0", usage=USAGE, timestamp=at(2)),
    user("and now", promptId="p1", timestamp=at(11)),
    asks("a", "m1", usage=USAGE, timestamp=at(12)),
    asks("b", "m1", tool="Agent", usage=USAGE | {"output_tokens": 45}, timestamp=at(13)),
    result("a", timestamp=at(14), cwd="/work/app/src"),
    result("b", timestamp=at(15), toolUseResult={"agentId": "a7", "status": "async_launched"}),
    line("system", subtype="compact_boundary", uuid="u1", compactMetadata={"preTokens": 9}, timestamp=at(16)),
    user("a summary", isCompactSummary=True, timestamp=at(17)),
    user("<task-notification>\n<task-id>a7</task-id>", timestamp=at(18)),
    says("done", "m2", usage=USAGE | {"cache_read_input_tokens": 7}, timestamp=at(19), cwd="/work/app/src"),
    line("cost-state", startTime=0, modelUsage={"m": {"inputTokens": 9, "outputTokens": 125}}),
    says("and on", "m3", usage=USAGE, timestamp=at(20)),
    line("system", subtype="compact_boundary", uuid="u2", timestamp=at(21)),
    line("cost-state", startTime=0, modelUsage={"m": {"inputTokens": 99, "outputTokens": 175}}),
]
"""A fork that goes on: replies of 40, 45, 40 and 40 tokens, and a compaction of 10."""

CONTENT = in_lines(LINES)

PROJECT = "projects/-work-app"


def written(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT)


def found(homes: AgentHomes) -> list[str]:
    return [str(Path(file.path).relative_to(homes.home)) for file in log.files(homes)]


def test_sessions_and_their_sub_agents_are_found_in_both_usual_places(tmp_path: Path) -> None:
    names = [
        f".claude/{PROJECT}/s1.jsonl",
        f".claude/{PROJECT}/s1/subagents/agent-a7.jsonl",
        f".config/claude/{PROJECT}/s2.jsonl",
    ]
    written(
        tmp_path, *names, f".claude/{PROJECT}/s1/tool-results/r.jsonl", f".claude/{PROJECT}/s1/notes.json"
    )

    assert found(AgentHomes(tmp_path)) == names


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CLAUDE_CONFIG_DIR": "{home}/moved"}, ["moved"]),
        ({"CLAUDE_CONFIG_DIR": "{home}/moved, {home}/moved, {home}/xdg/claude"}, ["moved", "xdg/claude"]),
        ({"CLAUDE_CONFIG_DIR": " ", "XDG_CONFIG_HOME": "{home}/xdg"}, [".claude", "xdg/claude"]),
        ({"CLAUDE_CONFIG_DIR": "{home}/never used"}, []),
    ],
)
def test_variables_move_the_folder(tmp_path: Path, variables: dict[str, str], expected: list[str]) -> None:
    written(tmp_path, *(f"{folder}/{PROJECT}/s1.jsonl" for folder in (".claude", "moved", "xdg/claude")))
    environment = {name: value.format(home=tmp_path) for name, value in variables.items()}

    assert found(AgentHomes(tmp_path, environment)) == [f"{folder}/{PROJECT}/s1.jsonl" for folder in expected]


def test_a_folder_that_two_paths_lead_to_is_read_once(tmp_path: Path) -> None:
    written(tmp_path, f".claude/{PROJECT}/s1.jsonl")
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "claude").symlink_to(tmp_path / ".claude")

    assert found(AgentHomes(tmp_path)) == [f".claude/{PROJECT}/s1.jsonl"]


def test_a_mark_tells_whether_there_is_more_to_read(tmp_path: Path) -> None:
    written(tmp_path, "s1.jsonl")
    file = log.file_at(tmp_path / "s1.jsonl")
    before = log.mark(file)
    (tmp_path / "s1.jsonl").write_bytes(CONTENT + b"\n")

    assert before == before.strip() != log.mark(file)


def test_tokens_alone_are_those_of_the_whole_reading(tmp_path: Path) -> None:
    written(tmp_path, "s1.jsonl")
    everything = read_all(log, tmp_path / "s1.jsonl")

    assert read_all(log, tmp_path / "s1.jsonl", Wanted.USAGE) == [
        record for record in everything if isinstance(record, LoggedUsage)
    ]


@given(cut=st.integers(0, len(CONTENT)))
def test_a_file_that_is_read_in_two_pieces_tells_the_same(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        in_two = read_in_two(log, path, CONTENT, cut)
        assert in_two == read_all(log, path)


def counted(*contents: bytes) -> dict[str, int]:
    """Return the output tokens of each session."""
    with TemporaryDirectory() as folder:
        usages = []
        for number, content in enumerate(contents):
            path = Path(folder) / f"f{number}.jsonl"
            path.write_bytes(content)
            usages += usages_in(read_all(log, path, Wanted.USAGE))
    sessions = totals({log.NAME: usages}, None).sessions
    return {one.session_id: sum(tokens.output or 0 for tokens in one.models.values()) for one in sessions}


ORIGINAL = in_lines(
    [
        one | {"sessionId": "s9"}
        for one in (user("go", timestamp=at(1)), says("x", "m0", usage=USAGE, timestamp=at(2)))
    ]
)


@given(order=st.permutations([CONTENT, CONTENT, ORIGINAL, ORIGINAL]))
def test_files_in_any_order_and_twice_count_each_reply_for_the_session_that_paid(order: list[bytes]) -> None:
    assert counted(*order) == {"s1": 135, "s9": 40}


def test_a_fork_whose_original_is_gone_keeps_its_tokens() -> None:
    assert counted(CONTENT) == {"s1": 175}


@given(
    position=st.integers(0, len(CONTENT) - 1),
    garbage=st.sampled_from([b"\0", b"\xff", b'"', b"{", b"}", b"\n", b"\\"]),
    seed=st.integers(0, 9),
)
def test_damage_never_raises_and_never_adds_tokens(position: int, garbage: bytes, seed: int) -> None:
    length = random.Random(seed).randrange(1, 400)  # noqa: S311 - no secret
    spliced = CONTENT[:position] + garbage * seed + CONTENT[position + length :]

    assert sum(counted(spliced).values()) <= 175


def test_a_line_with_half_a_character_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(CONTENT.replace(b"an answer", b"an \\ud83d"))

    assert len(usages_in(read_all(log, path))) == len(usages_in(read_all(log, path, Wanted.USAGE))) == 6


def test_what_follows_a_cut_on_its_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    first, *_, last = in_lines(LINES[:12]).splitlines(keepends=True)
    path.write_bytes(first[:40] + last)

    skipped, *others = read_all(log, path)
    assert skipped == SkippedLine(1, 1)
    assert [usage.usage_id for usage in usages_in(others)] == ["m2"]

"""The contract's smoke cases, and what may never happen: a zero, a guess, an invented kind."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from context_files import FakeContextFiles
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting import (
    ContextAccountingEntry,
    ToolInvocationAccumulator,
    ToolInvocationRecord,
    TurnOfRuntime,
    collect_auto_invoke_snapshot,
)
from tokeneconomizer.domain.accounting.skills import Root
from tokeneconomizer.domain.accounting.snapshot import KINDS, PRODUCERS, Kind
from tokeneconomizer.domain.errors import BadAccounting

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKSPACE = "/home/dev/project"
HOME = "/home/dev"
ROOTS = {Root.HOME: HOME, Root.CLAUDE: f"{HOME}/.claude", Root.CODEX: f"{HOME}/.codex"}
RULES = {f"{WORKSPACE}/CLAUDE.md": b"x" * 370}
RULES_ENTRY = {"tokens": 93, "source": "workspace/CLAUDE.md", "detail": "CLAUDE.md"}
NOT_COUNTED = ["system_prompt", "memory", "files_attachments"]
SKILL = b"---\nname: humanizer-zh\ndescription: Makes a text sound human.\n---\n" + b"x" * 934
SKILL_PATH = f"{WORKSPACE}/.claude/skills/humanizer-zh/SKILL.md"
SKILL_ENTRY = {
    "tokens": 250,
    "source": "workspace/.claude/skills/humanizer-zh/SKILL.md",
    "detail": "humanizer-zh",
}


def calls(*given: tuple[str, object, str | None]) -> tuple[ToolInvocationRecord, ...]:
    ids = count()
    return tuple(ToolInvocationRecord(str(next(ids)), *call) for call in given)


def collected(
    records: Sequence[ToolInvocationRecord] = (),
    files: dict[str, bytes] | None = None,
    produced_by: str = "claude_code",
    **options: object,
) -> dict[str, object]:
    turn = TurnOfRuntime(WORKSPACE, produced_by, **options)  # type: ignore[arg-type]
    found = FakeContextFiles(RULES if files is None else files, ROOTS)
    return collect_auto_invoke_snapshot(records, turn, found).to_json()


def test_a_turn_without_calls_has_its_rules_alone() -> None:
    assert collected() == {
        "entries": {"rules": RULES_ENTRY},
        "unsupported": NOT_COUNTED,
        "producedBy": "claude_code",
    }


def test_one_shell_call_is_counted_with_its_input_and_result() -> None:
    records = calls(("Bash", {"command": "ls -la", "description": "x" * 62}, "y" * 91))
    assert collected(records)["entries"] == {
        "rules": RULES_ENTRY,
        "tools": {"tokens": 48, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
    }


def test_calls_are_summed_by_tool_for_a_runtime_of_its_own() -> None:
    # Five calls: one with 3,236 units, four with the four of `{}` and a result of two.
    rest: list[tuple[str, object, str | None]] = [
        ("Bash", {}, "ok"),
        ("Read", {}, "ok"),
        ("Bash", {}, "ok"),
        ("Read", {}, "ok"),
    ]
    records = calls(("Bash", {}, "x" * 3_234), *rest)
    assert collected(records, produced_by="codepilot_runtime") == {
        "entries": {
            "rules": RULES_ENTRY,
            "tools": {
                "tokens": 813,
                "source": "tool_use/tool/Bash + tool_use/tool/Read",
                "detail": "Bash × 3, Read × 2",
            },
        },
        "unsupported": NOT_COUNTED,
        "producedBy": "codepilot_runtime",
    }


def test_the_backend_of_a_runtime_is_handed_through() -> None:
    records = calls(("Bash", {"command": "make"}, "x" * 8_228))
    found = collected(records, produced_by="codex_runtime", provider_backend="codepilot_proxy")
    assert found == {
        "entries": {
            "rules": RULES_ENTRY,
            "tools": {"tokens": 2_062, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
        },
        "unsupported": NOT_COUNTED,
        "producedBy": "codex_runtime",
        "providerBackend": "codepilot_proxy",
    }


def test_a_message_with_tools_servers_and_a_skill_has_all_three() -> None:
    records = calls(
        ("Bash", {"command": "ls"}, "README.md"),
        ("mcp__codepilot-widget__load_guidelines", {}, "x" * 38),
        ("mcp__codepilot-memory__recent", {}, None),
        ("Bash", {"command": "pwd"}, WORKSPACE),
        ("Skill", {"skill": "humanizer-zh"}, "Launching skill"),
    )
    assert collected(records, RULES | {SKILL_PATH: SKILL})["entries"] == {
        "rules": RULES_ENTRY,
        "skills": SKILL_ENTRY,
        "mcp": {
            "tokens": 11,
            "source": "tool_use/mcp/codepilot-memory + tool_use/mcp/codepilot-widget",
            "detail": "codepilot-memory × 1, codepilot-widget × 1",
        },
        "tools": {"tokens": 7 + 9, "source": "tool_use/tool/Bash", "detail": "Bash × 2"},
    }


@pytest.mark.parametrize("picked", ["humanizer-zh", "/humanizer-zh", " /HUMANIZER-zh"])
def test_a_skill_picked_by_hand_shows_without_any_call(picked: str) -> None:
    found = collected((), RULES | {SKILL_PATH: SKILL}, selected_skills=[picked])
    assert found["entries"] == {"rules": RULES_ENTRY, "skills": SKILL_ENTRY}


def test_a_skill_that_is_picked_and_called_counts_once() -> None:
    records = calls(("Skill", {"skill": "Humanizer-ZH"}, None), ("Skill", {"skill": "humanizer-zh"}, None))
    found = collected(records, {SKILL_PATH: SKILL}, selected_skills=["/humanizer-zh"])
    assert found["entries"] == {"skills": SKILL_ENTRY}


@pytest.mark.parametrize("named", [{"skill": "unheard-of"}, {"skill": " / "}, {}, None, "humanizer-zh"])
def test_a_skill_that_is_unknown_or_not_named_has_no_entry(named: object) -> None:
    assert collected(calls(("Skill", named, "done")), {SKILL_PATH: SKILL})["entries"] == {}


def test_an_empty_file_is_not_counted_as_nothing() -> None:
    files = {f"{WORKSPACE}/CLAUDE.md": b"", SKILL_PATH: b""}
    assert collected((), files, selected_skills=["humanizer-zh"])["entries"] == {}


def test_several_skills_are_joined_in_order_of_their_names() -> None:
    outside = f"{HOME}/.claude/skills/zeta/SKILL.md"
    files = {SKILL_PATH: SKILL, outside: b"12345"}
    found = collected((), files, selected_skills=["zeta", "humanizer-zh"])
    assert found["entries"] == {
        "skills": {
            "tokens": 252,
            "source": f"{outside} + workspace/.claude/skills/humanizer-zh/SKILL.md",
            "detail": "humanizer-zh, zeta",
        }
    }


@pytest.mark.parametrize(
    ("rules_files", "entry"),
    [
        (["AGENTS.md"], {"tokens": 2, "source": "workspace/AGENTS.md", "detail": "AGENTS.md"}),
        (
            ["CLAUDE.md", "AGENTS.md", "./CLAUDE.md", "missing.md"],
            {
                "tokens": 95,
                "source": "workspace/AGENTS.md + workspace/CLAUDE.md",
                "detail": "AGENTS.md, CLAUDE.md",
            },
        ),
        (
            ["CLAUDE.md", f"{HOME}/.claude/CLAUDE.md"],
            {
                "tokens": 94,
                "source": f"{HOME}/.claude/CLAUDE.md + workspace/CLAUDE.md",
                "detail": "CLAUDE.md",
            },
        ),
        (["../shared.md"], {"tokens": 1, "source": "/home/dev/shared.md", "detail": "shared.md"}),
        ([], None),
    ],
)
def test_rules_are_the_files_that_the_runtime_names(
    rules_files: list[str], entry: dict[str, object] | None
) -> None:
    files = RULES | {
        f"{WORKSPACE}/AGENTS.md": b"12345",
        f"{HOME}/.claude/CLAUDE.md": b"1",
        "/home/dev/shared.md": b"1234",
    }
    assert collected((), files, rules_files=rules_files)["entries"] == ({"rules": entry} if entry else {})


def test_what_a_runtime_cannot_count_has_no_entry() -> None:
    found = collected(calls(("Bash", {}, "ok")), unsupported=["tools", "memory"])
    assert (found["entries"], found["unsupported"]) == ({"rules": RULES_ENTRY}, ["tools", "memory"])


def test_what_a_runtime_counts_for_real_beats_the_estimate() -> None:
    told = {Kind.SYSTEM_PROMPT: ContextAccountingEntry(3_100, "log/request")}
    found = collected(calls(("Bash", {}, "ok")), {}, counted=told)
    assert found["unsupported"] == ["memory", "files_attachments"]
    assert found["entries"] == {
        "system_prompt": {"tokens": 3_100, "source": "log/request"},
        "tools": {"tokens": 1, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
    }


@pytest.mark.parametrize("produced_by", ["native", "", "Claude_Code", "codex_account"])
def test_a_runtime_that_is_none_of_the_contract_is_refused_in_words(produced_by: str) -> None:
    with pytest.raises(BadAccounting, match=r"give one of claude_code.*providerBackend"):
        collected((), produced_by=produced_by)


def test_a_kind_that_is_none_of_the_contract_is_refused_in_words() -> None:
    with pytest.raises(BadAccounting, match="'conversation' is no kind of context"):
        collected((), unsupported=["conversation"])


@pytest.mark.parametrize(("tokens", "source"), [(0, "x"), (-1, "x"), (3, "")])
def test_an_entry_without_tokens_or_source_cannot_be_made(tokens: int, source: str) -> None:
    with pytest.raises(BadAccounting):
        ContextAccountingEntry(tokens, source)


USES = st.tuples(
    st.sampled_from(["Bash", "Read", "Skill", "mcp__a__x", "mcp____x", "mcp__b__y"]),
    st.sampled_from([{}, {"skill": "humanizer-zh"}, {"skill": "nobody"}, {"n": 1.5}]),
    st.none() | st.text(max_size=9),
)


@given(st.lists(USES, max_size=8), st.sampled_from(PRODUCERS), st.data())
def test_any_order_of_calls_gives_the_same_snapshot_without_zero_and_invention(
    uses: list[tuple[str, object, str | None]], produced_by: str, data: st.DataObject
) -> None:
    records = calls(*uses)
    snapshots = []
    for order in (records, data.draw(st.permutations(records))):
        turn = ToolInvocationAccumulator()
        for record in order:
            turn.record_tool_use(record.tool_use_id, record.tool_name, record.input)
        for record in reversed(order):
            if record.result_content is not None:
                turn.record_tool_result(record.tool_use_id, record.result_content)
        snapshots.append(collected(turn.drain(), RULES | {SKILL_PATH: SKILL}, produced_by))
    entries = snapshots[0]["entries"]
    assert isinstance(entries, dict)
    assert snapshots[0] == snapshots[1]
    assert list(entries) == [kind for kind in KINDS if kind in entries]
    assert set(entries) <= {"rules", "skills", "mcp", "tools"}
    assert all(entry["tokens"] > 0 and entry["source"] and entry["detail"] for entry in entries.values())

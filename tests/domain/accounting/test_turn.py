"""The snapshot of a live turn: made at its end, from its stored events alone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from context_files import FakeContextFiles
from sessions import MAIN, START, Telling, edit, shell

from tokeneconomizer.domain.accounting.rules import RulesFiles
from tokeneconomizer.domain.accounting.skills import Root
from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext
from tokeneconomizer.domain.accounting.turn import NAMES_COUNTED_MAX, Accounting, Runtime
from tokeneconomizer.domain.commands import EndSession, EndTurn, SessionKey, StartSession
from tokeneconomizer.domain.digests import Call, CallKind
from tokeneconomizer.domain.ending import account_again, archive_silent
from tokeneconomizer.domain.handle import Rules

if TYPE_CHECKING:
    from tokeneconomizer.domain.session import Session

WORKSPACE = "/home/dev/project"
SKILL_PATH = f"{WORKSPACE}/.claude/skills/release/SKILL.md"
FILES = FakeContextFiles(
    {f"{WORKSPACE}/CLAUDE.md": b"x" * 370, SKILL_PATH: b"---\nname: Release\n---\n" + b"x" * 20},
    {Root.CLAUDE: "/home/dev/.claude"},
)
RULES = RulesFiles(in_workspace=(("CLAUDE.md",),))
ACCOUNTING = Accounting({"claude_code": Runtime("claude_code", RULES)}, FILES)
RULES_ENTRY = {"tokens": 93, "source": "workspace/CLAUDE.md", "detail": "CLAUDE.md"}
NOT_IN_CALLS = ["system_prompt", "memory", "files_attachments"]


def telling(key: SessionKey = MAIN) -> Telling:
    return Telling(key, Rules(accounting=ACCOUNTING))


def tool(name: str, arguments: dict[str, object], output: str = "") -> Call:
    return replace(shell(""), tool=name, kind=CallKind.OTHER, arguments=arguments, command="", output=output)


def snapshots(told: Telling) -> list[dict[str, object]]:
    return [json.loads(str(vars(event)["snapshot"])) for event in told.of("context_accounted")]


def test_a_turn_is_accounted_right_after_its_end_in_the_same_save() -> None:
    told = telling()
    told.prompt()
    told.step(shell("ls", "README.md"))
    outcome = told.stop()
    ended, accounted = told.events[-2:]
    assert (ended.TOPIC, accounted.TOPIC) == ("session.turn_ended", "session.context_accounted")
    assert ended.delivery_id == accounted.delivery_id
    assert outcome.dropped == ""
    assert snapshots(told) == [
        {
            "entries": {
                "rules": RULES_ENTRY,
                "tools": {"tokens": 7, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
            },
            "unsupported": NOT_IN_CALLS,
            "producedBy": "claude_code",
        }
    ]


def test_each_turn_has_a_snapshot_of_its_own() -> None:
    told = telling()
    told.prompt("hello")
    told.prompt("again")
    told.step(tool("mcp__memory__recent", {}, "x" * 6), tool("Skill", {"skill": "/release"}, "Launching"))
    told.step(shell("ls", "é😀"), shell("ls", "abc"))
    told.stop()
    first, second = snapshots(told)
    assert first["entries"] == {"rules": RULES_ENTRY}
    assert second["entries"] == {
        "rules": RULES_ENTRY,
        "skills": {
            "tokens": 11,
            "source": "workspace/.claude/skills/release/SKILL.md",
            "detail": "Release",
        },
        "mcp": {"tokens": 2, "source": "tool_use/mcp/memory", "detail": "memory × 1"},
        "tools": {"tokens": 10, "source": "tool_use/tool/Bash", "detail": "Bash × 2"},
    }


def test_a_restart_in_the_middle_of_a_turn_changes_nothing() -> None:
    told = telling()
    told.prompt()
    told.step(shell("ls", "README.md"))
    replayed: Session | None = None
    for event in told.events:
        replayed = event.mutate(replayed)
    told.session = replayed
    told.step(shell("pwd", WORKSPACE))
    told.stop()
    (found,) = snapshots(told)
    entries = found["entries"]
    assert isinstance(entries, dict)
    assert entries["tools"]["detail"] == "Bash × 2"


def test_calls_of_a_turn_whose_beginning_was_not_seen_are_unsupported() -> None:
    told = telling()
    told.step(shell("ls", "README.md"))
    told.stop()
    told.prompt()
    told.step(shell("ls", "README.md"))
    told.stop()
    unseen, seen = snapshots(told)
    assert unseen["entries"] == {"rules": RULES_ENTRY}
    assert unseen["unsupported"] == ["system_prompt", "tools", "skills", "mcp", "memory", "files_attachments"]
    assert seen["unsupported"] == NOT_IN_CALLS


@pytest.mark.parametrize(("start_is_seen", "tools_are_counted"), [(True, True), (False, False)])
def test_a_sub_agent_has_no_prompt_and_its_rules_are_not_known(
    start_is_seen: bool, tools_are_counted: bool
) -> None:
    told = telling(SessionKey("claude_code", "session-1", "agent-1"))
    if start_is_seen:
        told.tell(StartSession("sub_agent", agent_type="Explore"))
    told.step(shell("ls", "README.md"))
    told.tell(EndSession("stop"))
    (found,) = snapshots(told)
    entries, unsupported = found["entries"], found["unsupported"]
    assert isinstance(entries, dict)
    assert isinstance(unsupported, list)
    assert ("tools" in entries, "tools" in unsupported) == (tools_are_counted, not tools_are_counted)
    assert "rules" in unsupported
    assert "rules" not in entries


def test_calls_that_never_ran_entered_the_context_as_well() -> None:
    told = telling()
    told.prompt()
    told.step(edit("a", "b", error="The user denied it."))
    told.stop()
    (found,) = snapshots(told)
    entries = found["entries"]
    assert isinstance(entries, dict)
    assert entries["tools"] == {"tokens": 14, "source": "tool_use/tool/Edit", "detail": "Edit × 1"}


@pytest.mark.parametrize(
    ("names", "are_counted"), [(NAMES_COUNTED_MAX, True), (NAMES_COUNTED_MAX + 1, False)]
)
def test_more_names_than_a_turn_remembers_are_not_counted_in_part(names: int, are_counted: bool) -> None:
    told = telling()
    told.prompt()
    for first in range(0, names, 64):
        told.step(*(tool(f"Tool{number}", {}) for number in range(first, min(first + 64, names))))
    told.step(tool("Tool0", {}))
    told.stop()
    (found,) = snapshots(told)
    entries, unsupported = found["entries"], found["unsupported"]
    assert isinstance(entries, dict)
    assert isinstance(unsupported, list)
    assert ("tools" in entries, "tools" in unsupported) == (are_counted, not are_counted)
    assert not are_counted or entries["tools"]["tokens"] == names + 1


def test_an_archived_session_has_its_open_turn_accounted() -> None:
    told = telling()
    told.prompt()
    assert told.session is not None
    archive_silent(told.session, told.at, ACCOUNTING)
    topics = [event.TOPIC for event in told.session.collect_events() if hasattr(event, "TOPIC")]
    assert topics == ["session.turn_ended", "session.context_accounted", "session.archived"]


def test_an_agent_that_supplies_nothing_is_not_accounted() -> None:
    told = telling(SessionKey("another_agent", "session-1"))
    told.prompt()
    told.stop()
    assert told.of("context_accounted") == []


def test_secrets_in_foreign_names_are_not_stored() -> None:
    token = "ghp_" + "a1B2" * 9
    told = telling()
    told.prompt()
    told.step(tool(f"mcp__{token}__x", {}))
    told.stop()
    assert token not in json.dumps(snapshots(told))


@pytest.mark.parametrize(
    ("told_by_log", "prompt_source", "entry"),
    [
        (ToldContext(prompt_characters=401), "log/request", {"tokens": 101, "source": "log/request"}),
        (ToldContext(prompt_characters=401), "", None),
        (NOTHING_TOLD, "log/request", None),
    ],
)
def test_what_a_request_begins_with_is_the_system_prompt_where_the_log_shows_it(
    told_by_log: ToldContext, prompt_source: str, entry: dict[str, object] | None
) -> None:
    runtime = Runtime("claude_code", RULES, prompt_source)
    told = Telling(rules=Rules(accounting=Accounting({"claude_code": runtime}, FILES, told_by_log)))
    told.prompt()
    told.stop()
    (found,) = snapshots(told)
    entries, unsupported = found["entries"], found["unsupported"]
    assert isinstance(entries, dict)
    assert isinstance(unsupported, list)
    assert entries.get("system_prompt") == entry
    assert ("system_prompt" in unsupported) == (entry is None)


def test_what_the_agent_says_of_its_context_is_stored_with_the_turn() -> None:
    said = ToldContext("openai", 27_300, 200_000)
    told = Telling(rules=Rules(accounting=replace(ACCOUNTING, told=said)))
    told.prompt()
    told.stop()
    (event,) = told.of("context_accounted")
    assert (vars(event)["used_tokens"], vars(event)["window_tokens"]) == (27_300, 200_000)
    assert snapshots(told)[0]["providerBackend"] == "openai"


@pytest.mark.parametrize(
    ("changed", "unsupported"),
    [
        ((), NOT_IN_CALLS),
        (("CLAUDE.md",), ["system_prompt", "rules", "memory", "files_attachments"]),
        ((".claude/skills/release/SKILL.md",), ["system_prompt", "skills", "memory", "files_attachments"]),
        (None, ["system_prompt", "rules", "skills", "memory", "files_attachments"]),
    ],
    ids=["nothing", "rules", "skill", "no checkout"],
)
def test_files_that_were_changed_since_a_turn_of_the_past_tell_nothing_of_it(
    changed: tuple[str, ...] | None, unsupported: list[str]
) -> None:
    files = FilesOfToday({} if changed is None else FILES.files, FILES.roots)
    files.changed = {f"{WORKSPACE}/{name}" for name in changed or ()}
    accounting = replace(ACCOUNTING, files=files, as_of=START + timedelta(hours=1))
    told = Telling(rules=Rules(accounting=accounting))
    told.prompt()
    told.step(tool("Skill", {"skill": "release"}))
    told.stop()
    assert snapshots(told)[0]["unsupported"] == unsupported


class FilesOfToday(FakeContextFiles):
    """Files of which some were changed a moment ago."""

    changed: set[str]

    def modified_at(self, path: str) -> float | None:
        found = super().modified_at(path)
        return (START + timedelta(days=1)).timestamp() if path in self.changed else found


def test_a_turn_is_accounted_again_only_where_that_comes_to_something_else() -> None:
    told = telling()
    told.prompt()
    told.stop()
    session = told.session
    assert session is not None
    for number, accounting in enumerate((ACCOUNTING, *[replace(ACCOUNTING, told=ToldContext("openai"))] * 2)):
        account_again(session, 1, told.at, accounting, told.events)
        told.events += session.collect_events()  # type: ignore[arg-type]
        assert len(told.of("context_accounted")) == min(number, 1) + 1


def test_rules_stay_as_they_were_measured_when_a_turn_is_accounted_again() -> None:
    told = telling()
    told.prompt()
    told.stop()
    session = told.session
    assert session is not None
    grown = FakeContextFiles({f"{WORKSPACE}/CLAUDE.md": b"x" * 4_000})
    accounting = replace(ACCOUNTING, files=grown, told=ToldContext("openai"))
    account_again(session, 1, told.at, accounting, told.events)
    told.events += session.collect_events()  # type: ignore[arg-type]
    before, after = snapshots(told)
    assert before["entries"] == after["entries"] == {"rules": RULES_ENTRY}


@pytest.mark.parametrize(
    ("from_log", "window"),
    [
        (ToldContext("openai"), (900, 128_000)),
        (ToldContext("openai", used_tokens=950), (950, 128_000)),
        (ToldContext("openai", used_tokens=1, window_tokens=2), (1, 2)),
    ],
)
def test_what_the_agent_told_of_its_window_stays_where_its_log_does_not(
    from_log: ToldContext, window: tuple[int, int]
) -> None:
    told = telling()
    told.prompt()
    told.tell(EndTurn("stop", ToldContext(used_tokens=900, window_tokens=128_000)))
    session = told.session
    assert session is not None
    account_again(session, 1, told.at, replace(ACCOUNTING, told=from_log), told.events)
    told.events += session.collect_events()  # type: ignore[arg-type]
    first, again = (vars(event) for event in told.of("context_accounted"))
    assert (first["used_tokens"], first["window_tokens"]) == (900, 128_000)
    assert (again["used_tokens"], again["window_tokens"]) == window

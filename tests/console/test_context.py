from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from console_runs import COMMAND, keep, te, te_in_terminal
from context_files import FakeContextFiles
from context_fixtures import CONTEXTS, SNAPSHOT, breakdown_of
from sessions import Telling, shell

from tokeneconomizer.console.commands.context import command
from tokeneconomizer.domain.accounting.turn import Accounting, Runtime
from tokeneconomizer.domain.errors import BadAccounting
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.domain.usage import Usage
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

WORKSPACE = "/home/dev/project"
ACCOUNTING = Accounting(
    {"claude_code": Runtime("claude_code", ("CLAUDE.md",))},
    FakeContextFiles({f"{WORKSPACE}/CLAUDE.md": b"x" * 370}),
)
CALL = {"toolUseId": "1", "toolName": "Bash", "input": {"command": "ls"}, "resultContent": "abc"}


def invoked(arguments: str, given: object) -> Result:
    text = given if isinstance(given, str) else json.dumps(given)
    return CliRunner().invoke(command, arguments.split(), input=text)


def answer(arguments: str, given: object) -> dict[str, object]:
    done = invoked(arguments, given)
    assert done.exit_code == 0, done.exception
    found: dict[str, object] = json.loads(done.stdout)
    return found


def told_session() -> Telling:
    """A session with one accounted turn: rules, and a call of seven tokens."""
    told = Telling(rules=Rules(accounting=ACCOUNTING))
    told.start()
    told.prompt()
    told.step(shell("ls", "README.md"))
    told.stop()
    return told


def keep_usage(home: Home, told: Telling) -> None:
    """Store the usage of a reply within the session's only turn."""
    fields = dict.fromkeys(("cache_write_5m_tokens", "cache_write_1h_tokens", "reasoning_tokens"))
    usage = Usage._create(  # noqa: SLF001 - the library's way
        Usage.Created,
        id=Usage.create_id("claude_code", "session-1"),
        timestamp=told.at,
        host="claude_code",
        session_id="session-1",
        repository="",
    )
    usage.trigger_event(
        Usage.Recorded,
        timestamp=told.at,
        message_id="m",
        model="opus",
        provider="",
        input_tokens=20_000,
        output_tokens=1_000,
        cache_read_tokens=7_000,
        sub_agent="",
        **fields,
    )
    store = EventStore(home.events, home.key())
    store.save(usage)
    store.close()


# `te context collect`


def test_a_snapshot_is_made_from_records_and_the_files_that_are_there(home: Home, tmp_path: Path) -> None:
    skill = tmp_path / ".claude/skills/release/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: Release\n---\n")
    (tmp_path / "CLAUDE.md").write_text("x" * 370)
    given = {
        "workspacePath": f"{tmp_path}/",
        "records": [
            CALL,
            CALL,
            {"toolUseId": "2", "toolName": "mcp__a__b", "input": {}, "resultContent": None},
        ],
        "producedBy": "codex_runtime",
        "providerBackend": "codepilot_proxy",
        "selectedSkills": ["/RELEASE"],
    }
    assert home.root.exists() is False
    assert answer("collect", given) == {
        "entries": {
            "tools": {"tokens": 5, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
            "rules": {"tokens": 93, "source": "workspace/CLAUDE.md", "detail": "CLAUDE.md"},
            "skills": {
                "tokens": 6,
                "source": "workspace/.claude/skills/release/SKILL.md",
                "detail": "Release",
            },
            "mcp": {"tokens": 1, "source": "tool_use/mcp/a", "detail": "a × 1"},
        },
        "unsupported": ["system_prompt", "memory", "files_attachments"],
        "producedBy": "codex_runtime",
        "providerBackend": "codepilot_proxy",
    }


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "options", [{}, {"providerBackend": None, "selectedSkills": None, "unsupported": None}]
)
def test_what_may_be_left_out_may_be_null(tmp_path: Path, options: dict[str, object]) -> None:
    found = answer("collect", {"workspacePath": str(tmp_path), "records": [], "producedBy": "pi"} | options)
    assert found == {
        "entries": {},
        "unsupported": ["system_prompt", "memory", "files_attachments"],
        "producedBy": "pi",
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"producedBy": "native"}, "producedBy is 'native': give one of claude_code"),
        ({"producedBy": None}, "producedBy is None"),
        ({"workspacePath": ""}, "`workspacePath` of the input is no text"),
        ({"records": {}}, "`records` is no list"),
        ({"records": [1]}, "record 1 is no object"),
        ({"records": [CALL, {**CALL, "toolName": ""}]}, "`toolName` of record 2 is no text"),
        ({"records": [{**CALL, "toolUseId": 1}]}, "`toolUseId` of record 1 is no text"),
        ({"records": [{"toolUseId": "1", "toolName": "Bash"}]}, "record 1 has no `input`"),
        ({"records": [{**CALL, "resultContent": ["x"]}]}, "`resultContent` of record 1 is no text"),
        ({"selectedSkills": [1]}, "`selectedSkills` holds something that is no text"),
        ({"unsupported": ["conversation"]}, "'conversation' is no kind of context"),
        ({"rulesFiles": "CLAUDE.md"}, "`rulesFiles` is no list"),
        ({"providerBackend": 7}, "`providerBackend` is no text"),
    ],
)
def test_what_does_not_keep_the_contract_is_refused_in_words(change: dict[str, object], words: str) -> None:
    given = {"workspacePath": "/w", "records": [], "producedBy": "pi"} | change
    assert isinstance(invoked("collect", given).exception, BadAccounting)
    assert words in str(invoked("collect", given).exception)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"records": NaN}', "[" * 100_000])
@pytest.mark.parametrize("arguments", ["collect", "breakdown"])
def test_an_input_that_is_no_object_is_refused_in_words(arguments: str, text: str) -> None:
    assert isinstance(invoked(arguments, text).exception, BadAccounting)


def test_a_refusal_is_one_sentence_with_exit_status_1() -> None:
    done = subprocess.run(
        [*COMMAND, "context", "collect"], input="{}", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"te: .* is no text: give a string\n", done.stderr)


# `te context breakdown`


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_context_is_taken_apart(name: str, language: str) -> None:
    assert answer(f"breakdown --lang {language}", CONTEXTS[name]) == breakdown_of(name).to_json(language)


def test_whole_numbers_may_have_a_point_and_parts_without_tokens_are_not_there() -> None:
    given = {
        "usage": {"input": 50.0, "cacheRead": None},
        "snapshot": {"entries": {"tools": {"tokens": 0, "source": "x"}}},
        "pending": None,
    }
    found = answer("breakdown", given)
    assert found["usedTokens"] == 50
    assert found["parts"] == [
        {"kind": "conversation", "label": "Conversation", "tokens": 50, "source": "usage/rest"}
    ]


def test_a_snapshot_that_was_collected_is_taken_as_it_is() -> None:
    whole = SNAPSHOT | {"unsupported": ["memory"], "producedBy": "claude_code"}
    assert answer("breakdown", {"snapshot": whole})["usedTokens"] == 93 + 1_480 + 6_813 + 2_205


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"usage": 1}, "`usage` is no object"),
        ({"usage": {"input": -1}}, "`input` is -1"),
        ({"usage": {"input": 1.5}}, "`input` is 1.5"),
        ({"usage": {"input": True}}, "`input` is True"),
        ({"usage": {"output": "9"}}, "`output` is '9'"),
        ('{"contextWindow": 1e999}', "`contextWindow` is inf"),
        ({"snapshot": []}, "`snapshot` is no object"),
        ({"snapshot": {"entries": {"tools": 5}}}, "the entry `tools` is no object"),
        ({"snapshot": {"entries": {"tools": {"tokens": 5}}}}, "`source` of the entry `tools`"),
        ({"snapshot": {"entries": {"pending": {"tokens": 5, "source": "x"}}}}, "'pending' is no kind"),
        ({"pending": [{"source": "guess", "tokens": 1}]}, "'guess' is no source"),
        ({"pending": [{"source": "mention"}]}, "`tokens` is None"),
    ],
)
def test_numbers_that_are_none_are_refused_in_words(given: object, words: str) -> None:
    done = invoked("breakdown", given)
    assert isinstance(done.exception, BadAccounting)
    assert words in str(done.exception)


# `te context show`


def test_before_the_first_turn_it_says_what_to_do(home: Home) -> None:
    home.create()
    done = te("context", "show")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("te: no turn was accounted yet")


def test_an_unknown_session_is_named(home: Home) -> None:
    keep(home, told_session())
    done = te("context", "show", "--session", "nobody")
    assert (done.status, done.out) == (1, "")
    assert "no turn of the session 'nobody' was accounted" in done.err


def test_the_newest_turn_is_drawn_from_its_events(home: Home) -> None:
    keep(home, told_session())
    done = te("context", "show", "--width", "60", "--lang", "en")
    assert done.status == 0
    assert done.out.splitlines() == [
        "Context",
        "capacity unknown                       ~100 tokens",
        "",
        "T" * 4 + "R" * 46,
        "T" * 3 + "R" * 47,
        "",
        "T Tools                                          7",
        "R Rules                                         93",
    ]


def test_reported_usage_and_the_window_make_it_whole(home: Home) -> None:
    told = told_session()
    keep(home, told)
    keep_usage(home, told)
    done = te("context", "show", "--session", "session-1", "--window", "200000", "--json", "--lang", "zh")
    assert done.status == 0
    found = json.loads(done.out)
    assert (found["host"], found["sessionId"], found["turn"]) == ("claude_code", "session-1", 1)
    assert (found["usedTokens"], found["ratio"]) == (28_000, 0.14)
    assert {part["label"]: part["tokens"] for part in found["parts"]} == {
        "工具": 7,
        "规则": 93,
        "对话历史": 20_900,
        "缓存 / 上轮": 7_000,
    }
    assert found["session"] == {
        "turns": 1,
        "replies": 1,
        "input": 20_000,
        "cacheRead": 7_000,
        "cacheWrite": None,
        "output": 1_000,
    }


@pytest.mark.parametrize(
    ("variables", "cell"),
    [
        ({"COLORTERM": "truecolor"}, "\x1b[38;2;45;141;226m●"),
        ({"COLORTERM": "", "TERM": "xterm-256color"}, "\x1b[38;5;75m●"),
        ({"COLORTERM": "", "TERM": "xterm"}, "\x1b[36m●"),
        ({"NO_COLOR": "1"}, "TTTT"),
        ({"TERM": "dumb", "COLORTERM": ""}, "TTTT"),
    ],
)
def test_cells_have_what_colours_the_terminal_has(home: Home, variables: dict[str, str], cell: str) -> None:
    keep(home, told_session())
    assert cell in te_in_terminal("context", "show", columns=80, variables=variables)

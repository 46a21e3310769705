from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codex_rollouts import TURN, answered, asked, turn
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import edit, shell
from stores import NOON
from workbench import capturing_log

from tokeneconomizer.domain.call_ruling import CallRuling
from tokeneconomizer.domain.commands import (
    Delivery,
    EndTurn,
    HookCommand,
    OpenTurn,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartCall,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import CallKind, CallStatus, Hasher, digest_call
from tokeneconomizer.domain.missed_calls import LoggedTurn, MissedCall
from tokeneconomizer.domain.session import Session
from tokeneconomizer.scheduler.building import (
    RECENT_TAIL_BYTES,
    TRANSCRIPT_TAIL_BYTES,
    Parts,
    build,
    hides_hints,
    settled,
    tail_of,
)
from tokeneconomizer.scheduler.foreign_files import beginning_of, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.scheduler.home import Home

ONE_SESSION = SessionKey("claude_code", "s")

CALLS = (
    edit("a.py", "x = 1", call_id="call-1"),
    shell("ls", "a b", call_id="call-2"),
    edit("b.py", "x = 1", call_id="call-3"),
)


def result_line(call_id: str, *, is_error: bool | None, version: str = "2.1.332") -> bytes:
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id, "content": "x"}
    if is_error is not None:
        block["is_error"] = is_error
    line = {"type": "user", "version": version, "message": {"role": "user", "content": [block]}}
    return json.dumps(line).encode() + b"\n"


def command(transcript: Path | str, step: Step, host: str = "claude_code") -> HookCommand:
    return HookCommand(SessionKey(host, "s"), "PostToolBatch", "/home/dev", str(transcript), step)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def statuses(command: HookCommand) -> list[CallStatus]:
    assert isinstance(command.step, ReturnCalls)
    return [call.status for call in command.step.calls]


def test_the_agents_log_decides_which_calls_of_a_step_never_ran(transcript: Path) -> None:
    transcript.write_bytes(
        b"not json\n" + result_line("call-1", is_error=True) + result_line("call-2", is_error=None) + b"\n"
    )
    whole = command(transcript, ReturnCalls(CALLS, whole_step=True))

    assert statuses(settled(whole, OpenTurn())) == [CallStatus.NEVER_RAN, CallStatus.OK, CallStatus.OK]


def test_of_a_long_log_only_the_end_is_looked_at(transcript: Path) -> None:
    filling = b"x" * TRANSCRIPT_TAIL_BYTES + b"\n"
    transcript.write_bytes(
        result_line("call-1", is_error=True) + filling + result_line("call-3", is_error=True)
    )
    whole = command(transcript, ReturnCalls(CALLS, whole_step=True))

    assert statuses(settled(whole, OpenTurn())) == [CallStatus.OK, CallStatus.OK, CallStatus.NEVER_RAN]


@pytest.mark.parametrize("result_characters", [10, RECENT_TAIL_BYTES, 3 * RECENT_TAIL_BYTES])
def test_a_result_is_found_however_much_was_logged_after_it(transcript: Path, result_characters: int) -> None:
    filling = b'{"type": "assistant", "text": "' + b"x" * result_characters + b'"}\n'
    transcript.write_bytes(
        result_line("call-1", is_error=True) + filling + result_line("call-3", is_error=False)
    )
    whole = command(transcript, ReturnCalls(CALLS, whole_step=True))

    assert statuses(settled(whole, OpenTurn())) == [CallStatus.NEVER_RAN, CallStatus.OK, CallStatus.OK]


@pytest.mark.parametrize(
    ("step", "host"),
    [
        (ReturnCalls(CALLS, whole_step=False), "claude_code"),
        (ReturnCalls(CALLS, whole_step=True), "an unknown agent"),
        (EndTurn("stop"), "claude_code"),
    ],
)
def test_other_commands_stay_as_they_are(transcript: Path, step: Step, host: str) -> None:
    transcript.write_bytes(result_line("call-1", is_error=True))
    other = command(transcript, step, host)

    assert settled(other, OpenTurn("prompt-1")) == other


@pytest.mark.parametrize(
    ("version", "hides"), [("2.1.332", False), ("2.1.310", False), ("2.1.309", True), ("1.9.400", True)]
)
def test_the_version_in_the_log_tells_whether_hints_are_hidden(
    transcript: Path, version: str, *, hides: bool
) -> None:
    transcript.write_bytes(result_line("call-1", is_error=False, version=version))

    assert hides_hints(command(transcript, EndTurn("stop"))) is hides


def test_without_a_log_or_with_an_unknown_agent_hints_count_as_hidden(transcript: Path) -> None:
    assert hides_hints(command("", EndTurn("stop")))
    assert hides_hints(command(transcript, EndTurn("stop"), "an unknown agent"))


def test_what_is_no_readable_regular_file_has_no_tail_and_never_keeps_us_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    files = [str(tmp_path / name) for name in ("", "pipe", "loop", "absent")]
    names = [*files, "", "/dev/zero", "/dev/null", "a\0b", "\ud800", "a" * 5_000]
    open_before = len(list(Path("/dev/fd").iterdir()))

    assert [name for name in names if tail_of(name)] == []
    assert len(list(Path("/dev/fd").iterdir())) == open_before


@given(content=st.binary(max_size=40), size=st.integers(1, 50))
@settings(max_examples=40, deadline=None)
def test_beginning_and_end_are_those_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "foreign file"
    path.write_bytes(content)

    assert beginning_of(path, size) == content[:size]
    assert end_of(str(path), size) == content[-size:]


def test_the_parts_are_built_on_the_homes_store_and_configuration(home: Home) -> None:
    home.config.write_text("loopguard: off\n")
    log, _ = capturing_log()
    parts = build(home, log)
    parts.store.close()

    assert parts.configuration().get("loopguard") == "off"
    assert home.events.exists()


@pytest.fixture
def accounted(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    """Give a home's parts after one turn with one call in a project with rules."""
    user = tmp_path / "user"
    project = user / "project"
    for path in (user / ".claude" / "CLAUDE.md", project / "CLAUDE.md", project / "CLAUDE.local.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345")
    (project / ".git").mkdir()
    monkeypatch.setenv("HOME", str(user))
    home.create()
    log, _ = capturing_log()
    parts = build(home, log)
    steps: tuple[Step, ...] = (
        SubmitPrompt("p", "go on", PromptKind.HUMAN),
        ReturnCalls((shell("ls", "a b", call_id="call-1"),), whole_step=True),
        EndTurn("stop"),
    )
    for number, step in enumerate(steps):
        parts.application.handle(
            HookCommand(ONE_SESSION, "", str(project), "", step), Delivery(f"delivery-{number}", NOON)
        )
    yield parts
    parts.store.close()


def newest_snapshot(parts: Parts) -> dict[str, object]:
    *_, event = parts.store.events.get(Session.stream_id(ONE_SESSION))
    assert isinstance(event, Session.ContextAccounted)
    found: dict[str, object] = json.loads(event.snapshot)
    return found


def test_a_turn_is_accounted_with_the_rules_of_its_checkout_and_of_the_agents_folder(
    accounted: Parts, tmp_path: Path
) -> None:
    assert newest_snapshot(accounted)["entries"] == {
        "rules": {
            "tokens": 6,
            "source": f"{tmp_path}/user/.claude/CLAUDE.md + workspace/CLAUDE.local.md + workspace/CLAUDE.md",
            "detail": "CLAUDE.local.md, CLAUDE.md",
        },
        "tools": {"tokens": 5, "source": "tool_use/tool/Bash", "detail": "Bash × 1"},
    }


def test_skills_are_looked_for_in_the_folder_that_the_agents_hook_named(home: Home, tmp_path: Path) -> None:
    skill = tmp_path / "profile" / "skills" / "release" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Release it.")
    home.create()
    environments: dict[str, dict[str, str]] = {}
    parts = build(home, capturing_log()[0], environments)
    environments["claude_code"] = {"CLAUDE_CONFIG_DIR": str(tmp_path / "profile")}
    load = replace(
        shell("", call_id="call-1"), tool="Skill", kind=CallKind.OTHER, arguments={"skill": "release"}
    )
    steps = (
        SubmitPrompt("p", "go on", PromptKind.HUMAN),
        ReturnCalls((load,), whole_step=True),
        EndTurn("stop"),
    )
    for number, step in enumerate(steps):
        command = HookCommand(ONE_SESSION, "", str(tmp_path / "project"), "", step)
        parts.application.handle(command, Delivery(f"delivery-{number}", NOON))
    entries = newest_snapshot(parts)["entries"]
    parts.store.close()
    assert isinstance(entries, dict)
    assert entries["skills"] == {"tokens": 3, "source": str(skill), "detail": "release"}


def test_a_turn_is_accounted_again_when_calls_of_it_are_found(accounted: Parts) -> None:
    before = newest_snapshot(accounted)
    call = edit("a", "b", call_id="call-2")
    missed = MissedCall(2, digest_call(call, Hasher(b"k"), ""), CallRuling())

    turn = LoggedTurn(1, NOON, [missed])
    assert accounted.application.calls_missed(ONE_SESSION, turn) == 1
    assert accounted.application.calls_missed(ONE_SESSION, turn) == 0

    entries = newest_snapshot(accounted)["entries"]
    assert isinstance(before["entries"], dict)
    assert isinstance(entries, dict)
    assert entries["tools"] == {
        "tokens": 5 + 14,
        "source": "tool_use/tool/Bash + tool_use/tool/Edit",
        "detail": "Bash × 1, Edit × 1",
    }
    assert entries["rules"] == before["entries"]["rules"]


def rollout(*lines: dict[str, object]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def asks_and_gets(call_id: str, output: str) -> bytes:
    asking = asked(call_id, "exec_command", '{"cmd": "x"}', metadata={"turn_id": TURN})
    return rollout(asking, answered(call_id, output))


def in_turn(transcript: Path, step: Step) -> HookCommand:
    return replace(command(transcript, step, "codex"), running_turn=TURN)


GOES_ON = "Wall time: 0.3 seconds\nProcess running with session ID 7\nOutput:\n"
REFUSED = "unsupported call: x"


@pytest.mark.parametrize(
    ("step", "unheard"),
    [
        (StartCall("call-4"), ["call-1", "call-3"]),
        (StartCall("call-3"), ["call-1"]),
        (ReturnCalls((shell("x", call_id="call-3"),), whole_step=True), ["call-1"]),
        (EndTurn("stop"), ["call-1", "call-2", "call-3"]),
    ],
)
def test_calls_without_a_hook_are_looked_for_while_their_turn_goes_on(
    transcript: Path, step: Step, unheard: list[str]
) -> None:
    logged = [("call-1", REFUSED), ("call-2", GOES_ON), ("call-3", REFUSED)]
    transcript.write_bytes(
        rollout(*turn()) + b"".join(asks_and_gets(call_id, output) for call_id, output in logged)
    )

    assert [call.call_id for call in settled(in_turn(transcript, step), OpenTurn(TURN)).unheard] == unheard


@pytest.mark.parametrize(
    ("newest_call", "unheard"), [("call-1", ["call-1", "call-2"]), ("", ["call-0", "call-1", "call-2"])]
)
def test_only_the_end_of_the_log_is_read_where_it_holds_all_that_is_new(
    transcript: Path, newest_call: str, unheard: list[str]
) -> None:
    filling = asks_and_gets("call-0", "x" * RECENT_TAIL_BYTES)
    transcript.write_bytes(
        rollout(*turn()) + filling + asks_and_gets("call-1", "") + asks_and_gets("call-2", REFUSED)
        + rollout(asked("call-3", "x", metadata={"turn_id": TURN}))
    )  # fmt: skip
    found = settled(in_turn(transcript, StartCall("call-3")), OpenTurn(TURN, newest_call))

    assert [call.call_id for call in found.unheard] == unheard

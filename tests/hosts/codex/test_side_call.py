"""The command line that asks through Codex, and the answer in what it prints (S2.9)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.codex import side_call
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, CommandLine, Question

STARTED = {"type": "turn.started"}
COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 12}}


def settings_of(line: CommandLine) -> dict[str, object]:
    return tomllib.loads("\n".join(values_of(line, "--config")))


def values_of(line: CommandLine, flag: str) -> list[str]:
    pairs = zip(line.arguments, line.arguments[1:], strict=False)
    return [value for name, value in pairs if name == flag]


def said(text: object) -> dict[str, object]:
    return {"type": "item.completed", "item": {"type": "agent_message", "text": text}}


def printed(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_the_call_has_no_hooks_and_no_log_and_its_text_is_on_stdin_alone() -> None:
    line = side_call.command_line(Question("instructions", "the digest é"))

    assert line.program == "codex"
    assert line.arguments[0] == "exec"
    assert line.arguments[-1] == "-"
    assert {"--ephemeral", "--ignore-rules", "--json"} <= set(line.arguments)
    assert line.arguments[line.arguments.index("--sandbox") + 1] == "read-only"
    assert values_of(line, "--disable") == list(side_call.FEATURES_OFF)
    assert line.stdin.decode() == "the digest é"
    assert not any("digest" in argument for argument in line.arguments)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_instructions_take_the_place_of_codexs_own(instructions: str) -> None:
    assert settings_of(side_call.command_line(Question(instructions, "")))["instructions"] == instructions


@pytest.mark.parametrize(
    ("config", "servers"),
    [
        ('[mcp_servers.one]\ncommand = "x"\n[mcp_servers."a.b"]\nurl = "y"\n', {"one": False, "a.b": False}),
        ("model = 'x'\n", None),
        ("mcp_servers = 1\n", None),
        ("not = = toml", None),
        (None, None),
    ],
)
def test_each_mcp_server_of_the_user_is_switched_off_by_its_name(
    tmp_path: Path, config: str | None, servers: dict[str, bool] | None
) -> None:
    if config is not None:
        (tmp_path / "config.toml").write_text(config)
    homes = AgentHomes(Path("/nowhere"), {"CODEX_HOME": str(tmp_path)})
    found = settings_of(side_call.command_line(Question("", "", homes))).get("mcp_servers")

    assert found == (servers and {name: {"enabled": on} for name, on in servers.items()})


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ([STARTED, said("first"), said("words"), COMPLETED], "words"),
        ([STARTED, COMPLETED], ""),
        ([STARTED, {"type": "turn.failed", "error": {"message": "no credit"}}], ""),
        ([STARTED, said(3), "text", COMPLETED], ""),
        ([STARTED, said("cut off")], None),
        ([], None),
    ],
)
def test_the_answer_is_the_last_message_of_a_turn_that_ended(
    events: list[object], answer: str | None
) -> None:
    expected = None if answer is None else Answer(answer, side_call.MODEL, None)

    assert side_call.answer_in(b"a warning\n" + printed(*events)) == expected


@given(st.binary())
def test_nothing_that_is_printed_breaks_the_reading(output: bytes) -> None:
    side_call.answer_in(output + b"\n" + printed(COMPLETED))


def test_nothing_is_left_behind() -> None:
    line = side_call.command_line(Question("", ""))

    assert side_call.leftovers(line, b"", AgentHomes(Path("/home/dev"))) is NO_LEFTOVERS

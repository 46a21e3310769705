from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.hosts.hook import hook_facts, wire
from tokeneconomizer.scheduler.given_facts import GivenFacts
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


BLOCK = "Facts of this repository:\n- Run the tests with `npm test`.\n\N{SNOWMAN}"


@pytest.fixture
def checkout(tmp_path: Path, home: Path) -> Path:
    """A checkout with a folder in it, to which the home's starts lead."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    for host in hook_facts.SOURCES:
        block = home / "repos" / "project-1" / host / "facts.md"
        block.parent.mkdir(parents=True)
        block.write_text(BLOCK)
    lead_to(home, folder)
    return folder


def lead_to(home: Path, folder: Path) -> None:
    checkouts = {str(folder): {host: f"project-1/{host}/facts.md" for host in hook_facts.SOURCES}}
    starts = {"configuration": [], "checkouts": checkouts}
    (home / "repos" / "starts.json").write_text(json.dumps(starts))


def started(folder: Path, source: str = "startup", **fields: object) -> bytes:
    return json.dumps({"session_id": "s", "source": source, "cwd": str(folder), **fields}).encode()


def given(result: subprocess.CompletedProcess[bytes]) -> str:
    assert (result.returncode, result.stderr) == (0, b"")
    output = json.loads(result.stdout).get("hookSpecificOutput", {})
    assert output.get("hookEventName", "SessionStart") == "SessionStart"
    return str(output.get("additionalContext", ""))


@pytest.mark.parametrize(
    ("host", "source"),
    [(host, source) for host in ("claude_code", "codex") for source in hook_facts.SOURCES[host]],
)
@pytest.mark.parametrize("folder", ["", "sub"])
def test_a_start_is_answered_from_disk_and_spooled_with_its_reply(
    run: Callable[..., subprocess.CompletedProcess[bytes]],
    home: Path,
    checkout: Path,
    host: str,
    source: str,
    folder: str,
) -> None:
    flags = ["--host", host, "--event", "SessionStart"]
    result = run("SessionStart", started(checkout / folder, source), flags=flags)
    assert given(result) == BLOCK
    (path,) = (home / "spool").iterdir()
    assert wire.parse_spooled(path.read_bytes()).reply == result.stdout


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("SessionStart", {"source": "resume"}),
        ("SessionStart", {"source": "fork"}),
        ("SessionStart", {"source": "startup", "agent_id": "a"}),
        ("SubagentStart", {"source": "startup"}),
        ("Stop", {"source": "startup"}),
    ],
)
def test_nothing_is_given_where_it_would_stand_twice(
    run: Callable[..., subprocess.CompletedProcess[bytes]],
    checkout: Path,
    event: str,
    fields: dict[str, str],
) -> None:
    assert given(run(event, started(checkout, **fields))) == ""


def test_a_repository_within_a_repository_has_facts_of_its_own(
    run: Callable[..., subprocess.CompletedProcess[bytes]], checkout: Path
) -> None:
    (checkout / "sub" / ".git").touch()
    assert given(run("SessionStart", started(checkout / "sub"))) == ""


def test_a_folder_without_git_is_found_by_itself_alone(
    run: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, checkout: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    lead_to(home, plain)
    variables = {"TOKENECONOMIZER_HOME": str(home), "HOME": str(tmp_path)}
    assert given(run("SessionStart", started(plain), variables=variables)) == BLOCK
    assert given(run("SessionStart", started(plain / "sub"), variables=variables)) == ""
    assert given(run("SessionStart", started(checkout), variables=variables)) == ""


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"x": 1}', b"\xff" * 100])
def test_damaged_starts_give_nothing_and_keep_the_payload(
    run: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, checkout: Path, content: bytes
) -> None:
    (home / "repos" / "starts.json").write_bytes(content)
    assert given(run("SessionStart", started(checkout))) == ""
    assert len(list((home / "spool").iterdir())) == 1


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b'{"source": "startup"}', b'{"source": "startup", "cwd": 1}']
)
def test_a_payload_that_names_no_folder_is_given_nothing(
    run: Callable[..., subprocess.CompletedProcess[bytes]], checkout: Path, payload: bytes
) -> None:
    assert checkout.exists()
    assert given(run("SessionStart", payload)) == ""


def test_nothing_is_given_once_the_configuration_has_changed(
    run: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, checkout: Path
) -> None:
    (home / "config.yaml").write_text("microskills: off\n")
    assert given(run("SessionStart", started(checkout))) == ""


def test_what_could_not_be_spooled_is_not_given(
    run: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, checkout: Path
) -> None:
    (home / "spool").write_text("no folder")
    assert given(run("SessionStart", started(checkout))) == ""


def test_a_block_stays_far_below_what_the_agent_cuts() -> None:
    assert hook_facts.BLOCK_BYTES_MAX < 10_000


def started_copilot(folder: Path, source: str, session_id: str = "s-1", **fields: object) -> bytes:
    payload = {"sessionId": session_id, "timestamp": 1, "source": source, "cwd": str(folder), **fields}
    return json.dumps(payload).encode()


def given_to_copilot(result: subprocess.CompletedProcess[bytes]) -> str:
    assert (result.returncode, result.stderr) == (0, b"")
    reply = json.loads(result.stdout)
    assert set(reply) <= {"additionalContext"}
    return str(reply.get("additionalContext", ""))


@pytest.mark.parametrize(("event", "host"), [("sessionStart", "copilot"), ("SessionStart", "claude_code")])
def test_copilot_is_answered_in_its_own_form_whatever_the_registration(
    run: Callable[..., subprocess.CompletedProcess[bytes]], checkout: Path, event: str, host: str
) -> None:
    flags = ["--host", host, "--event", event, "--via", "plugin"]
    assert given_to_copilot(run(payload=started_copilot(checkout, "new"), flags=flags)) == BLOCK
    sub_agents = started_copilot(checkout, "new", agentId="a", parentAgentId="s-1")
    assert given_to_copilot(run(payload=sub_agents, flags=flags)) == ""


def test_a_resumed_session_of_copilot_is_given_the_bytes_of_its_start(
    run: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, checkout: Path
) -> None:
    first = "What was told once.\n\N{SNOWMAN}"
    GivenFacts(Home(home)).keep("copilot", "s-1", first)
    flags = ["--host", "copilot", "--event", "sessionStart", "--via", "plugin"]
    ids = ("s-1", "s-2", "../s-1", "", "copilot/s-1")
    payloads = [started_copilot(checkout, "resume", session_id) for session_id in ids]

    assert [given_to_copilot(run(payload=payload, flags=flags)) for payload in payloads] == [first, *[""] * 4]

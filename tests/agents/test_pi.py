"""
The real Pi with our extension really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from daemon_troubles import TROUBLES, absent, answered_by, is_newer
from installed_program import Program, daemon_running, mentions_of_us
from lab import (
    Lab,
    Story,
    assert_every_call_is_stored_once,
    assert_one_growing_prefix,
    assert_redirected_in_the_next_request,
    assert_the_judge_was_heard_once,
    assert_the_model_saw_the_same,
)
from pi import PI, PI_VERSION, PiSandbox
from pi_scenarios import parallel_mixed
from prompt_blocks import JsonObject
from sandbox import Agent, Finished
from scenarios import greetings, honest_fix, judged, looping, taught
from terminal import Terminal

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home

AGENT = PI

pytestmark = pytest.mark.agents

OPEN = "<tokeneconomizer>"


MakeLab = Callable[[Story], Lab[PiSandbox]]


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    (run,) = lab.run_installed()

    assert_redirected_in_the_next_request(lab)
    (hinted,) = lab.program.events("stop_hinted")
    assert_one_growing_prefix(lab.requests())
    assert (run.exit_code, run.stderr) == (0, f"{hinted.data['text']}\n")
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in lab.requests())
    assert_every_call_is_stored_once(lab)
    (turn,) = lab.program.events("context_accounted")
    assert turn.data["window_tokens"] == 128_000
    assert turn.data["used_tokens"]
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint on stderr, prefixes identical, window told")


def test_calls_that_succeed_fail_and_never_run_side_by_side_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(parallel_mixed)
    lab.run_installed()

    assert_every_call_is_stored_once(lab)
    status = {event.data["call_id"]: event.data["status"] for event in lab.program.events("tool_returned")}
    called = lab.program.events("tool_called")
    assert [(event.data["tool"], status[event.data["call_id"]]) for event in called] == [
        ("bash", "ok"), ("bash", "failed"), ("read", "failed"), ("edit", "never_ran"),
        ("NoSuchTool", "never_ran"),
    ]  # fmt: skip
    assert {event.data["step"] for event in called} == {1}
    lab.note("ok, failed and never-run calls stored once each")


def test_the_tools_of_the_first_request_are_the_catalogue(make_lab: MakeLab) -> None:
    lab = make_lab(parallel_mixed)
    lab.run_installed()

    (recorded,) = [event for event in lab.program.events() if event.topic == "tool_prune.catalog_recorded"]
    offered = json.loads(str(recorded.data["catalog"]))
    assert {tool["name"] for tool in offered} == set(lab.requests()[0].prompt.tools)
    assert all(tool["characters"] > 100 and tool["loaded"] for tool in offered)
    lab.program.te("import")
    again = [event for event in lab.program.events() if event.topic == "tool_prune.catalog_recorded"]
    assert len(again) == 1  # the log tells the same
    lab.note("catalogue told at the first prompt, the same as the log's")


def conversation(commands: list[JsonObject]) -> Callable[[Agent], list[JsonObject]]:
    """Send each command when the one before is over; return what the agent printed."""

    def talk(agent: Agent) -> list[JsonObject]:
        assert agent.stdin is not None
        assert agent.stdout is not None
        lines: list[JsonObject] = []
        for command in commands:
            agent.stdin.write(json.dumps(command).encode() + b"\n")
            agent.stdin.flush()
            over = "agent_settled" if command["type"] == "prompt" else "response"
            for raw in agent.stdout:
                lines.append(json.loads(raw))
                if lines[-1]["type"] == over:
                    break
        agent.stdin.close()
        return lines

    return talk


def test_a_program_that_drives_pi_is_shown_the_hint_and_its_sessions_are_told_apart(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(looping)
    keep_little = {"compaction": {"keepRecentTokens": 10}}
    (lab.sandbox.agent_folder / "settings.json").write_text(json.dumps(keep_little), encoding="utf-8")
    lab.install()
    commands: list[JsonObject] = [
        {"type": "prompt", "message": lab.scenario.prompts[0]},
        {"type": "compact"},
        {"type": "prompt", "message": "Go on."},
        {"type": "new_session"},
        {"type": "prompt", "message": "Something else."},
    ]
    with daemon_running(lab.program), lab.server:
        run = lab.sandbox.converse(lab.sandbox.command("--mode", "rpc"), conversation(commands))

    assert (run.exit_code, run.stderr) == (0, "")
    (hinted,) = lab.program.events("stop_hinted")
    assert [line["message"] for line in run.output if line["type"] == "extension_ui_request"] == [
        hinted.data["text"]
    ]
    assert [event.data["trigger"] for event in lab.program.events("compacted")] == ["manual"]
    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"] * 2
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2, 1]
    assert [event.data["reason"] for event in lab.program.events("ended")] == ["new", "quit"]
    lab.note("over RPC: hint as a notification; compaction and a new session told")


def test_a_hint_is_shown_in_the_terminal(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    lab.install()
    with (
        daemon_running(lab.program),
        lab.server,
        Terminal(lab.sandbox.command(), lab.sandbox.project, lab.sandbox.environment()) as terminal,
    ):
        terminal.wait_for("scripted-model")
        terminal.submit(lab.scenario.prompts[0])
        terminal.wait_for("still going in circles")
        terminal.wait_for("The test still fails.")

    assert len(lab.program.events("stop_hinted")) == 1
    assert "delivery_failed" not in {event.topic for event in lab.program.events()}
    lab.note("in the terminal: hint shown")


def taught_and_trusted(lab: Lab[PiSandbox]) -> str:
    """Let two sessions find out something, and return the block for the next one."""
    block = lab.teach()
    lab.sandbox.trust_project()
    return block


def facts_switched_off(program: Program) -> AbstractContextManager[None]:
    program.te("config", "set", "microskills", "off")
    return nullcontext()


def facts_forgotten(program: Program) -> AbstractContextManager[None]:
    repository = ("--repo", str(program.agents_home / "project"))
    (fact,) = json.loads(program.te("facts", "list", "--json", *repository))
    program.te("facts", "retire", fact["id"], *repository)
    return nullcontext()


@pytest.mark.parametrize(
    ("name", "since"),
    [("off", facts_switched_off), ("changed", facts_forgotten), ("unreachable", absent)],
)
def test_facts_are_in_the_first_request_and_the_same_bytes_on_resume_and_fork(
    make_lab: MakeLab, name: str, since: Callable[[Program], AbstractContextManager[None]]
) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = taught_and_trusted(lab)
        untold = len(lab.requests())
        lab.sandbox.run("Which test fails?")
        with since(lab.program):
            lab.sandbox.resume("And what does git say?")
            session = str(lab.program.events("started")[-1].data["session_id"])
            lab.sandbox.run("Once more.", "--fork", session)
            lab.sandbox.resume("And again.")
        lab.program.settle()

    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert len(after) == 3 * 2 + 1  # the script has calls for three more sessions
    assert not any(OPEN in json.dumps(request.body) for request in before)
    told = f"{OPEN}\n{block}\n</tokeneconomizer>"
    assert {request.prompt.system.count(json.dumps(told, ensure_ascii=False)[1:-1]) for request in after} == {
        1
    }
    assert_one_growing_prefix(after)
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"] * 3 + ["resume"]
    lab.note(f"facts in the first request; facts {name}: resume and fork byte-identical")


def test_facts_need_trust_and_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    trust = lab.sandbox.agent_folder / "trust.json"
    with lab.server:
        block = taught_and_trusted(lab)
        trusting = trust.read_bytes()
        trust.write_text("{}", encoding="utf-8")
        lab.sandbox.run("Which test fails?")
        untold = len(lab.requests())
        trust.write_bytes(trusting)
        lab.program.look(lab.sandbox.project)  # notes what may be told at starts without a daemon
        with absent(lab.program):
            lab.sandbox.run("Which test fails?")
        lab.program.settle()

    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert not any(OPEN in json.dumps(request.body) for request in before)
    assert len(after) == 2
    assert all(json.dumps(block, ensure_ascii=False)[1:-1] in request.prompt.system for request in after)
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("no trust, no facts; facts from disk without a daemon, stored afterwards")


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab[PiSandbox], Finished[str]], name: str
) -> None:
    bare, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with TROUBLES[name](lab.program, lambda: bool(lab.requests())):
        (run,) = lab.run()

    assert (run.exit_code, run.output, run.stderr) == (without.exit_code, without.output, "")
    assert_the_model_saw_the_same(lab, bare)
    assert_one_growing_prefix(lab.requests())
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged ({run.seconds:.1f} s, {without.seconds:.1f} s without us)")


def test_a_daemon_of_another_version_changes_nothing_in_the_agents_run(
    make_lab: MakeLab, run_without_us: tuple[Lab[PiSandbox], Finished[str]]
) -> None:
    _, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with answered_by(is_newer)(lab.program, lambda: True):
        (run,) = lab.run()

    assert (run.exit_code, run.output, run.stderr) == (without.exit_code, without.output, "")
    assert list((lab.program.home / "spool").iterdir()) == []
    lab.note("daemon of another version: spoken with")


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder, without those that are of Pi's sessions."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"<folder>"
        for path in sorted(folder.rglob("*"))
        if "sessions" not in path.relative_to(folder).parts
    }


def test_setup_twice_and_uninstalling_leave_the_home_as_it_was(make_lab: MakeLab) -> None:
    lab = make_lab(honest_fix)
    folder = lab.sandbox.agent_folder
    (folder / "extensions").mkdir()
    (folder / "extensions" / "own.ts").write_text("export default function () {}\n", encoding="utf-8")
    with lab.server:
        lab.sandbox.run("Hello.")  # Pi leaves files of its own at its first start
        before = tree(folder)
        lab.install()
        lab.install()
        with daemon_running(lab.program):
            lab.sandbox.run("Hello.")
            lab.program.te("setup", "pi", "--uninstall")

    assert tree(folder) == before
    ours = ".tokeneconomizer"
    assert [found for found in mentions_of_us(lab.sandbox.home) if ours not in found.parts] == []
    assert len(lab.program.events("started")) == 1
    lab.note("uninstalled: the agent's folder byte for byte as before")


def test_the_judge_is_asked_once_without_tools_and_extensions_and_its_verdict_is_heard(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(judged)
    lab.install()
    lab.ask_the_judge()
    with daemon_running(lab.program):
        lab.run()

    assert not assert_the_judge_was_heard_once(lab).has_tools
    assert len(list((lab.sandbox.agent_folder / "sessions").iterdir())) == 1
    (redirected,) = lab.program.events("redirected")
    assert lab.bringing(str(redirected.data["text"])) == [len(lab.requests()) - 1]
    assert_one_growing_prefix(lab.requests())
    (cost,) = [event for event in lab.program.events() if event.topic == "setup.side_call_made"]
    assert cost.data["cost_usd"] is not None
    lab.note("one side call: no tools, no extension, no session; its verdict beside a later result")


def test_denied_tools_are_gone_from_a_new_session_and_come_back(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab(greetings)
    lab.install()
    (lab.sandbox.project / ".pi").mkdir()
    settings = {"defaultTools": ["+grep", "+find"]}
    (lab.sandbox.project / ".pi/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    lab.sandbox.trust_project()
    deny_list = DenyList(
        Home(tmp_path / "state"),
        AgentHomes(lab.sandbox.home),
        "pi",
        lab.sandbox.project,
        agent_version=PI_VERSION,
    )
    with lab.server, daemon_running(lab.program):
        lab.sandbox.run("Say hello.")
        assert deny_list.apply(["find"]).written
        lab.sandbox.run("Say hello.")
        lab.sandbox.resume("Say hello.")
        assert deny_list.restore().written
        lab.sandbox.run("Say hello.")

    before, denied, resumed, after = (set(request.prompt.tools) for request in lab.requests())
    assert before - denied == {"find"}
    assert resumed == denied
    assert after == before
    lab.note("a denied tool is gone in a new session, and back after the restore")


MCP_SERVER = """
import json, sys
RESULTS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "issues", "version": "1"}},
    "tools/list": {"tools": [{"name": "list", "description": "Lists.", "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS.get(asked["method"], {})}
        print(json.dumps(reply), flush=True)
"""


def test_a_servers_tool_is_out_of_reach_of_the_list_and_so_never_proposed(make_lab: MakeLab) -> None:
    lab = make_lab(greetings)
    lab.install()
    folder = lab.sandbox.project / ".pi"
    folder.mkdir()
    (folder / "server.py").write_text(MCP_SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": [str(folder / "server.py")], "exposure": "direct"}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"issues": server}}), encoding="utf-8")
    settings = {"defaultTools": ["-write", "-mcp__issues__list"]}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    lab.sandbox.trust_project()
    with daemon_running(lab.program):
        lab.run()

    (request,) = lab.requests()
    assert set(request.prompt.tools) == {"read", "bash", "edit", "mcp__issues__list"}
    (recorded,) = [event for event in lab.program.events() if event.topic == "tool_prune.catalog_recorded"]
    offered = json.loads(str(recorded.data["catalog"]))
    assert {tool["name"]: tool["server"] for tool in offered}["mcp__issues__list"] == "issues"
    assert TARGETS["pi"].unit_of("mcp__issues__list", "issues") == ""
    lab.note("a server's tool: in the catalogue, and left alone")

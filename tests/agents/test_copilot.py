"""
The real GitHub Copilot CLI with our plugin really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import copilot_scenarios as scenarios
import pytest
from copilot import COPILOT, CopilotSandbox
from daemon_troubles import TROUBLES, absent
from hook_times import assert_within_the_hooks_deadlines
from installed_program import daemon_running, mentions_of_us
from lab import (
    Lab,
    Story,
    assert_every_call_is_stored_once,
    assert_nothing_was_said,
    assert_one_growing_prefix,
    assert_prefixes_are_untouched,
    assert_redirected_in_the_next_request,
    assert_the_model_saw_the_same,
    times_told,
)
from sandbox import Finished
from scenarios import GREEN_TESTS, honest_fix, looping, taught, two_prompts, with_a_helper

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.side_call import MARK, Question
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.side_calls import SideCalls

AGENT = COPILOT

pytestmark = pytest.mark.agents

USERS_OWN_SETTINGS = """// mine
{
\t"theme": "dark",   "note": "caf\\u00e9 \\/ ok", // keep
  "hooks": {"postToolUse": [{"type": "command", "bash": "true"}]},
  "enabledPlugins": { "other@market": false, },
}"""

DENYING_HOOK = """
import json, sys
is_denied = "push" in sys.stdin.read()
reply = {"permissionDecision": "deny", "permissionDecisionReason": "no pushing"}
print(json.dumps(reply if is_denied else {}))
"""

MCP_SERVER = """
import json, sys
TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("look", "ask")]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params = asked.get("params") or {}
    known = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lab", "version": "1"},
        },
        "tools/list": {"tools": TOOLS},
        "tools/call": {"content": [{"type": "text", "text": "seen"}]},
    }
    reply = {"jsonrpc": "2.0", "id": asked["id"], "result": known.get(asked["method"], {})}
    print(json.dumps(reply), flush=True)
"""

MakeLab = Callable[[Story], Lab[CopilotSandbox]]


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    (run,) = lab.run_installed()

    assert_redirected_in_the_next_request(lab)
    (hinted,) = lab.program.events("stop_hinted")
    assert_prefixes_are_untouched(lab)
    assert as_shown(str(hinted.data["text"])) in as_shown(run.output)
    assert hinted.data["echo"] is False
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in lab.requests())
    assert_every_call_is_stored_once(lab)
    assert {event.data["exit_code"] for event in lab.program.events("tool_returned")} == {None, 1}
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint shown, prefixes identical")


def test_a_terminal_session_is_heard_and_shows_its_hint(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    lab.sandbox.trust_project()
    lab.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal() as terminal:
        terminal.wait_for("/ commands")
        terminal.submit(lab.scenario.prompts[0])
        terminal.wait_for("this turn is still going in circles")

    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"]
    assert len(lab.program.events("stop_hinted")) == 1
    lab.note("terminal: hooks fire at once, hint shown")


def as_shown(text: str) -> str:
    """A text without what the terminal does to it: lines are wrapped, and Markdown is drawn."""
    return "".join(text.replace("`", "").split())


def test_a_turn_of_failing_calls_is_redirected_as_well(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.failing_looks)
    lab.run_installed()

    redirected = lab.program.events("redirected")[0]
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    assert lab.bringing(str(redirected.data["text"]))[0] == returned.index(redirected.data["call_id"]) + 1
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("redirect beside a failed result")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(honest_fix)
    lab.run_installed()

    assert_nothing_was_said(lab)
    sent = json.dumps([request.body for request in lab.requests()])
    assert "tokeneconomizer" not in sent  # nor the names of our skills
    (started,) = lab.program.events("started")
    # Copilot runs a plugin's hooks in the plugin's folder: the payload says where the session works.
    assert started.data["checkout"] == str(lab.sandbox.project)
    (ended,) = lab.program.events("turn_ended")
    assert (ended.data["reason"], ended.data["outcome"]) == ("stop", "green")
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("silence")


def test_calls_that_succeed_fail_and_are_refused_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.mixed)
    hook = lab.sandbox.home / "deny.py"
    hook.write_text(DENYING_HOOK, encoding="utf-8")
    own = {"preToolUse": [{"type": "command", "bash": f"python3 {hook}"}]}
    (lab.sandbox.agent_folder / "hooks").mkdir(parents=True)
    (lab.sandbox.agent_folder / "hooks" / "own.json").write_text(
        json.dumps({"version": 1, "hooks": own}), encoding="utf-8"
    )
    lab.run_installed()

    status = {event.data["call_id"]: event.data for event in lab.program.events("tool_returned")}
    calls = Counter(
        (
            event.data["tool"],
            status[event.data["call_id"]]["status"],
            status[event.data["call_id"]]["exit_code"],
        )
        for event in lab.program.events("tool_called")
    )
    assert calls == {
        ("bash", "ok", 0): 2,
        ("bash", "failed", 1): 1,
        ("view", "failed", None): 1,
        ("bash", "never_ran", None): 2,
    }
    assert_every_call_is_stored_once(lab)
    lab.note("ok, failed and refused calls stored once each")


def test_a_sub_agent_is_a_stream_of_its_own(make_lab: MakeLab) -> None:
    lab = make_lab(with_a_helper)
    lab.run_installed()

    main, sub_agent = sorted(lab.program.events("started"), key=lambda event: str(event.data["agent_id"]))
    assert main.data["agent_id"] == ""
    assert sub_agent.data["parent"] == main.stream
    assert sub_agent.data["agent_type"] == "general-purpose"
    calls = Counter(event.stream for event in lab.program.events("tool_called"))
    assert calls == {main.stream: 2, sub_agent.stream: 3}
    assert [event.stream for event in lab.program.events("ended")] == [sub_agent.stream, main.stream]
    assert [event.stream for event in lab.program.events("prompt_submitted")] == [main.stream]
    assert_every_call_is_stored_once(lab)
    lab.note("two streams, parent known")


def test_hooks_that_also_run_through_claude_codes_settings_are_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    line = lab.program.te("setup", "claude_code", "--print-hook").strip()
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd")
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"{line} --event {event} --via settings"}]}]
        for event in events
    }
    (lab.sandbox.project / ".claude").mkdir()
    (lab.sandbox.project / ".claude" / "settings.json").write_text(
        json.dumps({"hooks": hooks}), encoding="utf-8"
    )
    lab.sandbox.trust_project()
    lab.run_installed()

    assert {event.data["host"] for event in lab.program.events("started")} == {"copilot"}
    topics = Counter(event.topic.removeprefix("session.") for event in lab.program.events())
    once = ("started", "prompt_submitted", "redirected", "stop_hinted", "turn_ended", "ended")
    assert [topics[topic] for topic in once] == [1] * len(once)
    assert_every_call_is_stored_once(lab)
    (redirected,) = lab.program.events("redirected")
    assert len(lab.bringing(str(redirected.data["text"]))) == 1
    lab.note("two registrations, every call stored once")


def retire_all_facts(lab: Lab[CopilotSandbox]) -> None:
    """Have the repository's next sessions be told nothing, as the store and the home have it."""
    here = ("--repo", str(lab.sandbox.project))
    for fact in json.loads(lab.program.te("facts", "list", "--json", *here)):
        lab.program.te("facts", "retire", fact["id"], *here)
    lab.program.look(lab.sandbox.project)
    assert lab.program.te("facts", "block", *here).strip() == ""


@pytest.mark.parametrize("daemon_answers", [True, False], ids=["with a daemon", "without a daemon"])
def test_facts_are_in_the_first_request_and_the_same_bytes_after_a_resume(
    make_lab: MakeLab, *, daemon_answers: bool
) -> None:
    lab = make_lab(taught)
    with lab.server:
        lab.sandbox.trust_project()
        block = lab.teach()
        untold = len(lab.requests())
        lab.sandbox.run("Which tests pass?")
        retire_all_facts(lab)
        with nullcontext() if daemon_answers else absent(lab.program):
            lab.sandbox.resume("And now?")
        lab.program.settle()

    assert f"`{GREEN_TESTS}`" in block
    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert {times_told(request, block) for request in before} == {0}
    assert len(after) == 4
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert_one_growing_prefix(after)
    how = "" if daemon_answers else " from disk"
    lab.note(f"facts in the first request, the same bytes{how} after a resume, though they had changed")


def test_a_resumed_session_goes_on_in_its_stream_and_one_without_facts_stays_so(make_lab: MakeLab) -> None:
    lab = make_lab(two_prompts)
    lab.run_installed()

    assert len(lab.program.events("started")) == 1
    assert [event.data["source"] for event in lab.program.events("resumed")][-1] == "resume"
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2]
    assert [event.data["reason"] for event in lab.program.events("turn_ended")] == ["stop", "stop"]
    assert lab.program.events("facts_injected") == []
    assert_prefixes_are_untouched(lab)
    lab.note("one stream over two processes")


def test_a_repository_that_nobody_trusts_is_told_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = lab.teach()
        lab.sandbox.run("Which tests pass?")

    assert {times_told(request, block) for request in lab.requests()} == {0}
    assert lab.program.events("facts_injected") == []
    lab.note("no trust, no facts")


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab[CopilotSandbox], Finished[str]], name: str
) -> None:
    bare, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with TROUBLES[name](lab.program, lambda: bool(lab.requests())):
        (run,) = lab.run()

    assert run.exit_code == without.exit_code
    assert str(lab.scenario.replies[-1].blocks[0]["text"]) in run.output
    assert_the_model_saw_the_same(lab, bare)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged, every call stored after it")


def test_a_daemon_in_trouble_costs_no_more_than_the_hooks_deadlines(make_lab: MakeLab) -> None:
    assert_within_the_hooks_deadlines(make_lab)


@pytest.mark.parametrize("settings", [None, USERS_OWN_SETTINGS], ids=["fresh home", "own hooks and settings"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, settings: str | None) -> None:
    lab = make_lab(honest_fix)
    path = lab.sandbox.agent_folder / "settings.json"
    if settings is not None:
        path.parent.mkdir(parents=True)
        path.write_text(settings, encoding="utf-8")
    lab.install()
    installed = path.read_bytes()
    lab.install()
    assert path.read_bytes() == installed
    with daemon_running(lab.program):
        lab.run()
        assert path.read_bytes() == installed
        lab.program.te("setup", "copilot", "--uninstall")

    assert len(lab.program.events("tool_returned")) == lab.scenario.tool_calls
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == settings
    # Our own home holds the user's history and stays.
    ours = ".tokeneconomizer"
    agent_files = [found for found in mentions_of_us(lab.sandbox.home) if ours not in found.parts]
    assert agent_files == []
    lab.note("uninstalled: settings with their comments byte for byte, no mention of us")


def test_denied_servers_are_gone_from_the_request_and_come_back(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab(scenarios.asks_a_server)
    server = lab.sandbox.home / "server.py"
    server.write_text(MCP_SERVER, encoding="utf-8")
    entry = {"type": "local", "command": "python3", "args": [str(server)], "tools": ["*"]}
    lab.sandbox.trust_project()
    servers = {"mcpServers": {"lab": entry, "other": entry}}
    (lab.sandbox.agent_folder / "mcp-config.json").write_text(json.dumps(servers), encoding="utf-8")
    deny_list = DenyList(
        Home(tmp_path / "state"), AgentHomes(lab.sandbox.home), "copilot", lab.sandbox.project
    )

    lab.install()
    with lab.server, daemon_running(lab.program):
        before = tools_of_a_new_session(lab)
        assert deny_list.apply(["lab"]).written
        denied = tools_of_a_new_session(lab)
        assert deny_list.restore().written
        after = tools_of_a_new_session(lab)
    assert {"lab-look", "lab-ask", "other-look", "other-ask"} <= set(before)
    assert denied == {name: tool for name, tool in before.items() if not name.startswith("lab-")}
    assert after == before
    (called,) = lab.program.events("tool_called")
    assert (called.data["tool"], called.data["kind"], called.data["server"]) == ("lab-look", "mcp", "lab")
    lab.note("a denied server's tools gone from the request, and back")


def tools_of_a_new_session(lab: Lab[CopilotSandbox]) -> dict[str, object]:
    sent = len(lab.requests())
    assert lab.sandbox.run("Say hello.").exit_code == 0
    tools = lab.requests()[sent].body["tools"]
    return {tool["function"]["name"]: tool for tool in tools}  # type: ignore[attr-defined]


def test_a_side_call_has_no_tools_and_leaves_no_session(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.asked)
    lab.install()
    asking = SideCalls({"copilot": lab.sandbox.environment()})
    with lab.server, daemon_running(lab.program):
        call = asking.ready("copilot", Question("You judge.", "the digest"))
        answer = asyncio.run(asking.ask("copilot", call))

    assert call.environment[MARK] == "1"
    assert (answer.text, answer.cost_usd) == ('{"verdict": "stuck"}', None)
    (request,) = lab.server.requests
    assert not request.has_tools
    assert "the digest" in json.dumps(request.body)
    assert lab.sandbox.sessions() == []
    assert lab.program.events("started") == []
    lab.note("one request without tools, its session removed, no hook heard")

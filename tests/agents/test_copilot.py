"""
The real GitHub Copilot CLI with our plugin really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import asyncio
import itertools
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import copilot_scenarios as scenarios
import pytest
from copilot import COPILOT_VERSION, CopilotSandbox
from daemon_troubles import a_daemon_killed_in_mid_session, a_daemon_that_never_answers, no_daemon_can_start
from installed_program import SETTLING_S_MAX, Program, daemon_running, mentions_of_us
from model_server import LoggedRequest, ModelServer
from prompt_blocks import conversations, first_prefix_difference, messages_prefix_identical, new_text
from sandbox import Finished
from scenarios import Scenario
from smoke_ledger import LedgerRow, add_row

from tokeneconomizer.hosts.hook.te_hook_core import COLD_DEADLINE_S, HOOK_DEADLINE_S
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.side_call import MARK, Question
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.side_calls import SideCalls

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

RUNS = 5  # a median of so many
ALLOWANCE = 1.2  # beyond the hooks' own deadlines: the machine has other work, too

MakeScenario = Callable[[Path], Scenario]


class Lab:
    """A sandbox with our program beside it, and the model's log."""

    def __init__(self, folder: Path, binary: Path, make_scenario: MakeScenario) -> None:
        self.scenario = make_scenario(folder / "home" / "project")
        self.server = ModelServer(self.scenario.replies)
        path = {"PATH": f"{binary.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        self.sandbox = CopilotSandbox(
            folder, binary=binary, openai_url=self.server.openai_url, extra_environment=path
        )
        self.program = Program(self.sandbox.home)

    @property
    def folder(self) -> Path:
        """The agent's own folder."""
        return self.sandbox.home / ".copilot"

    def install(self) -> None:
        self.program.te("setup", "copilot")

    def trust_project(self) -> None:
        self.folder.mkdir(exist_ok=True)
        trusted = json.dumps({"trustedFolders": [str(self.sandbox.project)]})
        (self.folder / "config.json").write_text(f"// of the user\n{trusted}\n", encoding="utf-8")

    def run(self) -> list[Finished[str]]:
        """Give the prompts, each in a process of its own; those after the first resume the session."""
        with self.server:
            return [
                self.sandbox.run(prompt, *(("--continue",) if index else ()))
                for index, prompt in enumerate(self.scenario.prompts)
            ]

    def requests(self) -> list[LoggedRequest]:
        return self.server.loop_requests

    def results_sent(self) -> int:
        """How many results of calls the model was sent, each once, those of refused calls too."""
        ids = {
            str(message.get("tool_call_id"))
            for request in self.requests()
            for message in request.body["messages"]  # type: ignore[attr-defined]
            if message["role"] == "tool"
        }
        return len(ids)

    def sessions(self) -> list[str]:
        return sorted(path.parent.name for path in (self.folder / "session-state").glob("*/events.jsonl"))

    def note(self, result: str) -> None:
        row = LedgerRow("Copilot CLI", COPILOT_VERSION, self.scenario.name, result, self.program.summary())
        add_row(row)


MakeLab = Callable[[MakeScenario], Lab]


@pytest.fixture
def make_lab(tmp_path: Path, copilot_binary: Path) -> Iterator[MakeLab]:
    made: list[Lab] = []

    def make(make_scenario: MakeScenario) -> Lab:
        made.append(Lab(tmp_path / f"lab-{len(made)}", copilot_binary, make_scenario))
        return made[-1]

    yield make
    for lab in made:
        lab.program.stop()


def assert_every_call_is_stored_once(lab: Lab) -> None:
    called = Counter((event.stream, event.data["call_id"]) for event in lab.program.events("tool_called"))
    returned = Counter((event.stream, event.data["call_id"]) for event in lab.program.events("tool_returned"))
    assert set(called.values()) <= {1}
    assert called == returned
    assert len(called) == lab.results_sent()


def assert_prefixes_are_untouched(lab: Lab) -> None:
    for conversation in conversations(lab.requests()):
        assert messages_prefix_identical(conversation), first_prefix_difference(conversation)


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.looping)
    lab.install()
    with daemon_running(lab.program):
        (run,) = lab.run()

    (redirected,) = lab.program.events("redirected")
    (hinted,) = lab.program.events("stop_hinted")
    requests = lab.requests()
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    assert requests_that_bring(str(redirected.data["text"]), requests) == [
        returned.index(redirected.data["call_id"]) + 1  # one call a step in this scenario
    ]
    assert_prefixes_are_untouched(lab)
    assert as_shown(str(hinted.data["text"])) in as_shown(run.output)
    assert hinted.data["echo"] is False
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in requests)
    assert_every_call_is_stored_once(lab)
    assert {event.data["exit_code"] for event in lab.program.events("tool_returned")} == {None, 1}
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint shown, prefixes identical")


def test_a_terminal_session_is_heard_and_shows_its_hint(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.looping)
    lab.trust_project()
    lab.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal() as terminal:
        terminal.wait_for("/ commands")
        terminal.submit(lab.scenario.prompts[0])
        terminal.wait_for("this turn is still going in circles")

    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"]
    assert len(lab.program.events("stop_hinted")) == 1
    lab.note("terminal: hooks fire at once, hint shown")


def requests_that_bring(text: str, requests: list[LoggedRequest]) -> list[int]:
    """The numbers of the requests that hold a text which the one before did not hold."""
    pairs = enumerate(itertools.pairwise(requests), start=1)
    return [number for number, (before, after) in pairs if text in json_text(new_text(before, after))]


def json_text(text: str) -> str:
    return text.replace('\\"', '"')


def as_shown(text: str) -> str:
    """A text without what the terminal does to it: lines are wrapped, and Markdown is drawn."""
    return "".join(text.replace("`", "").split())


def test_a_turn_of_failing_calls_is_redirected_as_well(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.failing_looks)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    redirected = lab.program.events("redirected")[0]
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    holding = requests_that_bring(str(redirected.data["text"]), lab.requests())
    assert holding[0] == returned.index(redirected.data["call_id"]) + 1
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("redirect beside a failed result")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.honest_fix)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    assert lab.program.events("redirected") == lab.program.events("gate_fired") == []
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
    (lab.folder / "hooks").mkdir(parents=True)
    (lab.folder / "hooks" / "own.json").write_text(json.dumps({"version": 1, "hooks": own}), encoding="utf-8")
    lab.install()
    with daemon_running(lab.program):
        lab.run()

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
    lab = make_lab(scenarios.sub_agent)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

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
    lab = make_lab(scenarios.looping)
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
    lab.trust_project()
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    assert {event.data["host"] for event in lab.program.events("started")} == {"copilot"}
    topics = Counter(event.topic.removeprefix("session.") for event in lab.program.events())
    once = ("started", "prompt_submitted", "redirected", "stop_hinted", "turn_ended", "ended")
    assert [topics[topic] for topic in once] == [1] * len(once)
    assert_every_call_is_stored_once(lab)
    (redirected,) = lab.program.events("redirected")
    assert len(requests_that_bring(str(redirected.data["text"]), lab.requests())) == 1
    lab.note("two registrations, every call stored once")


def taught(lab: Lab) -> str:
    """Let two sessions find out something, and return the block for the next one."""
    lab.install()
    lab.program.start()
    for prompt in lab.scenario.prompts:
        lab.sandbox.run(prompt)
    return lab.program.learn(lab.sandbox.project)


def times_told(request: LoggedRequest, block: str) -> int:
    """How often a request holds the block."""
    return json.dumps(request.body, ensure_ascii=False).count(json.dumps(block, ensure_ascii=False)[1:-1])


def retire_all_facts(lab: Lab) -> None:
    """Have the repository's next sessions be told nothing, as the store and the home have it."""
    here = ("--repo", str(lab.sandbox.project))
    for fact in json.loads(lab.program.te("facts", "list", "--json", *here)):
        lab.program.te("facts", "retire", fact["id"], *here)
    lab.program.te("facts", "list", *here)  # brings the view up to date
    lab.program.stop()
    lab.program.start()
    deadline = time.monotonic() + SETTLING_S_MAX
    while lab.program.te("facts", "block", *here).strip():
        assert time.monotonic() < deadline, "no other block was rendered"


@pytest.mark.parametrize("daemon_answers", [True, False], ids=["with a daemon", "without a daemon"])
def test_facts_are_in_the_first_request_and_the_same_bytes_after_a_resume(
    make_lab: MakeLab, *, daemon_answers: bool
) -> None:
    lab = make_lab(scenarios.taught)
    with lab.server:
        lab.trust_project()
        block = taught(lab)
        untold = len(lab.requests())
        lab.sandbox.run("Which tests pass?")
        retire_all_facts(lab)
        lab.program.stop()
        with nullcontext() if daemon_answers else no_daemon_can_start(lab.program):
            if daemon_answers:
                lab.program.start()
            lab.sandbox.run("And now?", "--continue")
        lab.program.settle()

    assert "`python3 -m unittest tests.test_pricing -k gross`" in block
    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert {times_told(request, block) for request in before} == {0}
    assert len(after) == 4
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert messages_prefix_identical(after), first_prefix_difference(after)
    how = "" if daemon_answers else " from disk"
    lab.note(f"facts in the first request, the same bytes{how} after a resume, though they had changed")


def test_a_resumed_session_goes_on_in_its_stream_and_one_without_facts_stays_so(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.two_prompts)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    assert len(lab.program.events("started")) == 1
    assert [event.data["source"] for event in lab.program.events("resumed")][-1] == "resume"
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2]
    assert [event.data["reason"] for event in lab.program.events("turn_ended")] == ["stop", "stop"]
    assert lab.program.events("facts_injected") == []
    assert_prefixes_are_untouched(lab)
    lab.note("one stream over two processes")


def test_a_repository_that_nobody_trusts_is_told_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.taught)
    with lab.server:
        block = taught(lab)
        lab.sandbox.run("Which tests pass?")

    assert {times_told(request, block) for request in lab.requests()} == {0}
    assert lab.program.events("facts_injected") == []
    lab.note("no trust, no facts")


TROUBLES: dict[str, Callable[[Program], AbstractContextManager[None]]] = {
    "started by the first hook": lambda _: nullcontext(),
    "absent": no_daemon_can_start,
    "slow": a_daemon_that_never_answers,
    "killed": a_daemon_killed_in_mid_session,
}


@pytest.fixture(scope="module")
def run_without_us(
    tmp_path_factory: pytest.TempPathFactory, copilot_binary: Path
) -> tuple[Lab, Finished[str]]:
    bare = Lab(tmp_path_factory.mktemp("bare") / "lab", copilot_binary, scenarios.honest_fix)
    (run,) = bare.run()
    return bare, run


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab, Finished[str]], name: str
) -> None:
    bare, run_without = run_without_us
    lab = make_lab(scenarios.honest_fix)
    lab.install()
    with TROUBLES[name](lab.program):
        (run,) = lab.run()

    assert run.exit_code == run_without.exit_code
    assert lab.scenario.replies[-1].blocks[0]["text"] in run.output  # type: ignore[operator]
    assert [len(request.blocks) for request in lab.requests()] == [
        len(request.blocks) for request in bare.requests()
    ]
    assert_prefixes_are_untouched(lab)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged, every call stored after it")


def test_a_daemon_in_trouble_costs_no_more_than_the_hooks_deadlines(make_lab: MakeLab) -> None:
    labs = {name: make_lab(scenarios.greetings) for name in ("without us", "absent", "slow", "killed")}
    seconds: dict[str, list[float]] = {name: [] for name in labs}
    for name, lab in labs.items():
        if name != "without us":
            lab.install()
        standing = {"absent": no_daemon_can_start, "slow": a_daemon_that_never_answers}.get(name)
        with lab.server, standing(lab.program) if standing else nullcontext():
            lab.sandbox.run("Say hello.")  # the very first start makes files
            for _ in range(RUNS):
                # A daemon that was slow is left alone for a while: each run is to meet it anew.
                (lab.program.home / "daemon.slow").unlink(missing_ok=True)
                if name == "killed":
                    lab.program.start()
                    lab.program.kill()
                seconds[name].append(lab.sandbox.run("Say hello.").seconds)

    medians = {name: statistics.median(times) for name, times in seconds.items()}
    # Start, prompt, stop and end of a session: the first one waits for the slow daemon, the others do not.
    hooks = 4
    added = {
        "absent": hooks * COLD_DEADLINE_S,
        "slow": HOOK_DEADLINE_S + hooks * COLD_DEADLINE_S,
        "killed": hooks * COLD_DEADLINE_S,
    }
    for name, deadlines in added.items():
        assert medians[name] <= (medians["without us"] + deadlines) * ALLOWANCE
    told = ", ".join(f"{name} {median:.2f} s" for name, median in medians.items())
    labs["slow"].program.settle()
    labs["slow"].note(f"median of {RUNS}: {told}")


@pytest.mark.parametrize("settings", [None, USERS_OWN_SETTINGS], ids=["fresh home", "own hooks and settings"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, settings: str | None) -> None:
    lab = make_lab(scenarios.honest_fix)
    path = lab.folder / "settings.json"
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
    lab.trust_project()
    servers = {"mcpServers": {"lab": entry, "other": entry}}
    (lab.folder / "mcp-config.json").write_text(json.dumps(servers), encoding="utf-8")
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


def tools_of_a_new_session(lab: Lab) -> dict[str, object]:
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
    assert lab.sessions() == []
    assert lab.program.events("started") == []
    lab.note("one request without tools, its session removed, no hook heard")

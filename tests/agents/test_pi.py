"""
The real Pi with our extension really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import itertools
import json
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext
from pathlib import Path

import pytest
from installed_program import Program, daemon_running, mentions_of_us
from model_server import LoggedRequest, ModelServer
from pi import MODEL, PI_VERSION, PiProgram, PiSandbox
from pi_scenarios import HONEST_FIX, JUDGED, LOOPING, PARALLEL_MIXED, TAUGHT
from prompt_blocks import JsonObject, as_list, first_prefix_difference, new_text
from replies import Reply, say
from sandbox import Agent, Finished
from scenarios import JUDGE_SYSTEM, Scenario, step
from smoke_ledger import LedgerRow, add_row
from terminal import Terminal

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import held

pytestmark = pytest.mark.agents

OPEN = "<tokeneconomizer>"
SILENT_REPLY = b"TE1 99.0.0 2\n{}"


class Lab:
    """A sandbox with our program beside it, and the model's log."""

    def __init__(self, folder: Path, agent: PiProgram, scenario: Scenario) -> None:
        self.scenario = scenario
        self.server = ModelServer(scenario.replies)
        commands = (agent.cli.parent, agent.node.parent, os.environ.get("PATH", os.defpath))
        self.sandbox = PiSandbox(
            folder,
            program=agent,
            openai_url=self.server.openai_url,
            extra_environment={"PATH": os.pathsep.join(map(str, commands))},
        )
        settings = {"defaultProvider": "scripted", "defaultModel": "scripted-model"}
        (self.sandbox.agent_folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        self.program = Program(self.sandbox.home)

    def install(self) -> None:
        self.program.te("setup", "pi")

    def run(self) -> Finished[str]:
        """Run the scenario's first prompt."""
        with self.server:
            return self.sandbox.run(self.scenario.prompts[0])

    def requests(self) -> list[LoggedRequest]:
        return self.server.loop_requests

    def calls_in_requests(self) -> list[str]:
        """The ids of all calls whose results were sent to the model."""
        messages = [message for request in self.requests() for message in as_list(request.body["messages"])]
        return sorted({message["tool_call_id"] for message in messages if message["role"] == "tool"})  # type: ignore[index,call-overload] - JSON

    def note(self, result: str) -> None:
        add_row(LedgerRow("Pi", PI_VERSION, self.scenario.name, result, self.program.summary()))


MakeLab = Callable[[Scenario], Lab]


@pytest.fixture
def make_lab(tmp_path: Path, pi_program: PiProgram) -> Iterator[MakeLab]:
    made: list[Lab] = []

    def make(scenario: Scenario) -> Lab:
        made.append(Lab(tmp_path / f"lab-{len(made)}", pi_program, scenario))
        return made[-1]

    yield make
    for lab in made:
        lab.program.stop()


def assert_every_call_is_stored_once(lab: Lab) -> None:
    called = Counter(event.data["call_id"] for event in lab.program.events("tool_called"))
    returned = Counter(event.data["call_id"] for event in lab.program.events("tool_returned"))
    assert sorted(map(str, called)) == lab.calls_in_requests()
    assert set(called.values()) == {1}
    assert called == returned


def assert_prefixes_are_untouched(requests: list[LoggedRequest]) -> None:
    assert first_prefix_difference(requests) is None


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(LOOPING)
    lab.install()
    with daemon_running(lab.program):
        run = lab.run()

    (redirected,) = lab.program.events("redirected")
    (hinted,) = lab.program.events("stop_hinted")
    text = str(redirected.data["text"])
    holding = [
        number
        for number, (before, after) in enumerate(itertools.pairwise(lab.requests()), start=1)
        if text in new_text(before, after)
    ]
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    assert holding == [returned.index(redirected.data["call_id"]) + 1]  # one call a step in this scenario
    assert_prefixes_are_untouched(lab.requests())
    assert (run.exit_code, run.stderr) == (0, f"{hinted.data['text']}\n")
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in lab.requests())
    assert_every_call_is_stored_once(lab)
    (turn,) = lab.program.events("context_accounted")
    assert turn.data["window_tokens"] == 128_000
    assert turn.data["used_tokens"]
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint on stderr, prefixes identical, window told")


def test_calls_that_succeed_fail_and_never_run_side_by_side_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(PARALLEL_MIXED)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

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
    lab = make_lab(PARALLEL_MIXED)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

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
    lab = make_lab(LOOPING)
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
        program = lab.sandbox.program
        arguments = [program.node, program.cli, "--model", MODEL, "--mode", "rpc"]
        run = lab.sandbox.converse(arguments, conversation(commands))

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
    lab = make_lab(LOOPING)
    lab.install()
    program = lab.sandbox.program
    arguments = [str(program.node), str(program.cli), "--model", MODEL]
    with (
        daemon_running(lab.program),
        lab.server,
        Terminal(arguments, lab.sandbox.project, lab.sandbox.environment()) as terminal,
    ):
        terminal.wait_for("scripted-model")
        terminal.submit(lab.scenario.prompts[0])
        terminal.wait_for("still going in circles")
        terminal.wait_for("The test still fails.")

    assert len(lab.program.events("stop_hinted")) == 1
    assert "delivery_failed" not in {event.topic for event in lab.program.events()}
    lab.note("in the terminal: hint shown")


def taught(lab: Lab) -> str:
    """Let two sessions find out something, and return the block for the next one."""
    lab.install()
    lab.program.start()
    for prompt in lab.scenario.prompts:
        lab.sandbox.run(prompt)
    block = lab.program.learn(lab.sandbox.project)
    trusted = {str(lab.sandbox.project): True}
    (lab.sandbox.agent_folder / "trust.json").write_text(json.dumps(trusted), encoding="utf-8")
    return block


@contextmanager
def no_daemon_can_start(program: Program) -> Iterator[None]:
    program.home.mkdir(mode=0o700, exist_ok=True)
    program.stop()
    with held(program.home / "daemon.lock"):
        yield


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
    [("off", facts_switched_off), ("changed", facts_forgotten), ("unreachable", no_daemon_can_start)],
)
def test_facts_are_in_the_first_request_and_the_same_bytes_on_resume_and_fork(
    make_lab: MakeLab, name: str, since: Callable[[Program], AbstractContextManager[None]]
) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        untold = len(lab.requests())
        lab.sandbox.run("Which test fails?")
        with since(lab.program):
            lab.sandbox.run("And what does git say?", "-c")
            session = str(lab.program.events("started")[-1].data["session_id"])
            lab.sandbox.run("Once more.", "--fork", session)
            lab.sandbox.run("And again.", "-c")
        lab.program.settle()

    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert len(after) == 4
    assert not any(OPEN in json.dumps(request.body) for request in before)
    told = f"{OPEN}\n{block}\n</tokeneconomizer>"
    assert {request.prompt.system.count(json.dumps(told, ensure_ascii=False)[1:-1]) for request in after} == {
        1
    }
    assert_prefixes_are_untouched(after)
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"] * 3 + ["resume"]
    lab.note(f"facts in the first request; facts {name}: resume and fork byte-identical")


def test_facts_need_trust_and_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    trust = lab.sandbox.agent_folder / "trust.json"
    with lab.server:
        block = taught(lab)
        trusting = trust.read_bytes()
        trust.write_text("{}", encoding="utf-8")
        lab.sandbox.run("Which test fails?")
        untold = len(lab.requests())
        trust.write_bytes(trusting)
        lab.program.stop()
        lab.program.start()  # what a checkout's agents may be told is noted for starts without a daemon
        with no_daemon_can_start(lab.program):
            lab.sandbox.run("Which test fails?")
        lab.program.settle()

    before, (request,) = lab.requests()[:untold], lab.requests()[untold:]
    assert not any(OPEN in json.dumps(request.body) for request in before)
    assert json.dumps(block, ensure_ascii=False)[1:-1] in request.prompt.system
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("no trust, no facts; facts from disk without a daemon, stored afterwards")


Talk = Callable[[socket.socket], None]


@contextmanager
def a_daemon_that(program: Program, talk: Talk) -> Iterator[None]:
    """A socket under the daemon's own lock; `talk` has each connection."""
    program.home.mkdir(mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    with chdir(program.home):  # a socket's path may have about 104 bytes
        listener.bind("daemon.sock")
    listener.listen(64)
    kept: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=talk, args=(kept[-1],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    with held(program.home / "daemon.lock"):
        yield
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for connection in [listener, *kept]:
        connection.close()
    (program.home / "daemon.sock").unlink()


def replying(reply: bytes, *, hang_up: bool = False) -> Talk:
    """Return a daemon's part that says the same to whatever comes."""

    def talk(connection: socket.socket) -> None:
        try:
            while connection.recv(1_000_000):
                connection.sendall(reply)
                if hang_up:
                    connection.close()
                    return
        except OSError:
            return

    return talk


def silent(_connection: socket.socket) -> None:
    """Say nothing for ever."""


@contextmanager
def a_dead_socket(program: Program) -> Iterator[None]:
    program.home.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as left, chdir(program.home):
        left.bind("daemon.sock")
    with held(program.home / "daemon.lock"):
        yield


@contextmanager
def a_daemon_killed_in_mid_session(program: Program) -> Iterator[None]:
    program.start()
    killer = threading.Timer(1.5, program.kill)
    killer.start()
    yield
    killer.join()


@contextmanager
def a_daemon_restarted_in_mid_session(program: Program) -> Iterator[None]:
    program.start()
    # The next call starts another one.
    restarter = threading.Timer(1.0, program.stop)
    restarter.start()
    yield
    restarter.join()


TROUBLES: list[tuple[str, Callable[[Program], AbstractContextManager[None]]]] = [
    ("started by the first call", lambda _program: nullcontext()),
    ("absent", no_daemon_can_start),
    ("refusing", a_dead_socket),
    ("slow", lambda program: a_daemon_that(program, silent)),
    ("killed", a_daemon_killed_in_mid_session),
    ("restarted", a_daemon_restarted_in_mid_session),
    (
        "hanging up in mid-reply",
        lambda program: a_daemon_that(program, replying(b"TE1 0.1.0 400\n{", hang_up=True)),
    ),
    ("talking garbage", lambda program: a_daemon_that(program, replying(bytes(range(256)) * 100))),
]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, pi_program: PiProgram) -> tuple[Lab, Finished[str]]:
    """The same run without us."""
    lab = Lab(tmp_path_factory.mktemp("bare"), pi_program, HONEST_FIX)
    return lab, lab.run()


@pytest.mark.parametrize(("name", "trouble"), TROUBLES, ids=[name for name, _ in TROUBLES])
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab,
    bare: tuple[Lab, Finished[str]],
    name: str,
    trouble: Callable[[Program], AbstractContextManager[None]],
) -> None:
    without, run_without = bare
    lab = make_lab(HONEST_FIX)
    lab.install()
    with trouble(lab.program):
        run = lab.run()

    assert (run.exit_code, run.output, run.stderr) == (run_without.exit_code, run_without.output, "")
    assert [len(request.blocks) for request in lab.requests()] == [
        len(request.blocks) for request in without.requests()
    ]
    assert_prefixes_are_untouched(lab.requests())
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged ({run.seconds:.1f} s, {run_without.seconds:.1f} s without us)")


def test_a_daemon_of_another_version_changes_nothing_in_the_agents_run(
    make_lab: MakeLab, bare: tuple[Lab, Finished[str]]
) -> None:
    _, run_without = bare
    lab = make_lab(HONEST_FIX)
    lab.install()
    with a_daemon_that(lab.program, replying(SILENT_REPLY)):
        run = lab.run()

    assert (run.exit_code, run.output, run.stderr) == (run_without.exit_code, run_without.output, "")
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
    lab = make_lab(HONEST_FIX)
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
    lab = make_lab(JUDGED)
    lab.install()
    lab.program.te("config", "set", "judge", "auto")
    lab.program.te("config", "set", "guard.gate_calls", "10")
    with daemon_running(lab.program):
        lab.run()

    (asked,) = [request for request in lab.server.requests if JUDGE_SYSTEM in json.dumps(request.body)]
    assert not asked.has_tools
    assert "test -f" in json.dumps(asked.body)
    assert str(lab.sandbox.home) not in json.dumps(asked.body)
    assert len(list((lab.sandbox.agent_folder / "sessions").iterdir())) == 1
    assert [len(lab.program.events(kind)) for kind in ("started", "gate_fired", "judge_asked")] == [1, 1, 1]
    (verdict,) = lab.program.events("verdict_given")
    assert (verdict.data["verdict"], verdict.data["confidence"]) == ("stuck", 0.9)
    (redirected,) = lab.program.events("redirected")
    before, after = lab.requests()[-2:]
    assert str(redirected.data["text"]) in new_text(before, after)
    assert_prefixes_are_untouched(lab.requests())
    (cost,) = [event for event in lab.program.events() if event.topic == "setup.side_call_made"]
    assert cost.data["cost_usd"] is not None
    lab.note("one side call: no tools, no extension, no session; its verdict beside a later result")


def test_denied_tools_are_gone_from_a_new_session_and_come_back(make_lab: MakeLab, tmp_path: Path) -> None:
    said: list[Reply] = [step(say("Hello.")) for _ in range(4)]
    lab = make_lab(Scenario("pruning", ("Say hello.",), said, flags=()))
    lab.install()
    (lab.sandbox.project / ".pi").mkdir()
    settings = {"defaultTools": ["+grep", "+find"]}
    (lab.sandbox.project / ".pi/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    trusted = {str(lab.sandbox.project): True}
    (lab.sandbox.agent_folder / "trust.json").write_text(json.dumps(trusted), encoding="utf-8")
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
        lab.sandbox.run("Say hello.", "-c")
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
    lab = make_lab(Scenario("servers", ("Say hello.",), [step(say("Hello."))], flags=()))
    lab.install()
    folder = lab.sandbox.project / ".pi"
    folder.mkdir()
    (folder / "server.py").write_text(MCP_SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": [str(folder / "server.py")], "exposure": "direct"}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"issues": server}}), encoding="utf-8")
    settings = {"defaultTools": ["-write", "-mcp__issues__list"]}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    trusted = {str(lab.sandbox.project): True}
    (lab.sandbox.agent_folder / "trust.json").write_text(json.dumps(trusted), encoding="utf-8")
    with daemon_running(lab.program):
        lab.run()

    (request,) = lab.requests()
    assert set(request.prompt.tools) == {"read", "bash", "edit", "mcp__issues__list"}
    (recorded,) = [event for event in lab.program.events() if event.topic == "tool_prune.catalog_recorded"]
    offered = json.loads(str(recorded.data["catalog"]))
    assert {tool["name"]: tool["server"] for tool in offered}["mcp__issues__list"] == "issues"
    assert TARGETS["pi"].unit_of("mcp__issues__list", "issues") == ""
    lab.note("a server's tool: in the catalogue, and left alone")

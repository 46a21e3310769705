"""
The real Codex with our plugin really installed and its hooks approved, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import itertools
import json
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from codex import CODE_MODE_MODEL, CODEX_VERSION, DIRECT_MODEL, CodexSandbox
from codex_scenarios import (
    CODE_MODE,
    COMPACTED,
    FAILING_PATCHES,
    GREEN_TESTS,
    HONEST_FIX,
    JUDGED,
    LOOPING,
    MIXED,
    SHORT,
    SUBAGENT,
    TAUGHT,
)
from daemon_troubles import a_daemon_killed_in_mid_session, a_daemon_that_never_answers, no_daemon_can_start
from installed_program import Program, daemon_running, mentions_of_us
from model_server import LoggedRequest, ModelServer
from prompt_blocks import (
    as_list,
    as_object,
    conversations,
    first_prefix_difference,
    messages_prefix_identical,
    new_text,
)
from sandbox import Finished
from scenarios import JUDGE_SYSTEM, Scenario
from smoke_ledger import LedgerRow, add_row
from terminal import DOWN, ENTER, Terminal

from tokeneconomizer.hosts.hook import te_hook_core

pytestmark = pytest.mark.agents


class Lab:
    """A sandbox with our program installed beside it, and the model's log."""

    def __init__(self, folder: Path, binary: Path, scenario: Scenario, model: str) -> None:
        self.scenario = scenario
        self.server = ModelServer(scenario.replies)
        path = {"PATH": f"{binary.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        self.sandbox = CodexSandbox(
            folder, binary=binary, openai_url=self.server.openai_url, model=model, extra_environment=path
        )
        self.program = Program(self.sandbox.home)

    def install(self) -> None:
        self.program.te("setup", "codex")
        self.sandbox.approve_hooks()

    def run(self) -> Finished[str]:
        (prompt,) = self.scenario.prompts
        with self.server:
            return self.sandbox.run(prompt)

    def requests(self) -> list[LoggedRequest]:
        return self.server.loop_requests

    def calls_in_requests(self) -> list[str]:
        """The ids of all calls whose results were sent to the model."""
        items = [as_object(item) for request in self.requests() for item in as_list(request.body["input"])]
        outputs = {"function_call_output", "custom_tool_call_output"}
        return sorted({str(item["call_id"]) for item in items if item.get("type") in outputs})

    def stored_calls(self) -> list[tuple[str, str, object]]:
        """Tool, status and exit code of each stored call."""
        tools = {event.data["call_id"]: event.data["tool"] for event in self.program.events("tool_called")}
        return [
            (str(tools[event.data["call_id"]]), str(event.data["status"]), event.data["exit_code"])
            for event in self.program.events("tool_returned")
        ]

    def holding(self, text: str) -> list[int]:
        """The numbers of the requests in which the text is new."""
        pairs = enumerate(itertools.pairwise(self.requests()), start=1)
        return [number for number, pair in pairs if text in new_text(*pair)]

    def note(self, result: str) -> None:
        add_row(LedgerRow("Codex", CODEX_VERSION, self.scenario.name, result, self.program.summary()))


MakeLab = Callable[..., Lab]


@pytest.fixture
def make_lab(tmp_path: Path, codex_binary: Path) -> Iterator[MakeLab]:
    made: list[Lab] = []

    def make(scenario: Scenario, model: str = DIRECT_MODEL) -> Lab:
        made.append(Lab(tmp_path / f"lab-{len(made)}", codex_binary, scenario, model))
        return made[-1]

    yield make
    for lab in made:
        lab.program.stop()


def assert_every_call_is_stored_once(lab: Lab) -> None:
    called = Counter(event.data["call_id"] for event in lab.program.events("tool_called"))
    returned = Counter(event.data["call_id"] for event in lab.program.events("tool_returned"))
    assert sorted(called) == lab.calls_in_requests()
    assert set(called.values()) == {1}
    assert called == returned


def assert_prefixes_are_untouched(lab: Lab) -> None:
    for conversation in conversations(lab.requests()):
        assert messages_prefix_identical(conversation), first_prefix_difference(conversation)


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_its_hint_is_counted(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(LOOPING)
    lab.install()
    with daemon_running(lab.program):
        run = lab.run()
        status = json.loads(lab.program.te("status", "--json"))

    (redirected,) = lab.program.events("redirected")
    (hinted,) = lab.program.events("stop_hinted")
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    # One call a step in this scenario.
    assert lab.holding(str(redirected.data["text"])) == [returned.index(redirected.data["call_id"]) + 1]
    assert_prefixes_are_untouched(lab)
    assert status["counts"]["hints"] == 1
    shown = run.output + run.stderr + json.dumps([request.body for request in lab.requests()])
    assert str(hinted.data["text"]) not in shown
    assert_every_call_is_stored_once(lab)
    assert {("exec_command", "failed", 1), ("exec_command", "ok", 0)} <= set(lab.stored_calls())
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint counted and shown nowhere, prefixes identical")


def test_after_failures_without_a_hook_the_redirect_rides_on_the_next_call(make_lab: MakeLab) -> None:
    lab = make_lab(FAILING_PATCHES)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    (redirected,) = lab.program.events("redirected")
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    assert lab.holding(str(redirected.data["text"])) == [returned.index(redirected.data["call_id"]) + 2]
    assert {stored[:2] for stored in lab.stored_calls()} == {("apply_patch", "failed")}
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("patches that no PostToolUse tells: redirect with the next call's PreToolUse")


def test_calls_that_fail_and_never_run_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(MIXED)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    assert_every_call_is_stored_once(lab)
    assert sorted(map(str, lab.stored_calls())) == sorted(
        map(
            str,
            [
                ("exec_command", "ok", 0),
                ("exec_command", "ok", 0),
                ("exec_command", "failed", 1),
                ("no_such_tool", "never_ran", None),
                ("apply_patch", "failed", None),
                ("exec_command", "never_ran", None),
                ("view_image", "failed", None),
            ],
        )
    )
    second = {event.data["call_id"] for event in lab.program.events("tool_called") if event.data["step"] == 2}
    assert len(second) == 3
    lab.note("ok, failed and never-run calls stored once each, those of one reply as one step")


def test_in_code_mode_what_scripts_call_is_stored_and_judged(make_lab: MakeLab) -> None:
    lab = make_lab(CODE_MODE, CODE_MODE_MODEL)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    stored = Counter(lab.stored_calls())
    assert stored[("exec_command", "failed", 1)] == 5
    assert stored[("exec", "ok", None)] == 5
    (redirected,) = lab.program.events("redirected")
    assert len(lab.holding(str(redirected.data["text"]))) == 1
    assert_prefixes_are_untouched(lab)
    lab.note("scripts and what they call stored, redirect in the next request")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(HONEST_FIX)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    assert lab.program.events("redirected") == lab.program.events("gate_fired") == []
    assert "tokeneconomizer]" not in json.dumps([request.body for request in lab.requests()])
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("silence")


def test_a_sub_agent_is_a_stream_of_its_own(make_lab: MakeLab) -> None:
    lab = make_lab(SUBAGENT, CODE_MODE_MODEL)
    lab.install()
    with daemon_running(lab.program):
        lab.run()

    main, sub_agent = lab.program.events("started")
    assert main.data["agent_id"] == ""
    assert sub_agent.data["parent"] == main.stream
    calls = {(event.stream, event.data["tool"]) for event in lab.program.events("tool_called")}
    assert calls == {
        (main.stream, "spawn_agent"),
        (main.stream, "wait_agent"),
        (sub_agent.stream, "exec"),
        (sub_agent.stream, "exec_command"),
    }
    assert [event.stream for event in lab.program.events("ended")] == [sub_agent.stream, main.stream]
    lab.note("two streams, parent known")


def taught(lab: Lab) -> str:
    """Let two sessions find out something, and return the block for the next one."""
    lab.install()
    lab.program.start()
    for prompt in TAUGHT.prompts:
        lab.sandbox.run(prompt)
    return lab.program.learn(lab.sandbox.project)


def times_told(request: LoggedRequest, block: str) -> int:
    """How often a request holds the block."""
    return json.dumps(request.body, ensure_ascii=False).count(json.dumps(block, ensure_ascii=False)[1:-1])


def retire_facts(lab: Lab) -> None:
    """Have other facts on disk."""
    in_project = ("--repo", str(lab.sandbox.project))
    for fact in json.loads(lab.program.te("facts", "list", "--json", *in_project)):
        lab.program.te("facts", "retire", str(fact["id"]), *in_project)


def test_facts_are_in_the_first_request_and_stay_the_same_on_resume_and_fork(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        untold = len(lab.requests())
        lab.sandbox.run("Which test fails?")
        retire_facts(lab)
        resumed_at = len(lab.requests())
        lab.sandbox.resume("And what does git say?")
        forked_at = len(lab.requests())
        lab.sandbox.fork(session_of(lab), "Once more.")

    assert f"`{GREEN_TESTS}`" in block
    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert {times_told(request, block) for request in before} == {0}
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    for number in (resumed_at, forked_at):
        pair = lab.requests()[number - 1 : number + 1]
        assert messages_prefix_identical(pair), first_prefix_difference(pair)
    lab.note("facts in the first request; resume and fork with other facts on disk: prefix identical")


def session_of(lab: Lab) -> str:
    """The newest session."""
    return str(lab.program.events("started")[-1].data["session_id"])


def test_facts_are_given_again_after_compaction(make_lab: MakeLab) -> None:
    lab = make_lab(COMPACTED)
    with lab.server:
        block = taught(lab)
        untold = len(lab.requests())
        lab.sandbox.run("Look around.", "-c", "model_auto_compact_token_limit=50000")

    assert [event.data["trigger"] for event in lab.program.events("compacted")] == ["auto"]
    assert [event.data["source"] for event in lab.program.events("resumed")] == ["compact"]
    assert [times_told(request, block) for request in lab.requests()[untold:]][-1] == 1
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block] * 2
    assert lab.server.unused_replies == []
    lab.note("facts again after compaction, once")


def test_facts_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        lab.program.stop()
        untold = len(lab.requests())
        with no_daemon_can_start(lab.program):
            lab.sandbox.run("Which test fails?")
        lab.program.settle()

    assert {times_told(request, block) for request in lab.requests()[untold:]} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("facts from disk without a daemon, stored afterwards")


def test_untrusted_hooks_record_nothing_and_are_told_until_the_user_trusts_them(make_lab: MakeLab) -> None:
    lab = make_lab(SHORT)
    lab.program.te("setup", "codex")
    with daemon_running(lab.program), lab.server:
        lab.sandbox.run("Which test fails?")
        assert "hooks not trusted: nothing is recorded" in lab.program.te("status")
        assert "hooks not trusted" in lab.program.te("doctor", expected_status=1)
        assert lab.program.events("started") == []
        lab.sandbox.approve_hooks()
        lab.sandbox.run("Which test fails?")
        assert "not trusted" not in lab.program.te("status")

    assert set(lab.sandbox.hook_states().values()) == {"trusted"}
    assert len(lab.program.events("started")) == 1
    assert_every_call_of_the_last_session(lab)
    lab.note("untrusted: nothing recorded, told by te status; trusted: recorded")


def assert_every_call_of_the_last_session(lab: Lab) -> None:
    called = {str(event.data["call_id"]) for event in lab.program.events("tool_called")}
    assert len(called) == 2
    assert called < set(lab.calls_in_requests())


def test_the_judge_is_asked_once_without_hooks_and_servers_and_its_verdict_is_heard(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(JUDGED)
    started = lab.sandbox.home / "server-started"
    with lab.sandbox.configuration_path.open("a", encoding="utf-8") as config:
        config.write(f'\n[mcp_servers.demo]\ncommand = "sh"\nargs = ["-c", "echo 1 >> {started}"]\n')
    lab.install()
    started.unlink(missing_ok=True)
    lab.program.te("config", "set", "judge", "auto")
    lab.program.te("config", "set", "guard.gate_calls", "10")
    with daemon_running(lab.program):
        lab.run()

    (asked,) = [request for request in lab.server.requests if JUDGE_SYSTEM in json.dumps(request.body)]
    assert "test -f" in json.dumps(asked.body)
    assert str(lab.sandbox.home) not in json.dumps(asked.body)
    assert started.read_text(encoding="utf-8") == "1\n"  # by the agent itself, and not by the side call
    assert len(lab.sandbox.rollouts()) == 1
    assert [len(lab.program.events(kind)) for kind in ("started", "gate_fired", "judge_asked")] == [1, 1, 1]
    (verdict,) = lab.program.events("verdict_given")
    assert (verdict.data["verdict"], verdict.data["confidence"]) == ("stuck", 0.9)
    (redirected,) = lab.program.events("redirected")
    assert redirected.data["rule"] == "judge"
    assert len(lab.holding(str(redirected.data["text"]))) == 1
    assert lab.server.unused_replies == []
    lab.note("one side call: no hook, no MCP server, no log; its verdict beside a later result")


RUNS = 5
HOOK_DEADLINES_S = te_hook_core.HOOK_DEADLINE_S + te_hook_core.COLD_DEADLINE_S
HOOKS_OF_A_RUN = 6  # start, prompt, two results, stop, end
TOLERANCE = 1.2


def runs_of(
    lab: Lab, trouble: Callable[[Program], AbstractContextManager[None]]
) -> tuple[list[tuple[int, list[str]]], float]:
    """Run the scenario five times; return what came of each, and the median of their seconds."""
    outcomes, seconds = [], []
    with lab.server:
        for _ in range(RUNS):
            with trouble(lab.program):
                run = lab.sandbox.run(lab.scenario.prompts[0])
            lines = [as_object(json.loads(line)) for line in run.output.splitlines()]
            outcomes.append((run.exit_code, [str(line["type"]) for line in lines]))
            seconds.append(run.seconds)
    return outcomes, statistics.median(seconds)


def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab,
) -> None:
    bare = make_lab(SHORT)
    bare.program.te("setup", "codex")  # its hooks are not trusted, and do not run
    expected, without = runs_of(bare, lambda _program: nullcontext())
    sizes = [len(request.blocks) for request in bare.requests()]
    troubles = {
        "started by the first hook": lambda _program: nullcontext(),
        "absent": no_daemon_can_start,
        "slow": a_daemon_that_never_answers,
        "killed": a_daemon_killed_in_mid_session,
    }
    for name, trouble in troubles.items():
        lab = make_lab(SHORT)
        lab.install()
        outcomes, seconds = runs_of(lab, trouble)
        assert outcomes == expected
        assert [len(request.blocks) for request in lab.requests()] == sizes
        assert_prefixes_are_untouched(lab)
        assert seconds <= (without + HOOKS_OF_A_RUN * HOOK_DEADLINES_S) * TOLERANCE
        lab.program.settle()
        assert_every_call_is_stored_once(lab)
        lab.program.stop()
        words = f"median of {RUNS} runs {seconds:.2f} s, without us {without:.2f} s"
        lab.note(f"daemon {name}: runs unchanged, every call stored; {words}")


OWN_CONFIGURATION = """
# notes of the user's
[hooks]
[[hooks.Stop]]
hooks = [ { type = "command", command = "true" } ]  # theirs

[plugins."other@market"]
enabled = false"""


@pytest.mark.parametrize("own", ["", OWN_CONFIGURATION], ids=["plain", "own hooks and plugins"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, own: str) -> None:
    lab = make_lab(SHORT)
    path = lab.sandbox.configuration_path
    with path.open("a", encoding="utf-8") as config:
        config.write(own)
    if own:
        lab.sandbox.approve_hooks()
    before = path.read_bytes()
    lab.install()
    installed = path.read_bytes()
    lab.program.te("setup", "codex")
    assert path.read_bytes() == installed
    with daemon_running(lab.program), lab.server:
        lab.sandbox.run("Which test fails?")
        lab.program.te("setup", "codex", "--uninstall")

    assert path.read_bytes() == before
    # Our own home holds the user's history and stays.
    ours = ".tokeneconomizer"
    assert [found for found in mentions_of_us(lab.sandbox.home) if ours not in found.parts] == []
    lab.note("uninstalled: configuration byte for byte, no mention of us")


@pytest.mark.parametrize("scenario", [MIXED, SUBAGENT], ids=lambda scenario: scenario.name)
def test_tokens_and_history_read_from_the_log_are_what_really_happened(
    make_lab: MakeLab, scenario: Scenario
) -> None:
    lab = make_lab(scenario, CODE_MODE_MODEL if scenario is SUBAGENT else DIRECT_MODEL)
    lab.run()

    totals = json.loads(lab.program.te("ledger", "scan", "--host", "codex", "--json"))["totals"]
    imported = json.loads(lab.program.te("import", "--json"))
    again = json.loads(lab.program.te("import", "--json"))

    sent = [request.usage for request in lab.requests()]
    assert totals["input"] == sum(
        usage["input_tokens"] + usage["cache_creation_input_tokens"] for usage in sent
    )
    assert totals["cache_read"] == sum(usage["cache_read_input_tokens"] for usage in sent)
    assert imported["replies"] == len(sent)
    called = {str(event.data["call_id"]) for event in lab.program.events("tool_called")}
    assert set(lab.calls_in_requests()) <= called
    assert (again["events"], again["skipped_lines"]) == (0, 0)
    lab.note(f"history: {imported['turns']} turns, {imported['replies']} replies, tokens as sent")


DIALOG_S = 1.0  # what is pressed while a dialog is still being painted is not heard
WRITING_S = 3.0  # for Codex to write its configuration


def test_codex_asks_its_user_to_trust_the_hooks_at_its_next_start_in_a_terminal(make_lab: MakeLab) -> None:
    lab = make_lab(SHORT, CODE_MODE_MODEL)
    lab.program.te("setup", "codex")
    sandbox = lab.sandbox
    with lab.server, Terminal([str(sandbox.binary)], sandbox.project, sandbox.environment()) as terminal:
        terminal.wait_for("Trust all and continue")
        terminal.read_on(DIALOG_S)
        terminal.press(DOWN)
        terminal.read_on(DIALOG_S)
        terminal.press(ENTER)
        terminal.wait_for("Trusting hooks")
        terminal.read_on(WRITING_S)

    assert set(sandbox.hook_states().values()) == {"trusted"}
    assert "not trusted" not in lab.program.te("status")
    lab.note("the dialog at the next start: trusted, and seen by te status")

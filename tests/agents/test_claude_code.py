"""
The real Claude Code with our plugin really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from claude_code import CLAUDE_CODE_VERSION, RunResult, Sandbox
from daemon_troubles import a_daemon_killed_in_mid_session, a_daemon_that_never_answers, no_daemon_can_start
from installed_program import Program, daemon_running, mentions_of_us
from model_server import LoggedRequest, ModelServer
from prompt_blocks import conversations, first_prefix_difference, messages_prefix_identical, new_text
from scenarios import (
    HONEST_FIX,
    INTERRUPTED,
    JUDGE_SYSTEM,
    JUDGED,
    LOOPING,
    OVERLOADED_TURN,
    PARALLEL_MIXED,
    RESUME,
    SUBAGENT,
    TAUGHT,
    Scenario,
)
from smoke_ledger import LedgerRow, add_row
from terminal import DOWN, ENTER, ESCAPE

pytestmark = pytest.mark.agents

USERS_OWN_SETTINGS = """{
\t"model": "sonnet",   "big": 12345678901234567890,
  "hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
  "enabledPlugins": { "other@market": false },
  "note": "caf\\u00e9 \\/ ok"
}"""


DIALOG_S = 1.0  # what is pressed while a dialog is still being painted is not heard


class Lab:
    """A sandbox with our program beside it, and the model's log."""

    def __init__(self, folder: Path, binary: Path, scenario: Scenario) -> None:
        self.scenario = scenario
        self.server = ModelServer(scenario.replies)
        path = {"PATH": f"{binary.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        self.sandbox = Sandbox(folder, binary=binary, base_url=self.server.base_url, extra_environment=path)
        self.program = Program(self.sandbox.home)

    def run(self) -> list[RunResult]:
        with self.server:
            return self.sandbox.run_continued(self.scenario.prompts, *self.scenario.flags)

    def requests(self) -> list[LoggedRequest]:
        return self.server.loop_requests

    def calls_in_requests(self) -> list[str]:
        """The ids of all calls whose results were sent to the model."""
        blocks = [
            block
            for request in self.requests()
            for message in request.body["messages"]  # type: ignore[attr-defined]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return sorted({block["tool_use_id"] for block in blocks if block["type"] == "tool_result"})

    def note(self, result: str) -> None:
        add_row(
            LedgerRow("Claude Code", CLAUDE_CODE_VERSION, self.scenario.name, result, self.program.summary())
        )


MakeLab = Callable[[Scenario], Lab]


@pytest.fixture
def make_lab(tmp_path: Path, claude_binary: Path) -> Iterator[MakeLab]:
    made: list[Lab] = []

    def make(scenario: Scenario) -> Lab:
        made.append(Lab(tmp_path / f"lab-{len(made)}", claude_binary, scenario))
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


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(LOOPING)
    lab.program.install()
    with daemon_running(lab.program):
        (run,) = lab.run()

    (redirected,) = lab.program.events("redirected")
    (hinted,) = lab.program.events("stop_hinted")
    requests = lab.requests()
    text = str(redirected.data["text"])
    holding = [
        number
        for number, (before, after) in enumerate(itertools.pairwise(requests), start=1)
        if text in new_text(before, after)
    ]
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    assert holding == [returned.index(redirected.data["call_id"]) + 1]  # one call a step in this scenario
    assert_prefixes_are_untouched(lab)
    assert any(str(hinted.data["text"]) in notice for notice in run.notices)
    assert hinted.data["echo"] is False  # this version shows messages, so the model is not asked to repeat it
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in requests)
    assert_every_call_is_stored_once(lab)
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint shown, prefixes identical")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(HONEST_FIX)
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()

    assert lab.program.events("redirected") == lab.program.events("gate_fired") == []
    assert "tokeneconomizer]" not in json.dumps([request.body for request in lab.requests()])
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("silence")


def test_the_judge_is_asked_once_without_tools_and_hooks_and_its_verdict_is_heard(make_lab: MakeLab) -> None:
    lab = make_lab(JUDGED)
    starts = lab.sandbox.home / "starts"
    settings = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo 1 >> {starts}"}]}]}
    }
    lab.sandbox.user_settings_path.parent.mkdir(parents=True)
    lab.sandbox.user_settings_path.write_text(json.dumps(settings), encoding="utf-8")
    lab.program.install()
    lab.program.te("config", "set", "judge", "auto")
    lab.program.te("config", "set", "guard.gate_calls", "10")
    with daemon_running(lab.program):
        lab.run()

    (asked,) = [request for request in lab.server.requests if JUDGE_SYSTEM in json.dumps(request.body)]
    assert not asked.has_tools
    assert "test -f" in json.dumps(asked.body)
    assert str(lab.sandbox.home) not in json.dumps(asked.body)
    assert starts.read_text(encoding="utf-8") == "1\n"  # the agent's own start, and none of the side call
    assert len(list((lab.sandbox.home / ".claude" / "projects").iterdir())) == 1
    assert [len(lab.program.events(kind)) for kind in ("started", "gate_fired", "judge_asked")] == [1, 1, 1]
    (verdict,) = lab.program.events("verdict_given")
    assert (verdict.data["verdict"], verdict.data["confidence"]) == ("stuck", 0.9)
    (redirected,) = lab.program.events("redirected")
    assert redirected.data["rule"] == "judge"
    before, after = lab.requests()[-2:]
    assert str(redirected.data["text"]) in new_text(before, after)
    assert_prefixes_are_untouched(lab)
    (cost,) = [event for event in lab.program.events() if event.topic == "setup.side_call_made"]
    assert cost.data["cost_usd"] is not None
    assert lab.server.unused_replies == []
    lab.note("one side call: no tools, no hook, no log; its verdict beside a later result")


def test_calls_that_succeed_fail_and_never_run_side_by_side_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(PARALLEL_MIXED)
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()

    assert_every_call_is_stored_once(lab)
    step = [event for event in lab.program.events("tool_called") if event.data["step"] == 2]
    status = {event.data["call_id"]: event.data["status"] for event in lab.program.events("tool_returned")}
    assert [(event.data["tool"], status[event.data["call_id"]]) for event in sorted(step, key=_call_id)] == [
        ("Bash", "ok"), ("Bash", "failed"), ("Edit", "never_ran"), ("NoSuchTool", "never_ran"),
    ]  # fmt: skip
    lab.note("ok, failed and never-run calls stored once each")


def _call_id(event: object) -> str:
    return str(event.data["call_id"])  # type: ignore[attr-defined]


def test_a_sub_agent_is_a_stream_of_its_own(make_lab: MakeLab) -> None:
    lab = make_lab(SUBAGENT)
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()

    main, sub_agent = lab.program.events("started")
    assert main.data["agent_id"] == ""
    assert sub_agent.data["parent"] == main.stream
    assert sub_agent.data["agent_type"] == "general-purpose"
    calls = Counter(event.stream for event in lab.program.events("tool_called"))
    assert calls == {main.stream: 2, sub_agent.stream: 3}
    assert [event.stream for event in lab.program.events("ended")] == [sub_agent.stream, main.stream]
    assert_every_call_is_stored_once(lab)
    lab.note("two streams, parent known")


def test_a_resumed_session_goes_on_in_its_stream_and_nothing_is_added_to_it(make_lab: MakeLab) -> None:
    lab = make_lab(RESUME)
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()

    assert len(lab.program.events("started")) == 1
    (resumed,) = lab.program.events("resumed")
    assert resumed.data["source"] == "resume"
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2]
    assert_prefixes_are_untouched(lab)
    lab.note("one stream over two processes")


def test_a_turn_that_fails_ends_with_its_error(make_lab: MakeLab) -> None:
    lab = make_lab(OVERLOADED_TURN)
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()

    (ended,) = lab.program.events("turn_ended")
    assert ended.data["reason"] == "server_error"
    lab.note("turn ended with its error's class")


def requests_without_us(make_lab: MakeLab) -> tuple[Lab, RunResult]:
    lab = make_lab(HONEST_FIX)
    (run,) = lab.run()
    return lab, run


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("started by the first hook", nullcontext),
        ("absent", no_daemon_can_start),
        ("slow", a_daemon_that_never_answers),
        ("killed", a_daemon_killed_in_mid_session),
    ],
)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, name: str, trouble: Callable[[Program], AbstractContextManager[None]]
) -> None:
    bare, run_without = requests_without_us(make_lab)
    lab = make_lab(HONEST_FIX)
    lab.program.install()
    with trouble(lab.program):
        (run,) = lab.run()

    assert (run.exit_code, run.final_text) == (run_without.exit_code, run_without.final_text)
    assert [len(request.blocks) for request in lab.requests()] == [
        len(request.blocks) for request in bare.requests()
    ]
    assert_prefixes_are_untouched(lab)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged, every call stored after it")


@pytest.mark.parametrize("settings", [None, USERS_OWN_SETTINGS], ids=["fresh home", "own hooks and settings"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, settings: str | None) -> None:
    lab = make_lab(HONEST_FIX)
    path = lab.sandbox.user_settings_path
    if settings is not None:
        path.parent.mkdir(parents=True)
        path.write_text(settings, encoding="utf-8")
    lab.program.install()
    with daemon_running(lab.program):
        lab.run()
        lab.program.te("setup", "claude_code", "--uninstall")

    assert (path.read_text(encoding="utf-8") if path.exists() else None) == settings
    # Our own home holds the user's history and stays.
    ours = ".tokeneconomizer"
    agent_files = [found for found in mentions_of_us(lab.sandbox.home) if ours not in found.parts]
    assert agent_files == []
    lab.note("uninstalled: settings byte for byte, no mention of us")


def test_a_terminal_session_loads_the_plugin_at_its_first_start(make_lab: MakeLab) -> None:
    lab = make_lab(RESUME)
    lab.program.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal(*lab.scenario.flags) as terminal:
        terminal.wait_for("Claude Code")
        terminal.submit("Which test fails?")
        terminal.wait_for("fails.")

    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"]
    assert len(lab.program.events("prompt_submitted")) == 1
    lab.note("terminal start: hooks fire at once")


def test_a_call_that_the_user_interrupts_is_stored_with_the_next_prompt(make_lab: MakeLab) -> None:
    lab = make_lab(INTERRUPTED)
    lab.program.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal(*lab.scenario.flags) as terminal:
        terminal.wait_for("Claude Code")
        terminal.submit(lab.scenario.prompts[0])
        terminal.wait_for("tail -f /dev/null")
        terminal.press(ESCAPE)
        terminal.wait_for("What should Claude do instead")
        terminal.submit(lab.scenario.prompts[1])
        terminal.wait_for("All right.")

    assert [event.data["command_template"] for event in lab.program.events("tool_called")] == [
        "tail -f /dev/null"
    ]
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2]
    assert [event.data["interrupted"] for event in lab.program.events("tool_returned")] == [True]
    assert lab.program.events("turn_ended")[0].data["reason"] == "no_stop"
    lab.note("Esc: the interrupted call is stored from the agent's own log")


@pytest.mark.parametrize("scenario", [SUBAGENT, RESUME], ids=lambda scenario: scenario.name)
def test_tokens_and_history_read_from_the_log_are_what_really_happened(
    make_lab: MakeLab, scenario: Scenario
) -> None:
    lab = make_lab(scenario)
    lab.run()

    totals = json.loads(lab.program.te("ledger", "scan", "--host", "claude_code", "--json"))["totals"]
    imported = json.loads(lab.program.te("import", "--json"))
    again = json.loads(lab.program.te("import", "--json"))

    sent = [request.usage for request in lab.requests()]
    assert totals["input"] == sum(int(str(usage["input_tokens"])) for usage in sent)
    assert totals["cache_read"] == sum(int(str(usage["cache_read_input_tokens"])) for usage in sent)
    assert totals["cache_write_5m"] == sum(int(str(usage["cache_creation_input_tokens"])) for usage in sent)
    assert imported["replies"] == len(sent)
    assert len(lab.program.events("prompt_submitted")) >= len(scenario.prompts)
    called = [str(event.data["call_id"]) for event in lab.program.events("tool_called")]
    assert sorted(called) == lab.calls_in_requests()
    assert (again["events"], again["skipped_lines"]) == (0, 0)
    lab.note(f"history: {imported['turns']} turns, {imported['replies']} replies, tokens as sent")


def taught(lab: Lab) -> str:
    """Let two sessions find out something, and return the block for the next one."""
    lab.program.install()
    lab.program.start()
    for prompt in lab.scenario.prompts:
        lab.sandbox.run(prompt, *lab.scenario.flags)
    return lab.program.learn(lab.sandbox.project)


def times_told(request: LoggedRequest, block: str) -> int:
    """How often a request holds the block."""
    return json.dumps(request.body, ensure_ascii=False).count(json.dumps(block, ensure_ascii=False)[1:-1])


def test_facts_are_in_the_first_request_and_nothing_is_added_on_resume_and_fork(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        lab.program.te("config", "set", "trust", "yes", "--repo", str(lab.sandbox.project))
        untold = len(lab.requests())
        flags = lab.scenario.flags
        lab.sandbox.run("Which test fails?", *flags)
        lab.sandbox.run("And what does git say?", *flags, "--continue")
        lab.sandbox.run("Once more.", *flags, "--continue", "--fork-session")

    assert "`python3 -m unittest tests.test_pricing -k gross`" in block
    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert {times_told(request, block) for request in before} == {0}
    assert len(after) >= 3
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert [event.data["source"] for event in lab.program.events("started")][-1] == "fork"
    assert_prefixes_are_untouched(lab)
    lab.note("facts in the first request, nothing added on resume and fork, prefixes identical")


def test_facts_are_given_again_after_compaction_and_clear(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        lab.program.te("config", "set", "trust", "yes", "--repo", str(lab.sandbox.project))
        untold = len(lab.requests())
        prompts = ("Which test fails?", "/compact", "And now?", "/clear", "And what does git say?")
        lab.sandbox.run_turns(prompts, *lab.scenario.flags)

    after = lab.requests()[untold:]
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block] * 3
    sources = [event.data["source"] for event in lab.program.events("resumed")]
    sources += [event.data["source"] for event in lab.program.events("started")]
    assert {"compact", "clear"} <= set(map(str, sources))
    assert_prefixes_are_untouched(lab)
    lab.note("facts again after compaction and clear, each time once")


def test_facts_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        lab.sandbox.trust_project()
        block = taught(lab)
        lab.program.stop()
        untold = len(lab.requests())
        with no_daemon_can_start(lab.program):
            lab.sandbox.run("Which test fails?", *lab.scenario.flags)
        lab.program.settle()

    assert {times_told(request, block) for request in lab.requests()[untold:]} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("trusted by the agent's own dialog: facts from disk without a daemon, stored afterwards")


def test_a_repository_that_nobody_trusts_is_told_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(TAUGHT)
    with lab.server:
        block = taught(lab)
        lab.sandbox.run("Which test fails?", *lab.scenario.flags)

    assert {times_told(request, block) for request in lab.requests()} == {0}
    assert lab.program.events("facts_injected") == []
    lab.note("no trust, no facts")


def test_the_answer_to_the_agents_own_trust_dialog_is_trust(make_lab: MakeLab) -> None:
    lab = make_lab(RESUME)
    lab.program.install()
    block = ("facts", "block", "--json", "--repo", str(lab.sandbox.project))
    assert "claude_code" in json.loads(lab.program.te(*block))["withheld"]
    with lab.server, lab.sandbox.open_terminal(trusted=False) as terminal:
        terminal.wait_for("Yes, I trust this folder")
        terminal.read_on(DIALOG_S)
        terminal.press(DOWN)
        terminal.read_on(DIALOG_S)
        terminal.press(ENTER)
        terminal.wait_for("accept edits on")

    assert json.loads(lab.program.te(*block))["withheld"] == {}
    lab.note("trust read from the agent's own record")

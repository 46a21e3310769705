"""
The real Claude Code with our plugin really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import json
from collections import Counter
from collections.abc import Callable

import claude_code_scenarios as scenarios
import pytest
from claude_code import CLAUDE_CODE, ClaudeCodeSandbox, RunResult
from daemon_troubles import TROUBLES, absent
from installed_program import daemon_running, mentions_of_us
from lab import (
    Lab,
    Story,
    assert_every_call_is_stored_once,
    assert_nothing_was_said,
    assert_prefixes_are_untouched,
    assert_redirected_in_the_next_request,
    assert_the_judge_was_heard_once,
    assert_the_model_saw_the_same,
    times_told,
)
from scenarios import GREEN_TESTS, honest_fix, judged, looping, taught, two_prompts, with_a_helper
from terminal import DOWN, ENTER, ESCAPE

AGENT = CLAUDE_CODE

pytestmark = pytest.mark.agents

USERS_OWN_SETTINGS = """{
\t"model": "sonnet",   "big": 12345678901234567890,
  "hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
  "enabledPlugins": { "other@market": false },
  "note": "caf\\u00e9 \\/ ok"
}"""


DIALOG_S = 1.0  # what is pressed while a dialog is still being painted is not heard


MakeLab = Callable[[Story], Lab[ClaudeCodeSandbox]]


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_then_a_hint(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    (run,) = lab.run_installed()

    assert_redirected_in_the_next_request(lab)
    (hinted,) = lab.program.events("stop_hinted")
    assert_prefixes_are_untouched(lab)
    assert any(str(hinted.data["text"]) in notice for notice in run.notices)
    assert hinted.data["echo"] is False  # this version shows messages, so the model is not asked to repeat it
    assert not any(str(hinted.data["text"]) in json.dumps(request.body) for request in lab.requests())
    assert_every_call_is_stored_once(lab)
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint shown, prefixes identical")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(honest_fix)
    lab.run_installed()

    assert_nothing_was_said(lab)
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("silence")


def test_the_judge_is_asked_once_without_tools_and_hooks_and_its_verdict_is_heard(make_lab: MakeLab) -> None:
    lab = make_lab(judged)
    starts = lab.sandbox.home / "starts"
    settings = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo 1 >> {starts}"}]}]}
    }
    lab.sandbox.user_settings_path.parent.mkdir(parents=True)
    lab.sandbox.user_settings_path.write_text(json.dumps(settings), encoding="utf-8")
    lab.install()
    lab.ask_the_judge()
    with daemon_running(lab.program):
        lab.run()

    assert not assert_the_judge_was_heard_once(lab).has_tools
    assert starts.read_text(encoding="utf-8") == "1\n"  # the agent's own start, and none of the side call
    assert len(list((lab.sandbox.home / ".claude" / "projects").iterdir())) == 1
    (redirected,) = lab.program.events("redirected")
    assert redirected.data["rule"] == "judge"
    assert lab.bringing(str(redirected.data["text"])) == [len(lab.requests()) - 1]
    assert_prefixes_are_untouched(lab)
    (cost,) = [event for event in lab.program.events() if event.topic == "setup.side_call_made"]
    assert cost.data["cost_usd"] is not None
    assert lab.server.unused_replies == []
    lab.note("one side call: no tools, no hook, no log; its verdict beside a later result")


def test_calls_that_succeed_fail_and_never_run_side_by_side_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.parallel_mixed)
    lab.run_installed()

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
    lab = make_lab(with_a_helper)
    lab.run_installed()

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
    lab = make_lab(two_prompts)
    lab.run_installed()

    assert len(lab.program.events("started")) == 1
    (resumed,) = lab.program.events("resumed")
    assert resumed.data["source"] == "resume"
    assert [event.data["turn"] for event in lab.program.events("prompt_submitted")] == [1, 2]
    assert_prefixes_are_untouched(lab)
    lab.note("one stream over two processes")


def test_a_turn_that_fails_ends_with_its_error(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.overloaded_turn)
    lab.run_installed()

    (ended,) = lab.program.events("turn_ended")
    assert ended.data["reason"] == "server_error"
    lab.note("turn ended with its error's class")


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab[ClaudeCodeSandbox], RunResult], name: str
) -> None:
    bare, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with TROUBLES[name](lab.program, lambda: bool(lab.requests())):
        (run,) = lab.run()

    assert (run.exit_code, run.final_text) == (without.exit_code, without.final_text)
    assert_the_model_saw_the_same(lab, bare)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged, every call stored after it")


@pytest.mark.parametrize("settings", [None, USERS_OWN_SETTINGS], ids=["fresh home", "own hooks and settings"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, settings: str | None) -> None:
    lab = make_lab(honest_fix)
    path = lab.sandbox.user_settings_path
    if settings is not None:
        path.parent.mkdir(parents=True)
        path.write_text(settings, encoding="utf-8")
    lab.install()
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
    lab = make_lab(two_prompts)
    lab.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal() as terminal:
        terminal.wait_for("Claude Code")
        terminal.submit("Which test fails?")
        terminal.wait_for("fails.")

    assert [event.data["source"] for event in lab.program.events("started")] == ["startup"]
    assert len(lab.program.events("prompt_submitted")) == 1
    lab.note("terminal start: hooks fire at once")


def test_a_call_that_the_user_interrupts_is_stored_with_the_next_prompt(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.interrupted)
    lab.install()
    with daemon_running(lab.program), lab.server, lab.sandbox.open_terminal() as terminal:
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


@pytest.mark.parametrize("story", [with_a_helper, two_prompts], ids=lambda story: story.__name__)
def test_tokens_and_history_read_from_the_log_are_what_really_happened(
    make_lab: MakeLab, story: Story
) -> None:
    lab = make_lab(story)
    lab.run()

    totals = json.loads(lab.program.te("ledger", "scan", "--host", "claude_code", "--json"))["totals"]
    imported = json.loads(lab.program.te("import", "--json"))
    again = json.loads(lab.program.te("import", "--json"))

    sent = [request.usage for request in lab.requests()]
    assert totals["input"] == sum(int(str(usage["input_tokens"])) for usage in sent)
    assert totals["cache_read"] == sum(int(str(usage["cache_read_input_tokens"])) for usage in sent)
    assert totals["cache_write_5m"] == sum(int(str(usage["cache_creation_input_tokens"])) for usage in sent)
    assert imported["replies"] == len(sent)
    assert len(lab.program.events("prompt_submitted")) >= len(lab.scenario.prompts)
    called = [str(event.data["call_id"]) for event in lab.program.events("tool_called")]
    assert sorted(called) == lab.calls_with_results()
    assert (again["events"], again["skipped_lines"]) == (0, 0)
    lab.note(f"history: {imported['turns']} turns, {imported['replies']} replies, tokens as sent")


def test_facts_are_in_the_first_request_and_nothing_is_added_on_resume_and_fork(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = lab.teach()
        lab.program.te("config", "set", "trust", "yes", "--repo", str(lab.sandbox.project))
        untold = len(lab.requests())
        lab.sandbox.run("Which test fails?")
        lab.sandbox.resume("And what does git say?")
        lab.sandbox.resume("Once more.", "--fork-session")

    assert f"`{GREEN_TESTS}`" in block
    before, after = lab.requests()[:untold], lab.requests()[untold:]
    assert {times_told(request, block) for request in before} == {0}
    assert len(after) >= 3
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    assert [event.data["source"] for event in lab.program.events("started")][-1] == "fork"
    assert_prefixes_are_untouched(lab)
    lab.note("facts in the first request, nothing added on resume and fork, prefixes identical")


def test_facts_are_given_again_after_compaction_and_clear(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.taught_and_compacted)
    with lab.server:
        block = lab.teach()
        lab.program.te("config", "set", "trust", "yes", "--repo", str(lab.sandbox.project))
        untold = len(lab.requests())
        prompts = ("Which test fails?", "/compact", "And now?", "/clear", "And what does git say?")
        lab.sandbox.run_turns(prompts)

    after = lab.requests()[untold:]
    assert {times_told(request, block) for request in after} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block] * 3
    sources = [event.data["source"] for event in lab.program.events("resumed")]
    sources += [event.data["source"] for event in lab.program.events("started")]
    assert {"compact", "clear"} <= set(map(str, sources))
    assert_prefixes_are_untouched(lab)
    lab.note("facts again after compaction and clear, each time once")


def test_facts_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        lab.sandbox.trust_project()
        block = lab.teach()
        untold = len(lab.requests())
        with absent(lab.program):
            lab.sandbox.run("Which test fails?")
        lab.program.settle()

    assert {times_told(request, block) for request in lab.requests()[untold:]} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("trusted by the agent's own dialog: facts from disk without a daemon, stored afterwards")


def test_a_repository_that_nobody_trusts_is_told_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = lab.teach()
        lab.sandbox.run("Which test fails?")

    assert {times_told(request, block) for request in lab.requests()} == {0}
    assert lab.program.events("facts_injected") == []
    lab.note("no trust, no facts")


def test_the_answer_to_the_agents_own_trust_dialog_is_trust(make_lab: MakeLab) -> None:
    lab = make_lab(two_prompts)
    lab.install()
    block = ("facts", "block", "--json", "--repo", str(lab.sandbox.project))
    assert "claude_code" in json.loads(lab.program.te(*block))["withheld"]
    with lab.server, lab.sandbox.open_terminal(trusted=False) as terminal:
        terminal.wait_for("Yes, I trust this folder")
        terminal.read_on(DIALOG_S)
        terminal.press(DOWN)
        terminal.read_on(DIALOG_S)
        terminal.press(ENTER)
        terminal.wait_for("accept edits on")

    assert "claude_code" not in json.loads(lab.program.te(*block))["withheld"]
    lab.note("trust read from the agent's own record")

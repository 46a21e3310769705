"""
The real Codex with our plugin really installed and its hooks approved, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import json
from collections import Counter
from collections.abc import Callable

import codex_scenarios as scenarios
import pytest
from codex import CODE_MODE_MODEL, CODEX, DIRECT_MODEL, CodexSandbox
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
    assert_the_judge_was_heard_once,
    assert_the_model_saw_the_same,
    times_told,
)
from sandbox import Finished
from scenarios import GREEN_TESTS, honest_fix, looping, taught
from terminal import DOWN, ENTER

AGENT = CODEX

pytestmark = pytest.mark.agents


MakeLab = Callable[..., Lab[CodexSandbox]]


def stored_calls(lab: Lab[CodexSandbox]) -> list[tuple[str, str, object]]:
    """Tool, status and exit code of each stored call."""
    tools = {event.data["call_id"]: event.data["tool"] for event in lab.program.events("tool_called")}
    return [
        (str(tools[event.data["call_id"]]), str(event.data["status"]), event.data["exit_code"])
        for event in lab.program.events("tool_returned")
    ]


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request_and_its_hint_is_counted(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(looping)
    lab.install()
    with daemon_running(lab.program):
        (run,) = lab.run()
        status = json.loads(lab.program.te("status", "--json"))

    assert_redirected_in_the_next_request(lab)
    (hinted,) = lab.program.events("stop_hinted")
    assert_prefixes_are_untouched(lab)
    assert status["counts"]["hints"] == 1
    shown = run.output + run.stderr + json.dumps([request.body for request in lab.requests()])
    assert str(hinted.data["text"]) not in shown
    assert_every_call_is_stored_once(lab)
    assert {("exec_command", "failed", 1), ("exec_command", "ok", 0)} <= set(stored_calls(lab))
    assert lab.server.unused_replies == []
    lab.note("redirect in the next request, hint counted and shown nowhere, prefixes identical")


def test_after_failures_without_a_hook_the_redirect_rides_on_the_next_call(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.failing_patches)
    lab.run_installed()

    assert_redirected_in_the_next_request(lab, calls_later=1)
    assert {stored[:2] for stored in stored_calls(lab)} == {("apply_patch", "failed")}
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("patches that no PostToolUse tells: redirect with the next call's PreToolUse")


def test_calls_that_fail_and_never_run_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.mixed)
    lab.run_installed()

    assert_every_call_is_stored_once(lab)
    assert sorted(map(str, stored_calls(lab))) == sorted(
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
    lab = make_lab(scenarios.looping_scripts, model=CODE_MODE_MODEL)
    lab.run_installed()

    stored = Counter(stored_calls(lab))
    assert stored[("exec_command", "failed", 1)] == 5
    assert stored[("exec", "ok", None)] == 5
    (redirected,) = lab.program.events("redirected")
    assert len(lab.bringing(str(redirected.data["text"]))) == 1
    assert_prefixes_are_untouched(lab)
    lab.note("scripts and what they call stored, redirect in the next request")


def test_an_honest_test_fix_loop_hears_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(honest_fix)
    lab.run_installed()

    assert_nothing_was_said(lab)
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    lab.note("silence")


def test_a_sub_agent_is_a_stream_of_its_own(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.with_a_helper, model=CODE_MODE_MODEL)
    lab.run_installed()

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


def retire_facts(lab: Lab[CodexSandbox]) -> None:
    """Have other facts on disk."""
    in_project = ("--repo", str(lab.sandbox.project))
    for fact in json.loads(lab.program.te("facts", "list", "--json", *in_project)):
        lab.program.te("facts", "retire", str(fact["id"]), *in_project)


def test_facts_are_in_the_first_request_and_stay_the_same_on_resume_and_fork(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = lab.teach()
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
        assert_one_growing_prefix(pair)
    lab.note("facts in the first request; resume and fork with other facts on disk: prefix identical")


def session_of(lab: Lab[CodexSandbox]) -> str:
    """The newest session."""
    return str(lab.program.events("started")[-1].data["session_id"])


def test_facts_are_given_again_after_compaction(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.compacted)
    with lab.server:
        block = lab.teach()
        untold = len(lab.requests())
        lab.sandbox.run("Look around.", "-c", "model_auto_compact_token_limit=50000")

    assert [event.data["trigger"] for event in lab.program.events("compacted")] == ["auto"]
    assert [event.data["source"] for event in lab.program.events("resumed")] == ["compact"]
    assert [times_told(request, block) for request in lab.requests()[untold:]][-1] == 1
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block] * 2
    assert lab.server.unused_replies == []
    lab.note("facts again after compaction, once")


def test_facts_are_given_from_disk_while_no_daemon_can_start(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    with lab.server:
        block = lab.teach()
        untold = len(lab.requests())
        with absent(lab.program):
            lab.sandbox.run("Which test fails?")
        lab.program.settle()

    assert {times_told(request, block) for request in lab.requests()[untold:]} == {1}
    assert [event.data["text"] for event in lab.program.events("facts_injected")] == [block]
    lab.note("facts from disk without a daemon, stored afterwards")


def test_untrusted_hooks_record_nothing_and_are_told_until_the_user_trusts_them(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.short)
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


def assert_every_call_of_the_last_session(lab: Lab[CodexSandbox]) -> None:
    called = {str(event.data["call_id"]) for event in lab.program.events("tool_called")}
    assert len(called) == 2
    assert called < set(lab.calls_with_results())


def test_the_judge_is_asked_once_without_hooks_and_servers_and_its_verdict_is_heard(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(scenarios.judged)
    started = lab.sandbox.home / "server-started"
    with lab.sandbox.configuration_path.open("a", encoding="utf-8") as config:
        config.write(f'\n[mcp_servers.demo]\ncommand = "sh"\nargs = ["-c", "echo 1 >> {started}"]\n')
    lab.install()
    started.unlink(missing_ok=True)
    lab.ask_the_judge()
    with daemon_running(lab.program):
        lab.run()

    assert_the_judge_was_heard_once(lab)
    assert started.read_text(encoding="utf-8") == "1\n"  # by the agent itself, and not by the side call
    assert len(lab.sandbox.rollouts()) == 1
    (redirected,) = lab.program.events("redirected")
    assert redirected.data["rule"] == "judge"
    assert len(lab.bringing(str(redirected.data["text"]))) == 1
    assert lab.server.unused_replies == []
    lab.note("one side call: no hook, no MCP server, no log; its verdict beside a later result")


@pytest.fixture(scope="module")
def bare_lab(bare_lab: Lab[CodexSandbox]) -> Lab[CodexSandbox]:
    """Installed, since Codex tells the model of any plugin; hooks that are not approved do not run."""
    bare_lab.program.te("setup", "codex")
    return bare_lab


def outcome(run: Finished[str]) -> tuple[int, list[str]]:
    """How a run ended, and the kinds of what it printed."""
    return run.exit_code, [str(json.loads(line)["type"]) for line in run.output.splitlines()]


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab[CodexSandbox], Finished[str]], name: str
) -> None:
    bare, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with TROUBLES[name](lab.program, lambda: bool(lab.requests())):
        (run,) = lab.run()

    assert outcome(run) == outcome(without)
    assert_the_model_saw_the_same(lab, bare)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    lab.note(f"daemon {name}: run unchanged, every call stored after it")


def test_a_daemon_in_trouble_costs_no_more_than_the_hooks_deadlines(make_lab: MakeLab) -> None:
    assert_within_the_hooks_deadlines(make_lab)


OWN_CONFIGURATION = """
# notes of the user's
[hooks]
[[hooks.Stop]]
hooks = [ { type = "command", command = "true" } ]  # theirs

[plugins."other@market"]
enabled = false"""


@pytest.mark.parametrize("own", ["", OWN_CONFIGURATION], ids=["plain", "own hooks and plugins"])
def test_uninstalling_leaves_no_trace_of_ours(make_lab: MakeLab, own: str) -> None:
    lab = make_lab(scenarios.short)
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


@pytest.mark.parametrize(
    ("story", "model"),
    [(scenarios.mixed, DIRECT_MODEL), (scenarios.with_a_helper, CODE_MODE_MODEL)],
    ids=["tools of its own", "code mode, sub-agent"],
)
def test_tokens_and_history_read_from_the_log_are_what_really_happened(
    make_lab: MakeLab, story: Story, model: str
) -> None:
    lab = make_lab(story, model=model)
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
    assert set(lab.calls_with_results()) <= called
    assert (again["events"], again["skipped_lines"]) == (0, 0)
    lab.note(f"history: {imported['turns']} turns, {imported['replies']} replies, tokens as sent")


DIALOG_S = 1.0  # what is pressed while a dialog is still being painted is not heard
WRITING_S = 3.0  # for Codex to write its configuration


def test_codex_asks_its_user_to_trust_the_hooks_at_its_next_start_in_a_terminal(make_lab: MakeLab) -> None:
    lab = make_lab(scenarios.short, model=CODE_MODE_MODEL)
    lab.program.te("setup", "codex")
    sandbox = lab.sandbox
    with lab.server, sandbox.open_terminal() as terminal:
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

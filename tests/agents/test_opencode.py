"""
The real opencode with our plugin really installed, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md. A start of opencode takes five
seconds, so runs are shared between assertions.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from daemon_troubles import TROUBLES, absent
from installed_program import daemon_running
from lab import (
    Lab,
    Story,
    assert_every_call_is_stored_once,
    assert_prefixes_are_untouched,
    assert_redirected_in_the_next_request,
    assert_the_judge_was_heard_once,
    assert_the_model_saw_the_same,
    times_told,
)
from opencode import MODEL, OPENCODE, SMALL_MODEL, OpencodeSandbox
from opencode_scenarios import looping_on_a_failed_edit, parallel_mixed
from prompt_blocks import TOOL_RESULT, JsonObject, as_list, as_object
from sandbox import Finished
from scenarios import greetings, honest_fix, judged, looping, taught, with_a_helper

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.side_calls import SIDE_CALL_S_MAX

AGENT = OPENCODE

pytestmark = pytest.mark.agents

TIMED = ("absent", "slow")  # in the others our own programs start and stop beside the run
CALL_S_MAX = 0.5  # what one call of the bridge may take at worst: its deadline, and that of the spool
MARGIN = 1.2
POLL_S = 0.1

USERS_OWN_LIST = """{
  // my own
  "plugin": ["file:///nowhere/of-mine.ts"], /* stays */
}
"""

# opencode adds its schema to a configuration that lacks it.
USERS_OWN_NAME = """{
  // no list of mine
  "$schema": "https://opencode.ai/config.json",
  "username": "dev",
}
"""


MakeLab = Callable[[Story], Lab[OpencodeSandbox]]


def assert_nothing_came_twice(lab: Lab[OpencodeSandbox], *, prompts: int = 1) -> None:
    kinds = Counter(event.topic for event in lab.program.events())
    assert (kinds["session.started"], kinds["session.prompt_submitted"]) == (1, prompts)
    assert kinds["session.turn_ended"] == prompts


def test_a_looping_turn_gets_its_redirect_in_the_very_next_request(make_lab: MakeLab) -> None:
    lab = make_lab(looping)
    (run,) = lab.run_installed()

    text = assert_redirected_in_the_next_request(lab)
    assert run.exit_code == 0
    # Behind the tool's own output, within its result.
    results = [block.text for block in lab.requests()[-1].blocks if block.role == TOOL_RESULT]
    assert [json.dumps(text)[1:-1] in result for result in results].count(True) == 1
    assert_prefixes_are_untouched(lab)
    assert lab.program.events("stop_hinted")
    assert_every_call_is_stored_once(lab)
    assert_nothing_came_twice(lab)
    assert lab.server.unused_replies == []
    lab.note("redirect within the result, in the next request; prefixes identical")


def test_a_turn_that_fails_in_circles_gets_its_redirect_behind_the_failed_call(make_lab: MakeLab) -> None:
    lab = make_lab(looping_on_a_failed_edit)
    (run,) = lab.run_installed()

    text = assert_redirected_in_the_next_request(lab)
    said = [
        message
        for message in map(as_object, as_list(lab.requests()[-1].body["messages"]))
        if json.dumps(text)[1:-1] in json.dumps(message)
    ]
    assert [message["role"] for message in said] == ["user"]
    assert run.exit_code == 0
    assert_prefixes_are_untouched(lab)
    assert_every_call_is_stored_once(lab)
    assert_nothing_came_twice(lab)  # what we said is no prompt
    assert len(lab.requests()) == len(lab.scenario.replies)
    lab.note("failed calls: redirect as a message behind the result, in the next request; no request more")


def test_calls_that_succeed_fail_and_never_run_side_by_side_are_each_stored_once(make_lab: MakeLab) -> None:
    lab = make_lab(parallel_mixed)
    lab.run_installed()

    assert_every_call_is_stored_once(lab)
    status = {event.data["call_id"]: event.data["status"] for event in lab.program.events("tool_returned")}
    tools = {event.data["call_id"]: event.data["tool"] for event in lab.program.events("tool_called")}
    assert [(tools[call_id], status[call_id]) for call_id in sorted(map(str, tools))][1:] == [
        ("bash", "ok"), ("bash", "failed"), ("edit", "failed"), ("invalid", "never_ran"),
    ]  # fmt: skip
    assert_nothing_came_twice(lab)
    (catalogue,) = [event for event in lab.program.events() if event.topic.endswith("catalog_recorded")]
    told = {tool["name"]: tool["characters"] for tool in json.loads(str(catalogue.data["catalog"]))}
    sent = [as_object(as_object(tool)["function"]) for tool in as_list(lab.requests()[0].body["tools"])]
    sizes = {tool["name"]: _characters(tool) for tool in sent}
    assert sizes == {name: told[name] for name in sizes}
    lab.note("ok, failed and never-run calls stored once each; tools with their real sizes")


def _characters(tool: JsonObject) -> int:
    named = {name: tool[name] for name in ("name", "description", "parameters")}
    return len(json.dumps(named, separators=(",", ":"), ensure_ascii=False))


def test_a_sub_agent_is_a_session_of_its_own_and_its_prompt_is_nobodys(make_lab: MakeLab) -> None:
    lab = make_lab(with_a_helper)
    lab.run_installed()

    main, sub_agent = lab.program.events("started")
    assert (main.data["source"], sub_agent.data["source"]) == ("startup", "sub_agent")
    assert sub_agent.data["agent_type"] == "general"
    kinds = {event.stream: event.data["kind"] for event in lab.program.events("prompt_submitted")}
    assert kinds == {main.stream: "human", sub_agent.stream: "machine"}
    calls = Counter(event.stream for event in lab.program.events("tool_called"))
    assert calls == {main.stream: 2, sub_agent.stream: 3}
    assert_every_call_is_stored_once(lab)
    assert_prefixes_are_untouched(lab)
    lab.note("two streams")


def test_facts_are_in_every_request_but_the_titles_and_the_same_bytes_on_resume(make_lab: MakeLab) -> None:
    lab = make_lab(taught)
    sandbox, program, repository = lab.sandbox, lab.program, ("--repo", str(lab.sandbox.project))
    with lab.server:
        block = lab.teach()
        assert "opencode" in json.loads(program.te("facts", "block", "--json", *repository))["withheld"]
        program.te("config", "set", "trust", "yes", *repository)
        untold = len(lab.server.requests)
        # Without a title of the user's, opencode asks the small model for one.
        sandbox.run_command([sandbox.binary, "run", "Which test fails?"])
        program.te("config", "set", "microskills", "off")
        sandbox.resume("And what does git say?")
        with absent(program):
            sandbox.resume("Once more.")
        program.settle()

    before, after = lab.server.requests[:untold], lab.server.requests[untold:]
    assert {times_told(request, block) for request in before} == {0}
    told = {
        model: {times_told(one, block) for one in after if one.prompt.model == model} for model in _MODELS
    }
    assert told == {MODEL: {1}, SMALL_MODEL: {0}}
    assert len(after) == 1 + 3 * 2
    assert_prefixes_are_untouched(lab)
    assert [event.data["text"] for event in program.events("facts_injected")] == [block]
    assert [event.data["source"] for event in program.events("resumed")] == ["resume", "resume"]
    lab.note("facts in each request but the title's; the same bytes on resume: facts gone, daemon absent")


_MODELS = (MODEL, SMALL_MODEL)


def masked(printed: str) -> str:
    """What opencode printed of its calls, without the places and times in it."""
    return re.sub(r"/\S+/lab(?:-\d+)?/|\d+\.\d+s", "…", printed)


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_in_trouble_changes_nothing_in_the_agents_run_and_no_call_is_lost(
    make_lab: MakeLab, run_without_us: tuple[Lab[OpencodeSandbox], Finished[str]], name: str
) -> None:
    bare, without = run_without_us
    lab = make_lab(honest_fix)
    lab.install()
    with TROUBLES[name](lab.program, lambda: bool(lab.requests())):
        (run,) = lab.run()

    assert (run.exit_code, run.output) == (without.exit_code, without.output)
    assert masked(run.stderr) == masked(without.stderr)
    assert_the_model_saw_the_same(lab, bare)
    lab.program.settle()
    assert_every_call_is_stored_once(lab)
    assert_nothing_came_twice(lab)
    seconds = without.seconds
    if name in TIMED:
        waited = CALL_S_MAX * len({event.data.get("delivery_id") for event in lab.program.events()})
        if run.seconds > MARGIN * (seconds + waited):
            # The machine may be busier than it was: measured again as it is now.
            seconds = make_lab(honest_fix).run()[0].seconds
        assert run.seconds <= MARGIN * (seconds + waited)
    lab.note(
        f"daemon {name}: run unchanged, every call stored ({run.seconds:.1f} s; {seconds:.1f} without us)"
    )


def test_setup_keeps_what_is_the_users_and_uninstalling_gives_it_back(make_lab: MakeLab) -> None:
    lab = make_lab(honest_fix)
    own = lab.sandbox.configuration_path.with_name("opencode.jsonc")
    before = {path: path.read_bytes() for path in lab.sandbox.configuration_folder.glob("*.*")}
    own.write_text(USERS_OWN_LIST, encoding="utf-8")
    lab.install()
    assert "tokeneconomizer.ts" in own.read_text(encoding="utf-8")
    lab.program.te("setup", "opencode", "--uninstall")
    assert own.read_text(encoding="utf-8") == USERS_OWN_LIST
    own.write_text(USERS_OWN_NAME, encoding="utf-8")
    commented = own.read_bytes()
    lab.install()
    once = lab.sandbox.configuration_path.read_bytes()
    lab.install()
    assert lab.sandbox.configuration_path.read_bytes() == once
    # Whoever registers it twice has told everything once.
    copy = lab.sandbox.home / "copy.ts"
    copy.write_bytes((lab.program.home / "plugins" / "opencode" / "tokeneconomizer.ts").read_bytes())
    doubled = json.loads(once)
    doubled["plugin"].append(copy.as_uri())
    lab.sandbox.configuration_path.write_text(json.dumps(doubled), encoding="utf-8")
    with daemon_running(lab.program):
        lab.run()
        assert_nothing_came_twice(lab)
        assert_every_call_is_stored_once(lab)
        lab.sandbox.configuration_path.write_bytes(once)
        lab.program.te("setup", "opencode", "--uninstall")

    left = {path: path.read_bytes() for path in lab.sandbox.configuration_folder.glob("*.*")}
    assert left.pop(own) == commented
    assert {path: left[path] for path in before} == before
    assert not list((lab.program.home / "plugins").iterdir())
    lab.note("comments kept, own entries kept, twice is once, uninstalled byte for byte")


def test_a_denied_tool_is_gone_from_the_request_and_comes_back(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab(greetings)
    homes = AgentHomes(lab.sandbox.home)
    deny_list = DenyList(Home(tmp_path / "state"), homes, "opencode", lab.sandbox.project)
    with lab.server:
        lab.sandbox.run("Say hello.")
        assert deny_list.apply(["webfetch", "todowrite"]).written
        lab.sandbox.run("Say hello.")
        assert deny_list.restore().written
        assert not (lab.sandbox.project / "opencode.json").exists()
        lab.sandbox.run("Say hello.")

    before, denied, after = (set(request.prompt.tools) for request in lab.requests())
    assert denied == before - {"webfetch", "todowrite"}
    assert after == before
    assert not (lab.sandbox.project / ".opencode").exists()


def test_the_judge_is_asked_once_without_tools_and_plugins_and_leaves_no_session(make_lab: MakeLab) -> None:
    lab = make_lab(judged)
    lab.install()
    lab.ask_the_judge()
    with daemon_running(lab.program), lab.server:
        lab.sandbox.run(lab.scenario.prompts[0])
        deadline = time.monotonic() + SIDE_CALL_S_MAX
        while not lab.program.events("verdict_given"):
            assert time.monotonic() < deadline, "the judge's verdict was not heard"
            time.sleep(POLL_S)

    assert not assert_the_judge_was_heard_once(lab, hidden=lab.sandbox.project).has_tools
    assert_prefixes_are_untouched(lab)
    assert len(lab.sandbox.kept_sessions()) == 1
    lab.note("one side call: no tools, no plugin, its session deleted; its verdict heard")

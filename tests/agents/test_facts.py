"""
What two sessions of the real Claude Code found out, told in the third's first request: learnt, and proposed.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import json
import time
from collections.abc import Callable

import pytest
from claude_code import CLAUDE_CODE, ClaudeCodeSandbox
from lab import Lab, Story, assert_prefixes_are_untouched, times_told
from model_server import LoggedRequest
from replies import Match, Reply, say
from scenarios import GREEN_TESTS, Scenario, Tools, step

AGENT = CLAUDE_CODE

pytestmark = pytest.mark.agents

PROPOSER_SYSTEM = "You name what one session of a coding agent found out"
PROPOSED = '{"facts": [{"purpose": "build", "command": "./x world", "instead_of": "./gen all"}]}'
REFUSED_OPTION = GREEN_TESTS.replace("unittest", "unittest --parallel")
MISSING_PROGRAM = GREEN_TESTS.replace("python3", "py")

ASKING_S_MAX = 60.0  # the daemon's timer comes every 30 s, and waits for five quiet ones
POLL_S = 0.2


def _ran(tools: Tools, *commands: str) -> tuple[Reply, ...]:
    return *(step(tools.shell(command)) for command in commands), step(say("Done."))


def remedy(tools: Tools) -> Scenario:
    """Two ways to run the tests fail before one does not."""
    return Scenario(
        name="remedy",
        prompts=("Run some tests.", "Run some tests once more.", "And again."),
        replies=_ran(tools, MISSING_PROGRAM, REFUSED_OPTION, GREEN_TESTS) * 3,
    )


def world(tools: Tools) -> Scenario:
    """Neither name tells what it is for, and the failure is an ordinary one."""
    proposed = Reply(
        blocks=(say(PROPOSED),), match=Match(has_tools=False, system=PROPOSER_SYSTEM), times=None
    )
    return Scenario(
        name="proposed",
        prompts=("Build it.", "Build it once more.", "And again."),
        replies=(proposed, *_ran(tools, "./gen all", "./x world") * 3),
    )


MakeLab = Callable[[Story], Lab[ClaudeCodeSandbox]]


def first_requests(lab: Lab[ClaudeCodeSandbox]) -> list[LoggedRequest]:
    """The request that each session began with: the model has said nothing yet."""
    return [request for request in lab.requests() if '"role": "assistant"' not in json.dumps(request.body)]


def test_a_failed_way_and_its_remedy_are_told_to_the_third_session(make_lab: MakeLab) -> None:
    lab = make_lab(remedy)
    first, second, third = lab.scenario.prompts
    lab.install()
    lab.program.te("config", "set", "trust", "yes", "--repo", str(lab.sandbox.project))
    lab.program.start()
    with lab.server:
        lab.sandbox.run(first)
        lab.sandbox.run(second)
        block = lab.program.learn(lab.sandbox.project)
        lab.sandbox.run(third)

    assert block.split("\n")[1:] == [
        "- `py` is not found here: use `python3`.",
        f"- `{REFUSED_OPTION}` has an option that this version refuses: use `{GREEN_TESTS}`.",
        f"- Run the tests with `{GREEN_TESTS}`.",
    ]
    assert [times_told(request, block) for request in first_requests(lab)] == [0, 0, 1]
    assert_prefixes_are_untouched(lab)
    lab.note(
        "a missing program and a refused option with their remedies in the third session's first request"
    )


def test_what_a_side_call_proposed_is_told_once_a_second_session_bore_it_out(make_lab: MakeLab) -> None:
    lab = make_lab(world)
    first, second, third = lab.scenario.prompts
    for name, status in (("x", 0), ("gen", 1)):
        script = lab.sandbox.project / name
        script.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
        script.chmod(0o755)
    starts = lab.sandbox.home / "starts"
    settings = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo 1 >> {starts}"}]}]}
    }
    lab.sandbox.user_settings_path.parent.mkdir(parents=True)
    lab.sandbox.user_settings_path.write_text(json.dumps(settings), encoding="utf-8")
    lab.install()
    for key, value in (("trust", "yes"), ("microskills", "full")):
        lab.program.te("config", "set", key, value, "--repo", str(lab.sandbox.project))
    lab.program.start()
    with lab.server:
        lab.sandbox.run(first)
        wait_for(lab, "microskills.fact_proposed")
        assert starts.read_text(encoding="utf-8") == "1\n"  # the agent's own start, and none of the side call
        lab.sandbox.run(second)
        block = lab.program.learn(lab.sandbox.project)
        lab.sandbox.run(third)

    asked, *_ = [request for request in lab.server.requests if PROPOSER_SYSTEM in json.dumps(request.body)]
    assert not asked.has_tools
    assert "./gen all -> failed" in json.dumps(asked.body)
    assert str(lab.sandbox.home) not in json.dumps(asked.body)
    assert len(list((lab.sandbox.home / ".claude" / "projects").iterdir())) == 1
    (proposed,) = [event for event in lab.program.events() if event.topic == "microskills.fact_proposed"]
    assert proposed.data["text"] == "`./gen all` fails here: use `./x world`."
    assert proposed.data["side_call_id"] == lab.program.events("started")[0].stream
    assert block.split("\n")[1:] == [f"- {proposed.data['text']}", "- Build with `./x world`."]
    assert [times_told(request, block) for request in first_requests(lab)] == [0, 0, 1]
    assert_prefixes_are_untouched(lab)
    lab.note("one side call: no tools, no hook, no log; its proposal told to the third session")


def wait_for(lab: Lab[ClaudeCodeSandbox], topic: str) -> None:
    """Wait until such an event is stored."""
    deadline = time.monotonic() + ASKING_S_MAX
    while not [event for event in lab.program.events() if event.topic == topic]:
        assert time.monotonic() < deadline, lab.program.te("status")
        time.sleep(POLL_S)

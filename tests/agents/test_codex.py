"""
The real Codex with our plugin really installed and its hooks approved, against a scripted model.

`make test-agents` runs these; each run adds a row to docs/smoke-ledger.md.
"""

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from codex import CODE_MODE_MODEL, CODEX_VERSION, DIRECT_MODEL, CodexSandbox
from codex_scenarios import (
    CODE_MODE,
    FAILING_PATCHES,
    LOOPING,
    MIXED,
    SUBAGENT,
)
from installed_program import Program, daemon_running
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
from scenarios import Scenario
from smoke_ledger import LedgerRow, add_row

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

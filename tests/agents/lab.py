"""
One agent at work with our program beside it, and what must hold afterwards whichever agent it was.

Each agent's module describes it once as an `AgentUnderTest`; a test module names it as its `AGENT`, and the
fixtures `make_lab` and `run_without_us` of this folder make laboratories for it.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from installed_program import Program, daemon_running
from model_server import LoggedRequest, ModelServer
from prompt_blocks import (
    TOOL_RESULT,
    USER,
    conversations,
    first_prefix_difference,
    messages_prefix_identical,
    new_text,
)
from sandbox import AgentSandbox, project_folder
from scenarios import JUDGE_SYSTEM, Scenario, Tools
from smoke_ledger import LedgerRow, add_row

SandboxT = TypeVar("SandboxT", bound=AgentSandbox)

CALL_ID_KEYS = ("tool_use_id", "tool_call_id", "call_id")  # of a result, one for each wire

Story = Callable[[Any], Scenario]
"""A scenario in the words of an agent's tools."""


@dataclass(frozen=True)
class AgentUnderTest(Generic[SandboxT]):
    """
    What tells one agent from another here.

    Attributes:
        host: its name for `te`.
        title: its name in the ledger.
        version: the one that is pinned.
        install: gives its program, installed if need be.
        sandbox: made of an empty folder, the program and the model's server.
        tools: the words of its tools in a project.
        approve: what its user does after `te setup` so that our code runs.
        tells_call_ids: whether our code is told the ids that the model's requests name.
    """

    host: str
    title: str
    version: str
    install: Callable[[], object]
    sandbox: Callable[..., SandboxT]
    tools: Callable[[Path], Tools]
    approve: Callable[[SandboxT], object] = lambda _sandbox: None
    tells_call_ids: bool = True


class Lab(Generic[SandboxT]):
    """A sandbox with our program beside it, and the model's log; `options` are for the sandbox."""

    def __init__(
        self,
        agent: AgentUnderTest[SandboxT],
        program: object,
        folder: Path,
        story: Story,
        **options: str,
    ) -> None:
        self.agent = agent
        self.scenario = story(agent.tools(project_folder(folder)))
        self.server = ModelServer(self.scenario.replies)
        self.sandbox = agent.sandbox(folder, program, self.server, **options)
        self.program = Program(self.sandbox.home)

    def install(self) -> None:
        """Install into the agent as its user does."""
        self.program.te("setup", self.agent.host)
        self.agent.approve(self.sandbox)

    def run(self) -> list[Any]:
        """Give the prompts, each in a process of its own; those after the first resume the session."""
        with self.server:
            return [
                self.sandbox.resume(prompt) if index else self.sandbox.run(prompt)
                for index, prompt in enumerate(self.scenario.prompts)
            ]

    def run_installed(self) -> list[Any]:
        """Install, and give the prompts while the daemon runs."""
        self.install()
        with daemon_running(self.program):
            return self.run()

    def requests(self) -> list[LoggedRequest]:
        """Return what the agent's loops sent."""
        return self.server.loop_requests

    def calls_with_results(self) -> list[str]:
        """Return the ids of all calls whose results were sent to the model."""
        values = [
            json.loads(block.text)
            for request in self.requests()
            for block in request.blocks
            if block.role in {USER, TOOL_RESULT}
        ]
        return sorted(
            {
                str(value[key])
                for value in values
                if isinstance(value, dict)
                for key in CALL_ID_KEYS
                if key in value
            }
        )

    def bringing(self, text: str) -> list[int]:
        """Return the numbers of the requests in which a text is new; the first request is 0."""
        written = json.dumps(text, ensure_ascii=False)[1:-1]
        pairs = enumerate(itertools.pairwise(self.requests()), start=1)
        return [number for number, pair in pairs if written in new_text(*pair)]

    def asked(self, system: str) -> list[LoggedRequest]:
        """Return the side calls with such words in their system prompt."""
        return [request for request in self.server.requests if system in json.dumps(request.body)]

    def teach(self) -> str:
        """Let the scenario's sessions find out something, and return the block for the next one."""
        self.install()
        self.program.start()
        for prompt in self.scenario.prompts:
            self.sandbox.run(prompt)
        return self.program.learn(self.sandbox.project)

    def ask_the_judge(self) -> None:
        """Switch the judge on, for short turns as well."""
        self.program.te("config", "set", "judge", "auto")
        self.program.te("config", "set", "guard.gate_calls", "10")

    def note(self, result: str) -> None:
        """Add a row to the ledger."""
        agent = self.agent
        add_row(LedgerRow(agent.title, agent.version, self.scenario.name, result, self.program.summary()))


def times_told(request: LoggedRequest, block: str) -> int:
    """Return how often a request holds the block."""
    return json.dumps(request.body, ensure_ascii=False).count(json.dumps(block, ensure_ascii=False)[1:-1])


def assert_every_call_is_stored_once(lab: Lab[Any]) -> None:
    """Each call whose result the model was sent, also one that failed or never ran."""
    called = Counter((event.stream, event.data["call_id"]) for event in lab.program.events("tool_called"))
    returned = Counter((event.stream, event.data["call_id"]) for event in lab.program.events("tool_returned"))
    assert set(called.values()) == {1}
    assert called == returned
    stored, sent = sorted(str(call_id) for _, call_id in called), lab.calls_with_results()
    if lab.agent.tells_call_ids:
        assert stored == sent
    else:
        assert len(stored) == len(sent)


def assert_prefixes_are_untouched(lab: Lab[Any]) -> None:
    """Nothing earlier was touched in any conversation, those of sub-agents included."""
    for conversation in conversations(lab.requests()):
        assert_one_growing_prefix(conversation)


def assert_one_growing_prefix(requests: Sequence[LoggedRequest]) -> None:
    """Each of the requests begins with all of the one before."""
    assert messages_prefix_identical(requests), first_prefix_difference(requests)


def assert_redirected_in_the_next_request(lab: Lab[Any], *, calls_later: int = 0) -> str:
    """The one redirect is new in the request behind its call, and there alone; one call a step. Return it."""
    (redirected,) = lab.program.events("redirected")
    returned = [event.data["call_id"] for event in lab.program.events("tool_returned")]
    text = str(redirected.data["text"])
    assert lab.bringing(text) == [returned.index(redirected.data["call_id"]) + 1 + calls_later]
    return text


def assert_nothing_was_said(lab: Lab[Any]) -> None:
    """No redirect, no gate, and no word of ours in any request."""
    assert lab.program.events("redirected") == lab.program.events("gate_fired") == []
    assert "tokeneconomizer]" not in json.dumps([request.body for request in lab.requests()])


def assert_the_model_saw_the_same(lab: Lab[Any], bare: Lab[Any]) -> None:
    """The requests are as many and as long as without us."""
    sizes = [len(request.blocks) for request in lab.requests()]
    assert sizes == [len(request.blocks) for request in bare.requests()]
    assert_prefixes_are_untouched(lab)


def assert_the_judge_was_heard_once(lab: Lab[Any], *, hidden: Path | None = None) -> LoggedRequest:
    """One side call, which names no folder of the user's (by default the home), one verdict. Return it."""
    (asked,) = lab.asked(JUDGE_SYSTEM)
    assert "test -f" in json.dumps(asked.body)
    assert str(hidden or lab.sandbox.home) not in json.dumps(asked.body)
    assert [len(lab.program.events(kind)) for kind in ("started", "gate_fired", "judge_asked")] == [1, 1, 1]
    (verdict,) = lab.program.events("verdict_given")
    assert (verdict.data["verdict"], verdict.data["confidence"]) == ("stuck", 0.9)
    return asked

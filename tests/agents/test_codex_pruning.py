"""
The real Codex before its switches are written into a project, with them, and after they were taken back.

Three new sessions each send one request; the requests are compared with their ids and times masked.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from codex import CODE_MODE_MODEL, CODEX, CODEX_VERSION, DIRECT_MODEL, CodexSandbox
from lab import Lab
from model_server import LoggedRequest
from scenarios import greetings
from smoke_ledger import LedgerRow, add_row

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home

AGENT = CODEX

pytestmark = pytest.mark.agents

CAPABILITIES = ("collaboration", "goals", "image_media")
GOALS = ("create_goal", "get_goal", "update_goal")
MASKED = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMES_ALONE = ("client_metadata",)  # of the session


@dataclass(frozen=True)
class Mode:
    """
    What a model is offered.

    Attributes:
        tools: the tools of its own that go.
        in_scripts: tools that go, of those that its scripts may call.
        texts: how each further text begins that goes.
        characters_min: by how much the request gets smaller, at least.
    """

    model: str
    tools: tuple[str, ...]
    in_scripts: tuple[str, ...]
    texts: tuple[str, ...]
    characters_min: int


MODES = (
    # `tool_search` goes with the last deferred tool.
    Mode(
        DIRECT_MODEL,
        (*GOALS, "tool_search", "view_image"),
        (),
        ("<tools>\\nDeferred tool namespaces",),
        4_400,
    ),
    Mode(
        CODE_MODE_MODEL,
        ("followup_task", "interrupt_agent", "list_agents", "send_message", "spawn_agent", "wait_agent"),
        (*GOALS, "view_image"),
        ("<multi_agent_role>", "<multi_agent_mode>"),
        12_000,
    ),
)


def new_session(lab: Lab[CodexSandbox]) -> LoggedRequest:
    """Run a session of one turn; return its request."""
    before = len(lab.requests())
    assert lab.sandbox.run("Say hello.").exit_code == 0
    return lab.requests()[before]


def masked(request: LoggedRequest) -> object:
    """The request without what names the session."""
    body = {name: value for name, value in request.body.items() if name not in NAMES_ALONE}
    return json.loads(MASKED.sub("MASKED", json.dumps(body)))


def texts_of(request: LoggedRequest) -> set[str]:
    """The texts of a request besides its tools."""
    return {block.text for block in request.blocks if block.role != "tool"}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.model)
def test_denied_tools_are_gone_from_the_request_and_come_back(
    tmp_path: Path, make_lab: Callable[..., Lab[CodexSandbox]], mode: Mode
) -> None:  # S6.4
    lab = make_lab(greetings, model=mode.model)
    homes = AgentHomes(lab.sandbox.home)
    deny_list = DenyList(Home(tmp_path / "state"), homes, "codex", lab.sandbox.project)
    with lab.server:
        new_session(lab)  # the very first one makes files that later ones mention
        before = new_session(lab)
        assert deny_list.apply(CAPABILITIES).written
        denied = new_session(lab)
        assert deny_list.restore().written
        after = new_session(lab)

    assert set(before.prompt.tools) - set(denied.prompt.tools) == set(mode.tools)
    assert set(denied.prompt.tools) <= set(before.prompt.tools)
    offered, left = (json.dumps(request.body) for request in (before, denied))
    for name in mode.in_scripts:
        assert name in offered
        assert name not in left
    gone, new = texts_of(before) - texts_of(denied), texts_of(denied) - texts_of(before)
    assert sorted(gone) == sorted(text for text in gone for start in mode.texts if start in text)
    assert len(gone) == len(mode.texts)
    assert new == set()
    assert len(offered) - len(left) >= mode.characters_min
    assert masked(after) == masked(before)
    result = f"{mode.model}: {len(offered) - len(left):,} of {len(offered):,} characters gone, then all back"
    add_row(LedgerRow("Codex", CODEX_VERSION, "deny list", result, ""))

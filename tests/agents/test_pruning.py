"""
The real Claude Code before a deny list is written, with it, and after it was taken back.

Three new sessions each send one request; the requests are compared with their ids and times masked.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_code import CLAUDE_CODE, ClaudeCodeSandbox
from lab import Lab, Story
from prompt_blocks import JsonObject, as_list, as_object
from scenarios import greetings

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home

AGENT = CLAUDE_CODE

pytestmark = pytest.mark.agents

LOADED = ("Workflow", "ListAgents")
DEFERRED = ("WebFetch",)
MASKED = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d[T0-9:.Z+-]*|"
    r"(?=[0-9]*[a-f])[0-9a-f]{16,}|cch=\w+"
)


def new_session(lab: Lab[ClaudeCodeSandbox]) -> JsonObject:
    """Run a session of one turn; return its request without what names the session."""
    before = len(lab.requests())
    assert lab.sandbox.run("Say hello.").exit_code == 0
    request = lab.requests()[before]
    body = {name: value for name, value in request.body.items() if name != "metadata"}
    masked: JsonObject = json.loads(MASKED.sub("MASKED", json.dumps(body)))
    return masked


def tools_of(body: JsonObject) -> dict[str, object]:
    """The definitions in a request, by name."""
    return {str(as_object(tool)["name"]): tool for tool in as_list(body["tools"])}


def lines_of(body: JsonObject) -> set[str]:
    """All lines of the texts of a request besides its tools."""
    rest = {name: value for name, value in body.items() if name != "tools"}
    return {line for text in json.dumps(rest).split('"') for line in text.split("\\n")}


def test_denied_tools_are_gone_from_the_request_and_come_back(
    tmp_path: Path, make_lab: Callable[[Story], Lab[ClaudeCodeSandbox]]
) -> None:  # S6.4
    lab = make_lab(greetings)
    homes = AgentHomes(lab.sandbox.home)
    deny_list = DenyList(Home(tmp_path / "state"), homes, "claude_code", lab.sandbox.project)
    with lab.server:
        new_session(lab)  # the very first one leaves files that later ones mention
        before = new_session(lab)
        assert deny_list.apply([*LOADED, *DEFERRED]).written
        denied = new_session(lab)
        assert deny_list.restore().written
        after = new_session(lab)
    assert set(LOADED) <= set(tools_of(before))
    assert tools_of(denied) == {name: tool for name, tool in tools_of(before).items() if name not in LOADED}
    gone, new = lines_of(before) - lines_of(denied), lines_of(denied) - lines_of(before)
    assert gone == set(DEFERRED)
    assert new == set()
    assert after == before

"""
A resumed session is given the bytes of its start (S3.5), by the payloads that the real agents sent.

Recorded are the starts of Copilot, Pi and opencode, and of Copilot a resume as well; those of the other two
follow from their start, as the agent's part of the bridge makes them. Pi keeps the text in its own session
file, from which our extension takes it (`tests/hosts/pi/extension.test.ts`): it is told nothing then.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

import pytest
from log_reading import CORPUS
from workbench import Workbench

from tokeneconomizer.domain.microskills import GivenBlock
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.hook_calls import HookCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.scheduler.home import Home

PAYLOADS = CORPUS / "payloads"
FIRST, CHANGED = "Run the tests with `make test`.\n\N{SNOWMAN}", "Run the tests with `uv run pytest`."

pytestmark = pytest.mark.skipif(
    not PAYLOADS.is_dir(), reason="no recorded payloads: name their folder in TOKENECONOMIZER_CORPUS"
)

Object = dict[str, object]


def recorded(name: str) -> Object:
    found: Object = json.loads((PAYLOADS / name).read_bytes())
    return found


def of_copilot() -> tuple[str, Object, Object]:
    start = recorded("copilot/camelCase/sessionStart.json")
    resume = recorded("copilot/camelCase/sessionStart.resume.json")
    return "sessionStart", start, {**resume, "sessionId": start["sessionId"], "cwd": start["cwd"]}


def of_pi() -> tuple[str, Object, Object]:
    found = recorded("pi/session_start.json")
    context, event = found["ctx"], found["event"]
    assert isinstance(context, dict)
    assert isinstance(event, dict)
    about = {"session_id": context["sessionId"], "cwd": context["cwd"]}
    return "session_start", {**about, "event": event}, {**about, "event": {**event, "goesOn": True}}


def of_opencode() -> tuple[str, Object, Object]:
    start = recorded("opencode/event.session.created.json")
    event = start["event"]
    assert isinstance(event, dict)
    return "session.created", start, {**start, "event": {**event, "type": "session.resumed"}}


@pytest.fixture
def bench(home: Home, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    bench = Workbench(home)
    blocks = iter([FIRST, *[CHANGED] * 9])
    monkeypatch.setattr(bench.application, "_block_at", lambda *_: GivenBlock(next(blocks), 1))
    return bench


def given(bench: Workbench, host: str, event: str, payload: Object) -> str:
    bench.at = bench.at.replace(minute=bench.at.minute + 1)
    call = HookCall(host, event, "plugin", bench.time_ns, secrets.token_hex(16), json.dumps(payload).encode())
    return HOSTS[host].context_in(bench.calls.answer(call).data)


@pytest.mark.parametrize(
    ("host", "payloads", "again"),
    [("copilot", of_copilot, FIRST), ("pi", of_pi, ""), ("opencode", of_opencode, FIRST)],
    ids=["copilot", "pi", "opencode"],
)
def test_the_bytes_of_the_start_come_again_whatever_became_of_the_facts(
    bench: Workbench, host: str, payloads: Callable[[], tuple[str, Object, Object]], again: str
) -> None:
    event, start, resume = payloads()

    assert given(bench, host, event, start) == FIRST
    assert [given(bench, host, event, resume) for _ in range(2)] == [again] * 2

"""A recorded session played through the real hook client into a real daemon, in a throw-away home."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tokeneconomizer.console import daemon_process
from tokeneconomizer.console.installations.given import hook_words
from tokeneconomizer.domain.commands import EndSession, EndTurn, ReturnCalls, StartSession, SubmitPrompt
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.domain.redaction import redact_command
from tokeneconomizer.hosts.claude_code.payload import NAME as CLAUDE_CODE
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.domain.digests import Call

RECORDED_VERSION = "2.1.332"
"""The agent with which the sample session was recorded."""

HOOK_S_MAX = 10.0
"""The hook client answers within a second, whatever happens."""

HOME_PREFIX = "tokeneconomizer-demo-"


@dataclass(frozen=True, slots=True)
class Played:
    """
    One hook call of the recording, and what the agent got for it.

    Attributes:
        lines: what happened, in words.
        context: what the model reads beside the newest result, or empty.
        hint: what the user sees, or empty.

    """

    lines: tuple[str, ...]
    context: str
    hint: str


@contextmanager
def throw_away_home(folder: Path | None) -> Iterator[Home]:
    """
    Have a home with a running daemon for the time of the block.

    Args:
        folder: kept afterwards when named; else a temporary folder that is removed.

    """
    with tempfile.TemporaryDirectory(prefix=HOME_PREFIX) as temporary:
        home = Home((folder or Path(temporary)).absolute())
        home.create()
        before = os.environ.get(HOME_VARIABLE)
        os.environ[HOME_VARIABLE] = str(home.root)
        try:
            daemon_process.start(home)
            yield home
        finally:
            daemon_process.stop(home)
            if before is None:
                del os.environ[HOME_VARIABLE]
            else:
                os.environ[HOME_VARIABLE] = before


def recording() -> list[Mapping[str, object]]:
    """Return the hook payloads of the sample session, in order."""
    text = files("tokeneconomizer.console").joinpath("demo", "session.jsonl").read_text(encoding="utf-8")
    return [cast("Mapping[str, object]", json.loads(line)["payload"]) for line in text.splitlines()]


def play(payload: Mapping[str, object], home: Home) -> Played:
    """Hand one payload to the real hook client, as the agent does."""
    transcript = home.root / "demo-transcript.jsonl"
    if not transcript.exists():
        # Whether a hint must be repeated by the model is told by the version in the agent's log.
        transcript.write_text(json.dumps({"version": RECORDED_VERSION}) + "\n", encoding="utf-8")
    event = str(payload["hook_event_name"])
    done = subprocess.run(
        [*hook_words(), "--host", CLAUDE_CODE, "--event", event, "--via", "plugin"],
        input=json.dumps({**payload, "transcript_path": str(transcript)}).encode(),
        capture_output=True,
        timeout=HOOK_S_MAX,
        check=True,
    )
    reply = json.loads(done.stdout or b"{}")
    said = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
    return Played(tuple(_story(payload, event)), str(said), str(reply.get("systemMessage", "")))


def _story(payload: Mapping[str, object], event: str) -> Iterator[str]:
    match HOSTS[CLAUDE_CODE].decode(payload, event).step:
        case StartSession():
            yield "the session starts"
        case SubmitPrompt(text=text):
            yield f"the user: {text}"
        case ReturnCalls(calls, whole_step):
            # A failed call is told by its own hook, and comes once more with its step.
            failed_before = not whole_step
            for call in calls:
                if failed_before or not call.output.startswith("Exit code"):
                    yield _call_in_words(call)
        case EndTurn():
            yield "the agent stops"
        case EndSession():
            yield "the session ends"
        case _:
            return


def _call_in_words(call: Call) -> str:
    what = redact_command(call.command) if call.command else Path(call.target).name
    how = {CallStatus.OK: "", CallStatus.FAILED: "  failed", CallStatus.NEVER_RAN: "  never ran"}
    return f"{call.tool}  {what}{how[call.status]}"

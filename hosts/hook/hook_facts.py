"""
The facts block for a session that starts while no daemon answers, from the files that the daemon left.

Like all of the hook client it runs under `python -I -S`; it is imported only by the cold path, for a start.
"""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tokeneconomizer.hosts.hook.te_hook_core import Call

CLAUDE_CODE = "claude_code"
CODEX = "codex"
COPILOT = "copilot"
_ANEW = ("startup", "clear", "compact")
# A start of these kinds is given the newest facts; after others the agent has, or is given, its first ones.
SOURCES = {CLAUDE_CODE: _ANEW, CODEX: _ANEW, COPILOT: ("new", "startup")}
# The daemon's own limit is less than half of it, the agents' is 10,000 characters.
BLOCK_BYTES_MAX = 9_000
# A line for each checkout in which an agent has worked: thousands.
STARTS_BYTES_MAX = 4 * 1024 * 1024


def reply_to(call: "Call") -> bytes:
    """Return the reply that gives a start its facts; empty where there are none, or it is no such start."""
    if call.event not in ("SessionStart", "sessionStart"):
        return b""
    payload = json.loads(b"".join(call.chunks))
    # As `recognise.py` has it: Copilot also runs the hooks that are registered for Claude Code.
    host = COPILOT if "timestamp" in payload else call.host
    if host not in SOURCES or payload.get("agent_id") or payload.get("agentId"):
        return b""
    if payload.get("source") in SOURCES[host]:
        text = _block_for(os.path.realpath(payload["cwd"]), host)
    else:
        text = _given_before(payload.get("sessionId") or payload.get("session_id"), host)
    return _reply(text, host) if text else b""


def _reply(text: str, host: str) -> bytes:
    if host == COPILOT:
        return json.dumps({"additionalContext": text}, ensure_ascii=False).encode()
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False).encode()


def _given_before(session_id: object, host: str) -> str:
    """Return what the session was given at its first start, if its agent needs to be given it again."""
    if host != COPILOT or not isinstance(session_id, str) or os.path.basename(session_id) != session_id:
        return ""
    with open(os.path.join("cache", "given", host, session_id), "rb") as file:
        return file.read(BLOCK_BYTES_MAX).decode()


def _block_for(folder: str, host: str) -> str:
    """Return the block of the checkout that a folder lies in; the working folder is the home."""
    with open("repos/starts.json", "rb") as file:
        starts = json.loads(file.read(STARTS_BYTES_MAX))
    name = starts["checkouts"].get(_checkout_of(folder), {}).get(host, "")
    if not name or starts["configuration"] != _stamp_of_configuration():
        # The user may have turned it off since.
        return ""
    with open(os.path.join("repos", name), "rb") as file:
        return file.read(BLOCK_BYTES_MAX).decode()


def _stamp_of_configuration() -> list[int]:
    try:
        found = os.stat("config.yaml")
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


def _checkout_of(folder: str) -> str:
    """Return the folder above that git works in, as far as the user's home; else the folder itself."""
    above = folder
    home = os.path.realpath(os.environ.get("HOME", "/"))
    while not os.path.lexists(os.path.join(above, ".git")):
        if above in {home, os.path.dirname(above)}:
            return folder
        above = os.path.dirname(above)
    return above if above == folder or above != home else folder

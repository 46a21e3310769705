"""
Records the demo's session: the real agent goes in circles, then ends well, and every hook payload is kept.

    python tests/agents/record_demo.py console/demo/session.jsonl

Each line is {"at_ms", "event", "payload"}, in the order in which the hooks started. Paths of this machine are
replaced, so that a recording made elsewhere differs in ids and times alone.
"""

import json
import shlex
import sys
import tempfile
from pathlib import Path

from claude_code import ClaudeCodeSandbox, ClaudeCodeTools, RunResult, install_claude_code
from model_server import ModelServer
from prompt_blocks import JsonObject, as_object
from scenarios import demo

from tokeneconomizer.hosts.claude_code.plugin import EVENTS

DEMO_HOME = "/home/dev"
SESSION_BYTES_MAX = 60_000  # it lies in the repository and is read whole

HOOK_SCRIPT = """import os, sys, time
started = time.time_ns()
line = b"%d " % started + sys.stdin.buffer.read().strip().replace(b"\\n", b" ") + b"\\n"
target = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(target, line)
os.close(target)
print("{}")
"""


class RecordingError(Exception):
    """The agent did not do what the script says, or the recording is too large."""


def record(target: Path) -> int:
    """Record the session into a file and return how many payloads it holds."""
    scenario = demo(ClaudeCodeTools())
    with tempfile.TemporaryDirectory() as folder, ModelServer(scenario.replies) as server:
        sandbox = ClaudeCodeSandbox(Path(folder), install_claude_code(), server)
        recording = Path(folder) / "recording"
        _register_recorder(sandbox, Path(folder) / "recorder.py", recording)
        result = sandbox.run_turns(scenario.prompts)
        if result.exit_code or server.unused_replies:
            message = (
                f"exit code {result.exit_code}, replies not used: {server.unused_replies}; {result.stderr}"
            )
            raise RecordingError(message)
        lines = _neutral_lines(recording, sandbox, result)
    text = "".join(lines)
    if len(text.encode()) > SESSION_BYTES_MAX:
        message = f"{len(text.encode())} bytes are over {SESSION_BYTES_MAX}: shorten the scenario"
        raise RecordingError(message)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return len(lines)


def _register_recorder(sandbox: ClaudeCodeSandbox, script: Path, recording: Path) -> None:
    script.write_text(HOOK_SCRIPT, encoding="utf-8")
    command = shlex.join([sys.executable, "-I", "-S", str(script), str(recording)])
    hook = {"type": "command", "command": command}
    settings = {"hooks": {event: [{"hooks": [hook]}] for event in EVENTS}}
    sandbox.user_settings_path.parent.mkdir(parents=True)
    sandbox.user_settings_path.write_text(json.dumps(settings), encoding="utf-8")


def _neutral_lines(recording: Path, sandbox: ClaudeCodeSandbox, result: RunResult) -> list[str]:
    if result.transcript_path is None:
        message = "the agent left no transcript"
        raise RecordingError(message)
    home = str(sandbox.home)
    dashed_home = result.transcript_path.parent.name.removesuffix("-project")
    entries = sorted(line.split(" ", 1) for line in recording.read_text(encoding="utf-8").splitlines())
    first_ns = int(entries[0][0])
    lines = []
    for started, raw in entries:
        neutral = raw.replace(home, DEMO_HOME).replace(dashed_home, DEMO_HOME.replace("/", "-"))
        payload: JsonObject = as_object(json.loads(neutral))
        line = {
            "at_ms": (int(started) - first_ns) // 1_000_000,
            "event": payload["hook_event_name"],
            "payload": payload,
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return lines


def main() -> None:
    """Record into the file named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: record_demo.py FILE")
    target = Path(sys.argv[1])
    count = record(target)
    sys.stdout.write(f"{count} payloads, {target.stat().st_size} bytes: {target}\n")


if __name__ == "__main__":
    main()
